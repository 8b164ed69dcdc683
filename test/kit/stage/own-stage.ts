import { noteSkip, type OwnRedis, redisSkipReason, startOwnRedis } from '@sotto/test-servers';
import { type OwnPostgres, startOwnPostgres } from '../postgres.ts';
import type { ScriptedProvider } from '../scripted-provider.ts';
import type { Service, TestAccount } from '../service.ts';
import { scriptedModel, totalMs } from './scripted-model.ts';
import { Stage } from './stage.ts';

/** Two processes on a Redis and a Postgres of their own, and a provider. */
export interface OwnStage {
  readonly redis: OwnRedis;
  readonly postgres: OwnPostgres;
  readonly provider: ScriptedProvider;
  readonly service: Service;
  /** This account has 1000 USD. */
  readonly account: TestAccount;
  stop(): Promise<void>;
}

/**
 * Starts the stage. Undefined if there is no Redis; the run then reports that it skipped `what`. `toBeKilled` is for
 * tests that kill its servers. Those must be our own processes and write to disk before they answer.
 */
export async function startOwnStage(
  what: string,
  { toBeKilled = false, environment = {} as Readonly<Record<string, string>>, limitMs = totalMs } = {},
): Promise<OwnStage | undefined> {
  const redis = await startOwnRedis({ appendOnly: toBeKilled });
  if (redis === undefined || (toBeKilled && redis.pid === undefined)) {
    noteSkip(what, redisSkipReason);
    await redis?.stop();
    return undefined;
  }
  const postgres = await startOwnPostgres({ durability: toBeKilled ? 'full' : 'fast' });
  const stage = new Stage();
  await stage.start(
    { ...scriptedModel({ limitMs }), environment },
    { planes: 'two', databaseUrl: await postgres.createDatabase(), redisUrl: redis.url },
  );
  await stage.createAccounts();
  return {
    redis,
    postgres,
    provider: stage.scripted('alpha'),
    service: stage.service,
    account: stage.account,
    async stop() {
      await stage.stop();
      await redis.stop();
      await postgres.stop();
    },
  };
}

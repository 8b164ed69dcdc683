import { noteSkip, type OwnRedis, redisSkipReason, startOwnRedis } from '@sotto/test-servers';
import { type CatalogFiles, filesOf, type Prices, providerEntry, routeEntry, textModel } from './catalog.ts';
import { type OwnPostgres, startOwnPostgres } from './postgres.ts';
import { type ScriptedProvider, startScriptedProvider } from './scripted-provider.ts';
import { type Service, startService, type TestAccount } from './service.ts';

export const pricing = { input: 1, output: 3 };
const credited = 1000;
/** The total time limit of a request in the registry, unless a stage says otherwise. */
export const totalMs = 4000;

/** Returns the stage's catalog with these prices. */
export const catalogWith = (prices: Prices, providers: readonly string[] = ['alpha']): string => {
  const routes = providers.map((provider) => routeEntry(provider, prices));
  const length = { context_length: 200_000, max_output_tokens: 100_000 };
  return filesOf([], [textModel('m/one', routes, length)]).catalog;
};

/** Returns an entry for the stage's registry. */
export const stageProvider = (id: string, baseUrl: string, limitMs = totalMs): object =>
  providerEntry(id, baseUrl, {
    timeouts: { connect_ms: 1000, first_byte_ms: 3000, idle_ms: 3000, total_ms: limitMs },
  });

/** PROVIDERS_FILE and CATALOG_FILE of the stage. */
export const stageFiles = (baseUrl: string, limitMs = totalMs): CatalogFiles => ({
  ...filesOf([stageProvider('alpha', baseUrl, limitMs)], []),
  catalog: catalogWith(pricing),
});

/** Two processes on a real Redis and Postgres, and a provider. */
export interface Stage {
  readonly redis: OwnRedis;
  readonly postgres: OwnPostgres;
  readonly provider: ScriptedProvider;
  readonly service: Service;
  readonly account: TestAccount;
  stop(): Promise<void>;
}

/**
 * Starts the stage. Undefined if there is no Redis; the run then reports that it skipped `what`. `toBeKilled` is for
 * tests that kill its servers. Those must be our own processes and write to disk before they answer.
 */
export async function setStage(
  what: string,
  { toBeKilled = false, environment = {} as Readonly<Record<string, string>>, limitMs = totalMs } = {},
): Promise<Stage | undefined> {
  const redis = await startOwnRedis({ appendOnly: toBeKilled });
  if (redis === undefined || (toBeKilled && redis.pid === undefined)) {
    noteSkip(what, redisSkipReason);
    await redis?.stop();
    return undefined;
  }
  const postgres = await startOwnPostgres({ durability: toBeKilled ? 'full' : 'fast' });
  const provider = await startScriptedProvider('alpha');
  const service = await startService({
    planes: 'two',
    databaseUrl: await postgres.createDatabase(),
    redisUrl: redis.url,
    ...stageFiles(provider.baseUrl, limitMs),
    environment,
  });
  return {
    redis,
    postgres,
    provider,
    service,
    account: await service.createAccount({ usd: credited }),
    async stop() {
      await service.stop();
      await provider.stop();
      await redis.stop();
      await postgres.stop();
    },
  };
}

import { expect } from 'vitest';
import { ask, bearer, type Called, errorOf, type Flow } from '../../kit/call.ts';
import { type OwnPostgres, startOwnPostgres } from '../../kit/postgres.ts';
import { type OwnRedis, redisSkipReason, startOwnRedis } from '../../kit/redis.ts';
import { type Act, type ScriptedProvider, scripted, startScriptedProvider } from '../../kit/scripted-provider.ts';
import { type Service, startService, type TestAccount, until } from '../../kit/service.ts';
import { noteSkip } from '../../kit/skips.ts';
import { costOf, type UsageRow, usageOf, usageRows } from '../../money/world.ts';

export const pricing = { input: 1, output: 3 };
/** Counts of completion tokens begin here, each request with its own. */
const firstCount = 100;
const credited = 1000;
/** How long a request may take: the registry's `total_ms`, and what comes with it. */
export const totalMs = 4000;
const deadlineMs = totalMs + 6000;
const defaultEveryMs = 20;

/** The stage's catalog, at these prices. */
export const catalogWith = (prices: object, providers: readonly string[] = ['alpha']): string =>
  JSON.stringify({
    models: [
      {
        id: 'm/one',
        model_type: 'text',
        context_length: 200_000,
        max_output_tokens: 100_000,
        routes: providers.map((provider) => ({
          provider,
          upstream_model: 'own',
          privacy_class: 'private',
          pricing: prices,
        })),
      },
    ],
  });

/** A provider of the stage's registry. */
export const providerEntry = (id: string, baseUrl: string): object => ({
  id,
  name: id,
  adapter: 'openai',
  base_url: baseUrl,
  privacy_class: 'private',
  timeouts: { connect_ms: 1000, first_byte_ms: 3000, idle_ms: 3000, total_ms: totalMs },
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
 * Sets the stage; undefined where no Redis can be had, and the run then says that it skipped `what`. `toBeKilled`: for
 * tests that kill its servers, which must be processes of ours and keep on disk what they have answered.
 */
export async function setStage(
  what: string,
  { toBeKilled = false, environment = {} as Readonly<Record<string, string>> } = {},
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
    registry: JSON.stringify({ providers: [providerEntry('alpha', provider.baseUrl)] }),
    catalog: catalogWith(pricing),
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

/** One request of the load, and what its client got. */
export interface Sent {
  readonly index: number;
  readonly flow: Flow;
  readonly stream: boolean;
  readonly called: Called;
  /** Milliseconds since the load began. */
  readonly startedAt: number;
  readonly endedAt: number;
}

export interface Load {
  /** What has come to its end so far. */
  readonly sent: readonly Sent[];
  readonly begun: number;
  readonly elapsedMs: number;
  /** Waits until so many were begun. */
  reach(count: number): Promise<void>;
  /** Stops sending, and resolves when the last one has ended. */
  stop(): Promise<readonly Sent[]>;
}

/**
 * A request every 20 ms, or as often as is said, in both flows, streamed and not; each is answered with a count of tokens of its own, one of
 * `counts`: a load that goes on for long comes back to those it had.
 */
export function startLoad(
  { service, account }: Pick<Stage, 'service' | 'account'>,
  {
    first = 0,
    flows = ['compat', 'ticket'] as readonly Flow[],
    counts = Number.POSITIVE_INFINITY,
    everyMs = defaultEveryMs,
    order = undefined as readonly string[] | undefined,
  } = {},
): Load {
  const sent: Sent[] = [];
  const open = new Set<Promise<void>>();
  const startOfLoad = performance.now();
  let begun = 0;
  const one = async (index: number): Promise<void> => {
    const flow = flows[Math.floor(index / 2) % flows.length] ?? 'compat';
    const stream = index % 2 === 0;
    const usage = usageOf(7, firstCount + (index % counts));
    const act: Act = stream
      ? { kind: 'answer', usage, pieces: 10, pieceMs: 20 }
      : { kind: 'answer', usage, delayMs: 100 + (index % 7) * 20 };
    const body = {
      model: 'm/one',
      stream,
      messages: [{ role: 'user', content: scripted({ '*': act }, String(index)) }],
      max_completion_tokens: 50_000,
      ...(order === undefined ? {} : { provider: { order } }),
    };
    const startedAt = performance.now() - startOfLoad;
    const called = await ask(service, account.inferenceKey, flow, body, { deadlineMs });
    sent.push({ index, flow, stream, called, startedAt, endedAt: performance.now() - startOfLoad });
  };
  const timer = setInterval(() => {
    const asking = one(first + begun).finally(() => open.delete(asking));
    begun += 1;
    open.add(asking);
  }, everyMs);
  return {
    sent,
    get begun() {
      return begun;
    },
    get elapsedMs() {
      return performance.now() - startOfLoad;
    },
    reach: (count) => until(() => begun >= count, `${count} requests are begun`, 60_000),
    async stop() {
      clearInterval(timer);
      await Promise.all(open);
      return sent;
    },
  };
}

/** Waits until requests of both flows, begun after now, are answered to their end. */
export async function untilServed(load: Load): Promise<void> {
  const from = load.sent.length;
  const has = (flow: Flow): boolean =>
    load.sent.slice(from).some((sent) => sent.flow === flow && sent.called.complete && sent.startedAt >= begunAt);
  const begunAt = load.elapsedMs;
  await until(() => has('compat') && has('ticket'), 'both flows are served again', 30_000);
}

/** What must hold of the clients whatever was killed: none is stuck, none is told 401, and a 503 says when to come back. */
export function expectCivil(sent: readonly Sent[]): void {
  const described = ({ index, flow, stream, called, startedAt, endedAt }: Sent): string =>
    `${index} ${flow} ${stream ? 'streamed' : 'whole'} ${called.status} ${called.ended} ${errorOf(called)?.type ?? ''} at ${Math.round(startedAt)} for ${Math.round(endedAt - startedAt)}`;
  expect(sent.filter(({ called }) => called.ended === 'stuck').map(described)).toEqual([]);
  const allowed = new Set([200, 503, undefined]);
  expect(sent.filter(({ called }) => !allowed.has(called.status)).map(described)).toEqual([]);
  const rude = sent.filter(({ called }) => called.status === 503 && !(Number(called.headers['retry-after']) >= 1));
  expect(rude.map(described)).toEqual([]);
}

/** Compares what every client got with what was booked: nothing lost, nothing doubled, nothing charged for nothing. */
export async function expectFair(
  {
    service,
    account,
    provider,
  }: Pick<Stage, 'service' | 'account'> & {
    readonly provider: Pick<ScriptedProvider, 'answered'>;
  },
  sent: readonly Sent[],
  {
    /** Whether some answers may have been cut short by a killed broker. */
    brokerDied = false,
    /** How long money may stay set aside; what a dead broker held does until its lease has lapsed. */
    heldMs = 15_000,
    /** Whether nobody is left who knows what such a request was charged. */
    isForgotten = (_: Sent): boolean => false,
  } = {},
): Promise<void> {
  await until(async () => (await openRequests(service, account)) === 0n, 'nothing is held', heldMs);
  const complete = sent.filter((each) => each.called.complete && !isForgotten(each));
  const missing = async (): Promise<number[]> => {
    const rows = byCount(await usageRows(service, account));
    return complete.filter(({ index }) => !rows.has(firstCount + index)).map(({ index }) => index);
  };
  await until(async () => (await missing()).length === 0, 'every answer is booked', 25_000).catch(() => {});
  expect(await missing(), 'answers that nobody paid for').toEqual([]);

  const all = await usageRows(service, account);
  // What a client paid that left, or whose time ran out, is counted by us: fewer tokens than any whole answer has.
  const counts = all
    .filter(({ cost, completion_tokens }) => cost > 0n && completion_tokens >= firstCount)
    .map(({ completion_tokens }) => completion_tokens);
  expect(new Set(counts).size, 'a charge each').toBe(counts.length);
  const rows = byCount(all);
  for (const { index, called } of sent) {
    const row = rows.get(firstCount + index);
    const price = costOf({ prompt: 7, completion: firstCount + index }, pricing);
    if (row !== undefined && (row.cost !== price || row.estimated))
      expect([row.cost, row.estimated], `request ${index}`).toEqual([price, false]);
    if (called.complete || row === undefined) continue;
    // Not complete, and charged all the same: only where the whole answer had come when the broker died.
    expect(
      brokerDied && provider.answered.has(String(index)),
      `request ${index}: ${called.status} ${called.text.slice(-300)}`,
    ).toBe(true);
  }
}

const byCount = (rows: readonly UsageRow[]): ReadonlyMap<number, UsageRow> =>
  new Map(rows.map((row) => [row.completion_tokens, row]));

async function openRequests({ controlUrl }: Service, { managementKey }: TestAccount): Promise<bigint> {
  const answer = await fetch(`${controlUrl}/balance`, { headers: bearer(managementKey) });
  const { reserved } = (await answer.json()) as { reserved: number };
  return BigInt(Math.round(reserved * 1e9));
}

const originOf = (url: string): string => new URL(url).origin;

export type Readiness = 'ready' | 'not ready' | 'no answer';

/** What `/readyz` of a plane says, within two seconds. */
export async function readinessOf(service: Service, plane: 'control' | 'broker'): Promise<Readiness> {
  const url = `${originOf(plane === 'control' ? service.controlUrl : service.baseUrl)}/readyz`;
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(2000) });
    await answer.body?.cancel();
    return answer.ok ? 'ready' : answer.status === 503 ? 'not ready' : 'no answer';
  } catch {
    return 'no answer';
  }
}

export const untilReadiness = (service: Service, plane: 'control' | 'broker', wanted: Readiness): Promise<void> =>
  until(async () => (await readinessOf(service, plane)) === wanted, `${plane} is ${wanted}`, 20_000);

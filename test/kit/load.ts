import { expect } from 'vitest';
import type { Answer } from './answer.ts';
import { costOf, type UsageRow, usageOf, usageRows } from './books.ts';
import { ask, bearer, type Flow } from './client.ts';
import { type Act, type ScriptedProvider, scripted } from './scripted-provider.ts';
import { type Service, type TestAccount, until } from './service.ts';
import type { OwnStage } from './stage/own-stage.ts';
import { pricing, totalMs } from './stage/scripted-model.ts';

/** The completion tokens of the first request; each later request has its own count above it. */
const firstCount = 100;
/** A request that has not ended this long after its total time limit is stuck. */
export const graceMs = 6000;
const defaultEveryMs = 20;

/** One request of the load, and its result. */
export interface Sent {
  readonly index: number;
  readonly flow: Flow;
  readonly stream: boolean;
  readonly called: Answer;
  /** Milliseconds since the load began. */
  readonly startedAt: number;
  readonly endedAt: number;
}

export interface Load {
  /** The requests that have ended so far. */
  readonly sent: readonly Sent[];
  readonly begun: number;
  readonly elapsedMs: number;
  /** Waits until this many requests were started. */
  reach(count: number): Promise<void>;
  /** Stops sending, and resolves when the last request has ended. */
  stop(): Promise<readonly Sent[]>;
}

/**
 * Sends a request every 20 ms, or at the given interval, in both flows, streamed and whole. Each answer has its own
 * count of tokens, one of `counts`. A load that runs long repeats the counts.
 */
export function startLoad(
  { service, account }: Pick<OwnStage, 'service' | 'account'>,
  {
    first = 0,
    flows = ['compatibility', 'ticket'] as readonly Flow[],
    counts = Number.POSITIVE_INFINITY,
    everyMs = defaultEveryMs,
    order = undefined as readonly string[] | undefined,
    deadlineMs = totalMs + graceMs,
    /** Sends a request again that a plane had no time for, as every SDK does. */
    sendsAgain = false,
  } = {},
): Load {
  const sent: Sent[] = [];
  const open = new Set<Promise<void>>();
  const startOfLoad = performance.now();
  let begun = 0;
  const one = async (index: number): Promise<void> => {
    const flow = flows[Math.floor(index / 2) % flows.length] ?? 'compatibility';
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
    const send = (): Promise<Answer> => ask(service, account.inferenceKey, body, { flow, deadlineMs });
    const called = await (sendsAgain ? untilThereIsTime(send) : send());
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

/** Sends a request until no plane refuses it because the machine is too busy. Such a refusal says that nothing was done. */
export async function untilThereIsTime(send: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    const called = await send();
    if (!called.error?.message.startsWith('More requests come than can be served now')) return called;
    await new Promise((resolve) => setTimeout(resolve, Number(called.headers.get('retry-after')) * 1000));
  }
}

/** Waits until requests of both flows that start from now on are answered completely. */
export async function untilServed(load: Load): Promise<void> {
  const from = load.sent.length;
  const has = (flow: Flow): boolean =>
    load.sent.slice(from).some((sent) => sent.flow === flow && sent.called.complete && sent.startedAt >= begunAt);
  const begunAt = load.elapsedMs;
  await until(() => has('compatibility') && has('ticket'), 'both flows are served again', 30_000);
}

/**
 * Asserts the rules that hold for clients during any failure: none is stuck, none gets 401, and a 503 has a retry time.
 */
export function expectCivil(sent: readonly Sent[]): void {
  const described = ({ index, flow, stream, called, startedAt, endedAt }: Sent): string =>
    `${index} ${flow} ${stream ? 'streamed' : 'whole'} ${called.status} ${called.ended} ${called.error?.type ?? ''} at ${Math.round(startedAt)} for ${Math.round(endedAt - startedAt)}`;
  expect(sent.filter(({ called }) => called.ended === 'stuck').map(described)).toEqual([]);
  const allowed = new Set([0, 200, 503]);
  expect(sent.filter(({ called }) => !allowed.has(called.status)).map(described)).toEqual([]);
  const rude = sent.filter(({ called }) => called.status === 503 && !(Number(called.headers.get('retry-after')) >= 1));
  expect(rude.map(described)).toEqual([]);
}

/**
 * Compares the result of every client with the usage rows: no charge is lost or doubled, and each charge has an answer.
 */
export async function expectFair(
  {
    service,
    account,
    provider,
  }: Pick<OwnStage, 'service' | 'account'> & {
    readonly provider: Pick<ScriptedProvider, 'answered'>;
  },
  sent: readonly Sent[],
  {
    /** Whether a killed broker may have truncated some answers. */
    brokerDied = false,
    /** How long money may stay held. A dead broker's holds last until its lease expires. */
    heldMs = 15_000,
    /** Whether the charge of a request is lost, because every process that knew it has died. */
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
  // Requests that were cancelled or timed out have an estimated count, which is below that of every complete answer.
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
    // An incomplete answer may be charged only if the broker had the whole answer when it died.
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

/** Returns the answer of `/readyz` of a plane, with a limit of two seconds. */
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

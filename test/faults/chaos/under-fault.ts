import { leaseGraceMs, leaseMs } from '@sotto/state';
import { expect } from 'vitest';
import type { Flow } from '../../kit/call.ts';
import { until } from '../../kit/service.ts';
import { expectSettled } from '../../money/world.ts';
import { type Fault, outcomeOf, unavailable } from './faults/fault.ts';
import { expectFair, type Load, readinessOf, type Sent, startLoad } from './load.ts';
import { creditedUsd, type Rig } from './rig.ts';

const everyMs = 25;
/**
 * Both flows are served again within 5 s of a dependency's return; on a machine that does other things besides, this is
 * what tells that from what needs a person.
 */
const recoveryBoundMs = 12_000;
/** What was settled longer ago is in the ledger. */
const bookedWithinMs = 2000;
/** So many requests in a row that were begun and answered: all is well. */
const calm = 12;

/** What a rig has been through. */
export interface History {
  sent: Sent[];
  begun: number;
  brokerDied: boolean;
  /** Requests whose charge only a broker and a Redis knew, of which one died as the other forgot. */
  readonly forgotten: Set<Sent>;
}

export const newHistory = (): History => ({ sent: [], begun: 0, brokerDied: false, forgotten: new Set() });

export interface Course {
  /** From the end of the fault to the beginning of the first request of those that were all answered from then on. */
  readonly recoveredMs: number;
  readonly outcomes: Readonly<Record<string, number>>;
}

/**
 * Has faults happen under load, all at once, and judges: what every client got, that both flows are served again, and,
 * when all is quiet, that nothing was lost, doubled or charged for nothing.
 */
export async function goThrough(rig: Rig, history: History, faults: readonly Fault[]): Promise<Course> {
  const order = faults.some(({ inOrder }) => inOrder) ? ['alpha', 'beta'] : undefined;
  const load = startLoad(rig, { first: history.begun, everyMs, order });
  let endedAt = Number.POSITIVE_INFINITY;
  let [lostFrom, lostUntil] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  try {
    await load.reach(15);
    await until(() => load.sent.length > 0, 'the load is served');
    const beganAt = load.elapsedMs;
    for (const fault of faults) await fault.begin(rig);
    const forgets = faults.some(({ redisForgets }) => redisForgets) && faults.some(({ brokerDies }) => brokerDies);
    lostFrom = forgets ? beganAt - bookedWithinMs : lostFrom;
    lostUntil = load.elapsedMs;
    await new Promise((resolve) => setTimeout(resolve, Math.max(...faults.map(({ lastsMs }) => lastsMs))));
    const [alone] = faults;
    if (faults.length === 1 && alone !== undefined) await expectReadiness(rig, alone);
    // At once: a process that is started again may not be ready before the other fault has ended.
    await Promise.all([...faults].reverse().map((fault) => fault.end(rig)));
    endedAt = load.elapsedMs;
    await untilCalm(load, endedAt);
  } finally {
    await load.stop();
    history.begun += load.begun;
    history.brokerDied ||= faults.some(({ brokerDies }) => brokerDies === true);
  }
  expectOutcomes(load.sent, faults);
  for (const each of load.sent) {
    if (each.endedAt >= lostFrom && each.startedAt <= lostUntil) history.forgotten.add(each);
  }
  // A broker that ended while Redis was away could not give back what it held: its lease lapses, and it is reaped.
  const heldMs = leaseMs + leaseGraceMs + (faults.some(({ to }) => to === 'broker') ? 15_000 : 0);
  await expectFair(rig, [...history.sent, ...load.sent], {
    ...{ brokerDied: history.brokerDied, heldMs },
    isForgotten: (each) => history.forgotten.has(each),
  });
  // Once judged: what is wrong here is not to be found again after every fault that follows.
  history.sent.push(...load.sent);
  await expectSettled(rig.service, rig.account, BigInt(creditedUsd) * 1_000_000_000n);
  await until(async () => {
    const ready = await Promise.all([readinessOf(rig.service, 'broker'), readinessOf(rig.service, 'control')]);
    return ready.every((plane) => plane === 'ready');
  }, 'both planes are ready');
  return { recoveredMs: Math.round(recoveredAt(load.sent, endedAt) - endedAt), outcomes: countOf(load.sent) };
}

async function expectReadiness(rig: Rig, { ready = {} }: Fault): Promise<void> {
  for (const plane of ['broker', 'control'] as const) {
    const wanted = ready[plane];
    if (wanted === undefined) continue;
    await until(
      async () => ((await readinessOf(rig.service, plane)) === 'ready') === wanted,
      `${plane} is ${wanted ? '' : 'not '}ready while it lasts`,
      5000,
    );
  }
}

const isServed = (sent: Sent): boolean => outcomeOf(sent) === 'answered';

/** When the first request was begun from which on all were answered. */
function recoveredAt(sent: readonly Sent[], from: number): number {
  const failed = sent.filter((each) => each.startedAt > from && !isServed(each));
  return Math.max(from, ...failed.map(({ startedAt }) => startedAt));
}

async function untilCalm(load: Load, endedAt: number): Promise<void> {
  const isCalm = (): boolean => {
    const from = recoveredAt(load.sent, endedAt);
    const since = load.sent.filter((each) => each.startedAt > from && isServed(each));
    const flows = new Set<Flow>(since.map(({ flow }) => flow));
    return since.length >= calm && flows.size === 2;
  };
  const last = (): string => JSON.stringify(countOf(load.sent.slice(-40)));
  await until(isCalm, () => `both flows are served again; the last requests: ${last()}`, recoveryBoundMs);
}

/** Whatever happens, nobody is stuck, no valid caller is unknown, and who is to come back is told when. */
function expectOutcomes(sent: readonly Sent[], faults: readonly Fault[]): void {
  const allowed = (flow: Flow): Set<string> => new Set(faults.flatMap(({ outcomes }) => outcomes[flow]));
  const described = (each: Sent): string =>
    `${each.index} ${each.flow} ${each.stream ? 'streamed' : 'whole'}: ${outcomeOf(each)}, at ${Math.round(each.startedAt)} for ${Math.round(each.endedAt - each.startedAt)} ms`;
  for (const flow of ['compat', 'ticket'] as const) {
    const expected = allowed(flow);
    let others = sent.filter((each) => each.flow === flow && !expected.has(outcomeOf(each)));
    // A machine that does much besides may be late for Redis' deadline of a second now and then.
    const late = others.filter((each) => outcomeOf(each) === unavailable);
    if (late.length <= sent.length / 100) others = others.filter((each) => !late.includes(each));
    expect(others.map(described).slice(0, 10), `other than ${[...expected].join(', ')}`).toEqual([]);
  }
  const rude = sent.filter(
    (each) => outcomeOf(each) === unavailable && !(Number(each.called.headers['retry-after']) >= 1),
  );
  expect(rude.map(described)).toEqual([]);
}

function countOf(sent: readonly Sent[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const each of sent) {
    const name = `${each.flow} ${outcomeOf(each)}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

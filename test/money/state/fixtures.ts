import { setTimeout as sleep } from 'node:timers/promises';
import {
  type KeyProjection,
  type KeyRecord,
  type RedeemRequest,
  type SettleRequest,
  type State,
  StateUnavailableError,
  shards,
} from '@sotto/state';
import { initialPreferences } from '@sotto/wire';

/** A lease that outlasts every test. */
export const leaseMs = 3_600_000;

/** Begins an epoch in every shard and admits these processes. */
export async function beginEpoch(epoch: number, ...states: readonly State[]): Promise<void> {
  const [first] = states;
  for (const shard of shards) await first?.beginEpoch(shard, epoch);
  for (const state of states) await joinAll(state);
}

/** Joins every shard, and adopts the new epoch or incarnation that a shard reports. */
export async function joinAll(state: State, ms = leaseMs): Promise<void> {
  for (const shard of shards) {
    const join = () => state.join(shard, { declaration: undefined, leaseMs: ms });
    await join().catch(join);
  }
}

/** Begins and opens an epoch, so that requests can be admitted. */
export async function openEpoch(state: State, epoch = 1): Promise<void> {
  await beginEpoch(epoch, state);
  for (const shard of shards) await state.openEpoch(shard);
}

/** The broker's record of the key `name`. */
export const keyRecord = (name: string): KeyRecord => ({
  v: 1,
  kind: 'inference',
  openaiCompatible: true,
  preferences: initialPreferences,
  accountRef: `sealed-${name}`,
});

/** An active key of a wallet, with limits that no test reaches by accident. */
export function keyProjection(
  key: Pick<KeyProjection, 'shard' | 'keyHash' | 'walletId'> & Partial<KeyProjection>,
): KeyProjection {
  return {
    generation: 1,
    active: true,
    record: keyRecord(key.keyHash),
    limitFundsNusd: undefined,
    fundsVersion: 1,
    limitRequests: 1_000_000,
    limitTokens: 1_000_000_000,
    budgetIds: [],
    ...key,
  };
}

/** A redeem of 10 nano-USD and no tokens. */
export const redeemOf = (request: Pick<RedeemRequest, 'shard' | 'right' | 'holdId'> & Partial<RedeemRequest>) => ({
  generation: 1,
  amountNusd: 10n,
  estimatedTokens: 0,
  ...request,
});

/** A settlement with an entry for the ledger that names its hold. */
export const settlementOf = (
  request: Pick<SettleRequest, 'shard' | 'holdId' | 'chargeNusd'> & Partial<SettleRequest>,
) => ({
  usedTokens: 0,
  entry: { payload: `charge of ${request.holdId}`, mac: `mac of ${request.holdId}` },
  ...request,
});

/** The outcome of a call: its answer, or that the state was unavailable. Any other error is a defect and is thrown. */
export async function outcome<T>(call: Promise<T>): Promise<{ answer: T } | { unavailable: true }> {
  try {
    return { answer: await call };
  } catch (error) {
    if (error instanceof StateUnavailableError) return { unavailable: true };
    throw error;
  }
}

/** Waits until every shard answers: the drivers connect in the background and never queue. */
export async function untilReachable(state: State): Promise<void> {
  await eventually(async () => 'answer' in (await outcome(state.isOpen())));
}

/** Polls until a condition holds. Fails after a minute, because that is a hang. */
export async function eventually(holds: () => Promise<boolean>): Promise<void> {
  for (const deadline = performance.now() + 60_000; !(await holds()); await sleep(10)) {
    if (performance.now() > deadline) throw new Error('not within a minute');
  }
}

/** Summarizes a reply in a word or two. */
export function kindOf(answer: unknown): string {
  if (typeof answer === 'number') return answer > 0 ? 'some' : 'none';
  if (typeof answer !== 'object' || answer === null) return String(answer);
  const detail = 'by' in answer ? ` ${answer.by}` : 'scope' in answer ? ` ${answer.scope}` : '';
  if ('result' in answer) return `${answer.result}${detail}`;
  return 'told' in answer ? String(answer.told) : 'some';
}

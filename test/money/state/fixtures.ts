import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Projector } from '@sotto/control';
import {
  generationOf,
  type KeyPart,
  type KeyProjection,
  type RedeemRequest,
  type Right,
  type SettleRequest,
  type State,
  StateUnavailableError,
  shards,
  shownGeneration,
  type WorkspaceProjection,
} from '@sotto/state';
import { initialPreferences } from '@sotto/wire';
import type pg from 'pg';

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

/** What the record of the key `name` has of its own. */
const keyPart = (name: string): KeyPart => ({
  v: 1,
  kind: 'inference',
  openaiCompatible: true,
  accountRef: `sealed-${name}`,
});

/** A wallet for tests that need only one. */
export const oneWallet = 'wallet';
const oneWorkspace = { workspaceId: 'workspace', version: 1 };

/** The broker's record of the key `name`. */
export const knownKey = (
  of: Pick<KeyProjection, 'shard' | 'keyHash' | 'walletId'> & {
    readonly generation?: number;
    readonly version?: number;
  },
) => ({
  record: { ...keyPart(of.keyHash), preferences: initialPreferences },
  generation: shownGeneration(of.walletId, of.keyHash, generationOf(of.generation ?? 1, of.version ?? 1)),
  shard: of.shard,
});

/** A key of a wallet, with limits that no test reaches by accident. */
export function keyProjection(
  key: Pick<KeyProjection, 'shard' | 'keyHash' | 'walletId'> & Partial<KeyProjection>,
): KeyProjection {
  return {
    workspace: oneWorkspace,
    generation: 1,
    record: keyPart(key.keyHash),
    limitFundsNusd: undefined,
    fundsVersion: 1,
    limitRequests: 1_000_000,
    limitTokens: 1_000_000_000,
    budgetIds: [],
    countsRefusals: true,
    ...key,
  };
}

/** Writes a key and, if the state lacks them, the preferences of its workspace, as the projector does. */
export async function putKeyIn(
  state: State,
  key: KeyProjection,
  preferences: WorkspaceProjection['preferences'] = initialPreferences,
): Promise<void> {
  if (await state.putKey(key)) await state.putWorkspace({ shard: key.shard, ...key.workspace, preferences });
}

/** The wallets of `projectorTo`. `wallet-1` has the key `key-1`, and so on. */
export const walletIds = Array.from({ length: 60 }, (_, index) => `wallet-${index}`);

/** A projector of 60 wallets, each with 1000 nano-USD, a key and a budget. `change` changes the rows that it reads. */
export function projectorTo(state: State, change: (row: object, index: number) => object = (row) => row): Projector {
  const rows = walletIds.map((wallet_id, index) => {
    const id = `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
    const row = {
      ...{ id, account_id: id, workspace_id: id, created_by: id, wallet_id, hash: `key-${index}` },
      ...{ kind: 'inference', credit_limit_nusd: null, spent_nusd: '0', funds_version: '1', generation: 1 },
      ...{ openai_compatible: true, limit_requests: null, limit_tokens: null, allowed_models: null },
      ...{
        is_usable: true,
        preferences_version: '1',
        preferences: initialPreferences,
        balance_nusd: '1000',
        version: '1',
      },
      ...{ tag: null, member_id: null, key_id: id, tag_id: null, limit_nusd: '1000', spent: null },
    };
    return change(row, index);
  });
  return new Projector({
    // A Postgres stand-in that answers only the queries of a projection.
    pool: { query: async () => ({ rows }) } as unknown as pg.Pool,
    ...{ state, accountRefKey: randomBytes(32), limits: { requests: 60, tokens: 60 } },
    events: { projected: () => {}, unreadablePreferences: () => {} },
  });
}

/** A redeem of a test. */
export type AskedRedeem = Omit<RedeemRequest, 'generation' | 'amountNusd' | 'estimatedTokens'> &
  Partial<Pick<RedeemRequest, 'amountNusd' | 'estimatedTokens'>> & {
    readonly walletId?: string;
    /** Of the key. Default: 1. Undefined: none is stated. */
    readonly generation?: number | undefined;
    /** Of the preferences. Default: 1. */
    readonly version?: number;
  };

/** A redeem of 10 nano-USD and no tokens. */
export function redeemOf(asked: AskedRedeem): RedeemRequest {
  const { walletId = oneWallet, version = 1, ...request } = { generation: 1, ...asked };
  const { right, generation } = request;
  const stated =
    generation === undefined ? undefined : statedGeneration(right, walletId, generationOf(generation, version));
  return { amountNusd: 10n, estimatedTokens: 0, ...request, generation: stated };
}

/** Returns a generation as a request states it: as it was sealed in a ticket, or as a broker sees it beside a key. */
export const statedGeneration = (right: Right, walletId: string, generation: string): string =>
  right.kind === 'ticket' ? generation : shownGeneration(walletId, right.keyHash, generation);

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

import type { Nusd } from '@sotto/money';
import { preferencesSchema } from '@sotto/wire';
import { assertMint, assertRedeem, assertSettle, boundedTokens, closedMs } from '../bounds.ts';
import { budgetScope, type RefusingBudget } from '../budgets.ts';
import type { RateStatus, RedeemReply, RedeemRequest, Right, VersionedKey } from '../ports/index.ts';
import { keyPartSchema } from '../records.ts';
import { StateUnavailableError } from '../unavailable.ts';
import { nothing, readJson } from './read-reply.ts';
import type { Steps } from './step.ts';

/** The steps of one request: mint, redeem, cancel, settle. */
export const admissionSteps = {
  mint: {
    kind: 'admit',
    check: assertMint,
    args: ([{ walletId, keyHash, ttlMs, free = false, generation, secretHash, ticketHashes }], { now }) => [
      ...[walletId, keyHash, ttlMs, free ? 'free' : '', generation, now, secretHash],
      ...ticketHashes,
    ],
    reply([result, detail, month, limit]) {
      if (result === 'minted' || result === 'not_projected') return { result };
      if (result === 'insufficient') return { result, availableNusd: BigInt(String(detail)) };
      if (result === 'over_budget') return { result, budget: readRefusingBudget(detail, month, limit) };
      throw new StateUnavailableError('unexpected reply');
    },
  },
  peek: {
    kind: 'none',
    args: ([{ right }], { now }) => [now, right.kind, hashOf(right), secretOf(right)],
    reply([result, ...rate]) {
      if (result === 'not_open') throw new StateUnavailableError('not projected');
      return result === 'valid' ? readRate(rate) : undefined;
    },
  },
  redeem: {
    kind: 'admit',
    together: { common: (now) => now },
    check: assertRedeem,
    args: ([{ right, generation, holdId, amountNusd, estimatedTokens, free, roundedNusd }]) => [
      ...[right.kind, hashOf(right), generation, holdId, amountNusd, estimatedTokens],
      ...[free === true ? 'free' : roundedNusd, secretOf(right)],
    ],
    reply: (reply, [request]) => readRedeemReply(reply, request),
  },
  countRefusal: {
    kind: 'none',
    args: ([{ right, kind }], { now }) => [now, right.kind, hashOf(right), kind],
    reply: nothing,
  },
  cancel: { kind: 'settle', args: ([, holdId]) => [holdId, closedMs], reply: nothing },
  settle: {
    kind: 'settle',
    together: { common: () => closedMs },
    check: assertSettle,
    args: ([{ holdId, chargeNusd, usedTokens, entry }]) => [
      ...[holdId, chargeNusd, boundedTokens(usedTokens), entry?.payload, entry?.mac],
    ],
    reply: ([streamId], _, { epoch }) =>
      typeof streamId === 'string' && streamId !== '' ? { streamId, epoch } : undefined,
  },
  readOwnHolds: { kind: 'none', args: (_, { client }) => [client], reply: (ids) => ids.map(String) },
  watermark: {
    kind: 'settle',
    args: () => [],
    reply: ([streamId, epoch]) => ({ streamId: String(streamId), epoch: Number(epoch) }),
  },
} satisfies Partial<Steps>;

const hashOf = (right: Right): string => (right.kind === 'ticket' ? right.ticketHash : right.keyHash);

const secretOf = (right: Right): string => (right.kind === 'key' ? (right.secretHash ?? right.keyHash) : '');

function readRedeemReply([result, detail, ...rate]: readonly unknown[], request: RedeemRequest): RedeemReply {
  switch (result) {
    case 'admitted': {
      const [month = '', held] = String(detail).split(' ');
      return { result, month, rate: readRate(rate), ...(held === undefined ? {} : { heldNusd: BigInt(held) }) };
    }
    case 'invalid_ticket':
    case 'unknown_key':
    case 'closed':
      return { result };
    case 'stale_key':
      return { result, key: readKey([detail, ...rate], request.shard) };
    case 'rate_limited':
      return { result, by: detail === 'tokens' ? 'tokens' : 'requests', rate: readRate(rate) };
    case 'insufficient': {
      const [scope, left] = String(detail).split(' ');
      return { result, scope: scope === 'key' ? 'key' : 'wallet', ...leftOf(left), rate: readRate(rate) };
    }
    case 'over_budget': {
      const [month, limit, ...rest] = rate;
      return {
        result: 'insufficient',
        scope: 'budget',
        budget: readRefusingBudget(detail, month, limit),
        rate: readRate(rest),
      };
    }
    case 'not_projected':
      throw new StateUnavailableError('not projected');
    default:
      throw new StateUnavailableError('unexpected reply');
  }
}

/** Reads a script's reply about the budget that does not cover a request. */
function readRefusingBudget(scope: unknown, month: unknown, amounts: unknown): RefusingBudget {
  const [limit = '', left] = String(amounts).split(' ');
  const limitNusd = limit === '' ? undefined : BigInt(limit);
  return { scope: budgetScope(String(scope)), month: String(month), limitNusd, ...leftOf(left) };
}

const leftOf = (text: string | undefined): { readonly leftNusd?: Nusd } =>
  text === undefined ? {} : { leftNusd: BigInt(text) };

function readRate(numbers: readonly unknown[]): RateStatus {
  const [limitRequests, remainingRequests, limitTokens, remainingTokens, resetMs] = numbers.map(Number);
  return {
    limitRequests: limitRequests ?? 0,
    remainingRequests: remainingRequests ?? 0,
    limitTokens: limitTokens ?? 0,
    remainingTokens: remainingTokens ?? 0,
    resetMs: resetMs ?? 0,
  };
}

export function readKey([part, generation, preferences]: readonly unknown[], shard: number): VersionedKey {
  const own = readJson(part, keyPartSchema);
  const shared = readJson(preferences, preferencesSchema);
  if (own === undefined || shared === undefined) throw new StateUnavailableError('unreadable key record');
  return { record: { ...own, preferences: shared }, generation: String(generation), shard };
}

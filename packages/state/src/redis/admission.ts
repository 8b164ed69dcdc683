import { preferencesSchema } from '@sotto/wire';
import { assertRedeem, assertSettle, boundedTokens, closedMs } from '../bounds.ts';
import { budgetScope, type RefusingBudget } from '../budgets.ts';
import type { AdmissionPort, RateStatus, RedeemReply, RedeemRequest, Right, VersionedKey } from '../ports/index.ts';
import { keyPartSchema } from '../records.ts';
import { indexShardOfKey, shardPrefix } from '../shard.ts';
import { StateUnavailableError } from '../unavailable.ts';
import { listReply, readJson, type ScriptRunner } from './script-runner.ts';
import { StepBatch } from './step-batch.ts';

/**
 * The Redis key of a secret's index entry: the shard of its key, and the key's hash if the secret is not the one that names the key.
 * It is on a shard, whose epoch shows whether the index is complete.
 */
export const keyIndexName = (secretHash: string): string =>
  `${shardPrefix(indexShardOfKey(secretHash))}index:${secretHash}`;

/** `now` is empty outside tests, because the scripts use Redis' own clock. */
export function redisAdmission(runner: ScriptRunner, now: () => string): AdmissionPort {
  const redeems = new StepBatch(runner, 'redeem', now);
  const settles = new StepBatch(runner, 'settle', () => closedMs);
  return {
    async lookupKey(secretHash) {
      const prefix = shardPrefix(indexShardOfKey(secretHash));
      const [entry, open] = await runner.plain((redis) =>
        Promise.all([redis.get(keyIndexName(secretHash)), redis.hget(`${prefix}epoch`, 'open')]),
      );
      if (entry == null) {
        if (open !== '1') throw new StateUnavailableError('not projected');
        return undefined;
      }
      const [shardText, alias] = entry.split(' ');
      const shard = Number(shardText);
      const asked = [now(), alias ?? secretHash, secretHash];
      const [found, ...known] = listReply(await runner.onShard('readKey', shard, asked));
      if (found === 'not_projected') throw new StateUnavailableError('not projected');
      if (found !== 'active') return undefined;
      const key = readKey(known, shard);
      return alias === undefined ? key : { ...key, keyHash: alias };
    },

    async peek({ shard, right }) {
      const asked = [now(), right.kind, hashOf(right), secretOf(right)];
      const [result, ...rate] = listReply(await runner.onShard('peek', shard, asked));
      if (result === 'not_open') throw new StateUnavailableError('not projected');
      return result === 'valid' ? readRate(rate) : undefined;
    },

    async redeem(request) {
      assertRedeem(request);
      const { answer, caller } = await redeems.step(request.shard, redeemArguments(request));
      const reply = readRedeemReply(listReply(answer), request);
      runner.membership.assertCurrent(request.shard, caller);
      return reply;
    },

    async cancel(shard, holdId) {
      await runner.step('cancel', shard, [holdId, closedMs]);
    },

    async readOwnHolds(shard) {
      const { client } = runner.membership.caller(shard);
      return listReply(await runner.onShard('readOwnHolds', shard, [client])).map(String);
    },

    async settle(request) {
      assertSettle(request);
      const { shard, holdId, chargeNusd, usedTokens, entry } = request;
      const { answer, caller } = await settles.step(shard, [
        holdId,
        chargeNusd.toString(),
        boundedTokens(usedTokens),
        entry?.payload ?? '',
        entry?.mac ?? '',
      ]);
      return typeof answer === 'string' && answer !== '' ? { streamId: answer, epoch: caller.epoch } : undefined;
    },

    async watermark(shard) {
      const [streamId, epoch] = await runner.step('watermark', shard, []);
      return { streamId: String(streamId), epoch: Number(epoch) };
    },
  };
}

const hashOf = (right: Right): string => (right.kind === 'ticket' ? right.ticketHash : right.keyHash);

const secretOf = (right: Right): string => (right.kind === 'key' ? (right.secretHash ?? right.keyHash) : '');

const redeemArguments = (request: RedeemRequest): (string | number)[] => [
  request.right.kind,
  hashOf(request.right),
  request.generation ?? '',
  request.holdId,
  request.amountNusd.toString(),
  request.estimatedTokens,
  request.free === true ? 'free' : '',
  secretOf(request.right),
];

function readRedeemReply([result, detail, ...rate]: readonly unknown[], request: RedeemRequest): RedeemReply {
  switch (result) {
    case 'admitted':
      return { result, month: String(detail), rate: readRate(rate) };
    case 'invalid_ticket':
    case 'unknown_key':
    case 'closed':
      return { result };
    case 'stale_key':
      return { result, key: readKey([detail, ...rate], request.shard) };
    case 'rate_limited':
      return { result, by: detail === 'tokens' ? 'tokens' : 'requests', rate: readRate(rate) };
    case 'insufficient':
      return { result, scope: detail === 'key' ? 'key' : 'wallet', rate: readRate(rate) };
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
export const readRefusingBudget = (scope: unknown, month: unknown, limit: unknown): RefusingBudget => ({
  scope: budgetScope(String(scope)),
  month: String(month),
  limitNusd: limit === '' ? undefined : BigInt(String(limit)),
});

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

function readKey([part, generation, preferences]: readonly unknown[], shard: number): VersionedKey {
  const own = readJson(part, keyPartSchema);
  const shared = readJson(preferences, preferencesSchema);
  if (own === undefined || shared === undefined) throw new StateUnavailableError('unreadable key record');
  return { record: { ...own, preferences: shared }, generation: String(generation), shard };
}

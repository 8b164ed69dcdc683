import { assertRedeem, assertSettle, boundedTokens } from '../bounds.ts';
import type {
  AdmissionPort,
  RateStatus,
  RedeemReply,
  RedeemRequest,
  Right,
  SettleRequest,
  VersionedKey,
} from '../ports.ts';
import { keyRecordSchema } from '../records.ts';
import { indexShardOfKey, shardPrefix } from '../shard.ts';
import { StateUnavailableError } from '../unavailable.ts';
import { readJson } from './read-json.ts';
import { listReply, type ScriptRunner } from './script-runner.ts';

/** An ended hold is remembered for longer than any redeem of it may still arrive: those die with their lease. */
const closedMs = 60_000;

/** The key under which a key's shard is found. On a shard, so that the epoch beside it tells whether the index is whole. */
export const keyIndexName = (keyHash: string): string => `${shardPrefix(indexShardOfKey(keyHash))}index:${keyHash}`;

/** `now` is empty outside tests: the scripts take Redis' own clock. */
export function redisAdmission(runner: ScriptRunner, now: () => string): AdmissionPort {
  return {
    async lookupKey(keyHash) {
      const prefix = shardPrefix(indexShardOfKey(keyHash));
      const [shardText, open] = await runner.plain((redis) =>
        Promise.all([redis.get(keyIndexName(keyHash)), redis.hget(`${prefix}epoch`, 'open')]),
      );
      if (shardText == null) {
        if (open !== '1') throw new StateUnavailableError('not projected');
        return undefined;
      }
      const shard = Number(shardText);
      const [record, generation, active] = await runner.plain((redis) =>
        redis.hmget(`${shardPrefix(shard)}key:${keyHash}`, 'rec', 'gen', 'active'),
      );
      if (record == null) throw new StateUnavailableError('not projected');
      return active === '1' ? readKey(record, generation, shard) : undefined;
    },

    async peek({ shard, right, generation }) {
      const asked = [now(), right.kind, hashOf(right), generation ?? ''];
      const [result, ...rate] = listReply(await runner.onShard('peek', shard, asked));
      if (result === 'not_open') throw new StateUnavailableError('not projected');
      return result === 'valid' ? readRate(rate) : undefined;
    },

    async redeem(request) {
      assertRedeem(request);
      const caller = runner.membership.caller(request.shard);
      const reply = readRedeemReply(
        await runner.step('redeem', request.shard, redeemArguments(request, now())),
        request,
      );
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

    async settle(request: SettleRequest) {
      assertSettle(request);
      const { shard, holdId, chargeNusd, usedTokens, entry } = request;
      const [streamId, epoch] = await runner.step('settle', shard, [
        holdId,
        chargeNusd.toString(),
        boundedTokens(usedTokens),
        closedMs,
        entry?.payload ?? '',
        entry?.mac ?? '',
      ]);
      return typeof streamId === 'string' ? { streamId, epoch: Number(epoch) } : undefined;
    },

    async watermark(shard) {
      const [streamId, epoch] = await runner.step('watermark', shard, []);
      return { streamId: String(streamId), epoch: Number(epoch) };
    },
  };
}

const hashOf = (right: Right): string => (right.kind === 'ticket' ? right.ticketHash : right.keyHash);

const redeemArguments = (request: RedeemRequest, now: string): (string | number)[] => [
  now,
  request.right.kind,
  hashOf(request.right),
  request.generation ?? '',
  request.holdId,
  request.amountNusd.toString(),
  request.estimatedTokens,
  request.free === true ? 'free' : '',
];

function readRedeemReply([result, detail, ...rate]: readonly unknown[], request: RedeemRequest): RedeemReply {
  switch (result) {
    case 'admitted':
      return { result, rate: readRate(rate) };
    case 'invalid_ticket':
    case 'unknown_key':
    case 'closed':
      return { result };
    case 'stale_key':
      return { result, key: readKey(detail, rate[0], request.shard) };
    case 'rate_limited':
      return { result, by: detail === 'tokens' ? 'tokens' : 'requests', rate: readRate(rate) };
    case 'insufficient':
      return { result, scope: detail === 'key' ? 'key' : 'wallet', rate: readRate(rate) };
    case 'not_projected':
      throw new StateUnavailableError('not projected');
    default:
      throw new StateUnavailableError('unexpected reply');
  }
}

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

function readKey(record: unknown, generation: unknown, shard: number): VersionedKey {
  const known = readJson(record, keyRecordSchema);
  if (known === undefined) throw new StateUnavailableError('unreadable key record');
  return { record: known, generation: Number(generation), shard };
}

import { randomId } from '@sotto/http';
import type { Nusd } from '@sotto/money';
import { nusdToUsd } from '@sotto/money';
import type { HoldBook, HoldOrder, RateStatus, RedeemReply, VersionedKey } from '@sotto/state';
import { StateUnavailableError } from '@sotto/state';
import { ServiceError } from '@sotto/wire';
import type { Known } from './refusal.ts';

export type Redeemed =
  | { readonly result: 'admitted'; readonly holdId: string; readonly rate: RateStatus }
  | { readonly result: 'stale_key'; readonly key: VersionedKey };

/** The most one hold may be; beyond it no amount fits into the state. */
const maxHoldNusd = 1_000_000n * 1_000_000_000n;

/** Takes the right and places the hold, in one round trip. Every refusal is thrown as the caller's error. */
export async function redeem(holds: HoldBook, order: Omit<HoldOrder, 'holdId'>, known: Known = {}): Promise<Redeemed> {
  if (order.amountNusd > maxHoldNusd) {
    throw new ServiceError('insufficient_balance', { message: needed(order.amountNusd) });
  }
  const holdId = randomId();
  let reply: RedeemReply;
  try {
    reply = await holds.redeem({ ...order, holdId });
  } catch (error) {
    if (!(error instanceof StateUnavailableError)) throw error;
    throw new ServiceError('service_unavailable');
  }
  if ('rate' in reply) known.rate = reply.rate;
  switch (reply.result) {
    case 'admitted':
      return { result: 'admitted', holdId, rate: shownRate(reply.rate, order) };
    case 'stale_key':
      return { result: 'stale_key', key: reply.key };
    case 'invalid_ticket':
      throw new ServiceError('invalid_ticket');
    case 'unknown_key':
      throw new ServiceError('invalid_api_key');
    case 'rate_limited':
      throw new ServiceError('rate_limited', {
        message: `The limit of ${reply.by} per minute is reached.`,
        retryAfterS: reply.rate.resetMs / 1000,
      });
    case 'insufficient':
      // The broker tells nobody's balance.
      throw new ServiceError('insufficient_balance', {
        message: reply.scope === 'key' ? needed(order.amountNusd, "the key's credit limit") : needed(order.amountNusd),
      });
    case 'closed':
      throw new ServiceError('service_unavailable');
    default:
      return reply satisfies never;
  }
}

/**
 * The rate that an admitted request is told. Only the first of a minute may be estimated at more than the limit. All tokens
 * remain then: the estimate gives way to what the request really uses, which may be little.
 */
const shownRate = (rate: RateStatus, { estimatedTokens }: Pick<HoldOrder, 'estimatedTokens'>): RateStatus =>
  estimatedTokens > rate.limitTokens ? { ...rate, remainingTokens: rate.limitTokens } : rate;

const needed = (amountNusd: Nusd, source = 'the prepaid balance'): string =>
  `This request needs ${nusdToUsd(amountNusd)} USD set aside before it starts, which ${source} does not cover. ` +
  'A smaller `max_completion_tokens` needs less.';

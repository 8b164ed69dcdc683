import { type Nusd, nusdToUsd } from '@sotto/money';
import { randomId } from '@sotto/server';
import type { HoldBook, HoldOrder, RateStatus, RedeemReply, VersionedKey } from '@sotto/state';
import { describeBudget, StateUnavailableError } from '@sotto/state';
import { ServiceError } from '@sotto/wire';
import type { Exchange } from './exchange.ts';

export type Redeemed =
  | { readonly result: 'admitted'; readonly holdId: string; readonly month: string; readonly rate: RateStatus }
  | { readonly result: 'stale_key'; readonly key: VersionedKey };

/** The largest hold. No larger amount fits into the state. */
const maxHoldNusd = 1_000_000n * 1_000_000_000n;

/**
 * Redeems the credential and places the hold, in one round trip. Throws every refusal as the caller's error. Notes the
 * rate limits that Redis tells.
 */
export async function redeem(
  holds: HoldBook,
  order: Omit<HoldOrder, 'holdId'>,
  exchange: Pick<Exchange, 'rate'>,
): Promise<Redeemed> {
  const { neededNusd = order.amountNusd } = order;
  if (neededNusd > maxHoldNusd) {
    throw new ServiceError('insufficient_balance', { message: needed(neededNusd, balance) });
  }
  const holdId = randomId();
  let reply: RedeemReply;
  try {
    reply = await holds.redeem({ ...order, holdId });
  } catch (error) {
    if (!(error instanceof StateUnavailableError)) throw error;
    throw new ServiceError('service_unavailable');
  }
  if ('rate' in reply) exchange.rate = reply.rate;
  switch (reply.result) {
    case 'admitted':
      return { result: 'admitted', holdId, month: reply.month, rate: shownRate(reply.rate, order) };
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
      // The broker never reveals a balance.
      throw new ServiceError('insufficient_balance', { message: needed(neededNusd, sourceOf(reply)) });
    case 'closed':
      throw new ServiceError('service_unavailable');
    default:
      return reply satisfies never;
  }
}

/**
 * Returns the rate status to show with an admitted request. The first request of a minute may be estimated at more than
 * the limit. It is then shown all tokens as remaining, because its real use, which may be small, will replace the
 * estimate.
 */
const shownRate = (rate: RateStatus, { estimatedTokens }: Pick<HoldOrder, 'estimatedTokens'>): RateStatus =>
  estimatedTokens > rate.limitTokens ? { ...rate, remainingTokens: rate.limitTokens } : rate;

/** The money that does not cover a request, the advice to the caller, and what is left if the caller may know it. */
type Source = readonly [what: string, remedy: string, leftNusd?: Nusd | undefined];

const balance: Source = ['the balance', 'Add to the balance, or'];

function sourceOf(reply: Extract<RedeemReply, { readonly result: 'insufficient' }>): Source {
  switch (reply.scope) {
    case 'wallet':
      return balance;
    case 'key':
      return ["the key's credit limit", "Raise the limit, as far as the workspace's policy allows, or", reply.leftNusd];
    case 'budget':
      return [
        describeBudget(reply.budget),
        'The page Budgets shows what is left. Ask an owner or admin of the workspace to raise it, or',
        reply.budget.leftNusd,
      ];
    default:
      return reply satisfies never;
  }
}

function needed(amountNusd: Nusd, [what, remedy, leftNusd]: Source): string {
  const left =
    leftNusd === undefined ? '' : `: ${nusdToUsd(leftNusd < 0n ? 0n : leftNusd)} USD is left, beside running requests`;
  return (
    `This request needs ${nusdToUsd(amountNusd)} USD set aside before it starts, which ${what} does not cover${left}. ` +
    `${remedy} send a smaller \`max_completion_tokens\`.`
  );
}

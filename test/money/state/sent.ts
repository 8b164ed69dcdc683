import type { RedeemRequest, SettleRequest } from '@sotto/state';
import { shard } from './both-drivers.ts';
import type { Charge, KeyTruth } from './control-truth.ts';
import { settlementOf } from './fixtures.ts';

/** A request from a broker. Retries are identical except for the plan's generation. */
export interface Sent {
  readonly request: Omit<RedeemRequest, 'generation'>;
  readonly key: KeyTruth | undefined;
  /** The month of its hold. Undefined: not admitted. */
  month: string | undefined;
  /** The budgets that the account reference of the admitted request names. */
  budgetIds: readonly string[];
}

/** The settlement of a request, which names the budgets of the admitted request. */
export function settlementFor(
  { request: { holdId }, key, month, budgetIds }: Sent,
  chargeNusd: bigint,
  usedTokens: number,
): SettleRequest {
  const charge: Charge = {
    holdId,
    keyHash: key?.keyHash,
    chargeNusd: chargeNusd.toString(),
    month: month ?? '2026-12',
    budgetIds,
  };
  const entry = { payload: JSON.stringify(charge), mac: `mac of ${holdId}` };
  const isRelease = chargeNusd === 0n && usedTokens === 0;
  return settlementOf({ shard, holdId, chargeNusd, usedTokens, entry: isRelease ? undefined : entry });
}

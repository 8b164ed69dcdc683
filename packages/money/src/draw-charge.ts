import type { Nusd } from './amounts.ts';

/** A monthly grant. Its rest, neither spent nor expired, is part of the account's balance. */
export interface MonthlyGrant {
  /** UTC, `YYYY-MM`. */
  readonly month: string;
  readonly amountNusd: Nusd;
  readonly spentNusd: Nusd;
  readonly expiredNusd: Nusd;
}

/** How a charge is paid. */
export interface Drawn {
  /** Taken from the balance. */
  readonly paidNusd: Nusd;
  /** Taken back from what has expired. It never reaches the balance. */
  readonly restoredNusd: Nusd;
  /** Covered by neither. */
  readonly shortfallNusd: Nusd;
  /** All grants of the account, with what they paid. */
  readonly grants: readonly MonthlyGrant[];
}

/** Returns the rest of a grant, which the account can still spend. */
export const leftOfGrant = ({ amountNusd, spentNusd, expiredNusd }: MonthlyGrant): Nusd =>
  amountNusd - spentNusd - expiredNusd;

/**
 * Decides how a charge is paid. `month` is that of its hold, and `grants` are in the order of their months. The charge draws on
 * these sources, in this order:
 *
 * 1. The rest of its month's grant.
 * 2. The expired part of that grant. So a late charge does not use up the next month's grant.
 * 3. Money that came from no grant.
 * 4. The rest of other grants, oldest first.
 * 5. The expired part of other grants, newest first. So an expiry does not cause a shortfall.
 */
export function drawCharge(
  { balanceNusd, grants }: { readonly balanceNusd: Nusd; readonly grants: readonly MonthlyGrant[] },
  { chargeNusd, month }: { readonly chargeNusd: Nusd; readonly month: string },
): Drawn {
  const after = new Map(grants.map((grant) => [grant.month, grant]));
  const own = grants.filter((grant) => grant.month === month);
  const others = grants.filter((grant) => grant.month !== month);
  let paidNusd = 0n;
  let restoredNusd = 0n;
  const missing = (): Nusd => chargeNusd - paidNusd - restoredNusd;
  const spend = ({ month: of }: MonthlyGrant): void => {
    const grant = after.get(of);
    if (grant === undefined) return;
    const nusd = least(missing(), leftOfGrant(grant), balanceNusd - paidNusd);
    after.set(of, { ...grant, spentNusd: grant.spentNusd + nusd });
    paidNusd += nusd;
  };
  const restore = ({ month: of }: MonthlyGrant): void => {
    const grant = after.get(of);
    if (grant === undefined) return;
    const nusd = least(missing(), grant.expiredNusd);
    after.set(of, { ...grant, spentNusd: grant.spentNusd + nusd, expiredNusd: grant.expiredNusd - nusd });
    restoredNusd += nusd;
  };
  own.forEach(spend);
  own.forEach(restore);
  const granted = [...after.values()].reduce((sum, grant) => sum + leftOfGrant(grant), 0n);
  const boughtNusd = balanceNusd - paidNusd - granted;
  if (boughtNusd > 0n) paidNusd += least(missing(), boughtNusd);
  others.forEach(spend);
  others.toReversed().forEach(restore);
  return { paidNusd, restoredNusd, shortfallNusd: missing(), grants: [...after.values()] };
}

function least(first: Nusd, ...others: readonly Nusd[]): Nusd {
  let found = first;
  for (const nusd of others) if (nusd < found) found = nusd;
  return found;
}

import type { Nusd } from './amounts.ts';

/**
 * Spendable money of a wallet or of a key with a limit, as Redis stores it. `fundsNusd` is the ledger's value at `version`, and
 * only a newer version replaces it. Holds and unbooked charges are kept apart, so that any order of messages admits too little
 * rather than too much.
 */
export interface Spendable {
  /** Balance of a wallet. For a key: its credit limit minus its spending in the ledger. */
  readonly fundsNusd: Nusd;
  readonly version: number;
  readonly heldNusd: Nusd;
  readonly unbookedNusd: Nusd;
}

export const availableNusd = (wallet: Omit<Spendable, 'version'>): Nusd =>
  wallet.fundsNusd - wallet.heldNusd - wallet.unbookedNusd;

/** Places a hold. Returns undefined if the amount is not available. */
export function hold(wallet: Spendable, amountNusd: Nusd): Spendable | undefined {
  if (availableNusd(wallet) < amountNusd) return undefined;
  return { ...wallet, heldNusd: wallet.heldNusd + amountNusd };
}

/** Ends a hold with a charge of at most its amount. A charge of 0 releases it. */
export function settle(wallet: Spendable, heldNusd: Nusd, chargeNusd: Nusd): Spendable {
  return { ...wallet, heldNusd: wallet.heldNusd - heldNusd, unbookedNusd: wallet.unbookedNusd + chargeNusd };
}

/** Removes a charge that the ledger has booked. `withFunds` brings the balance that includes it. */
export function booked(wallet: Spendable, chargeNusd: Nusd): Spendable {
  return { ...wallet, unbookedNusd: wallet.unbookedNusd - chargeNusd };
}

/** Takes the ledger's funds if they are newer. */
export function withFunds(wallet: Spendable, fundsNusd: Nusd, version: number): Spendable {
  return version > wallet.version ? { ...wallet, fundsNusd, version } : wallet;
}

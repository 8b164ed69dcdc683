import type { Nusd } from './amounts.ts';

/**
 * What may be spent, as Redis holds it for a wallet and, with a limit, for a key.
 * `fundsNusd` is the ledger's word at `version` and is only ever replaced by a newer one; holds and charges that are
 * not booked yet stand beside it, so that any order of messages errs towards admitting less.
 */
export interface Spendable {
  /** A wallet's balance; for a key its credit limit less what the ledger says it has spent. */
  readonly fundsNusd: Nusd;
  readonly version: number;
  readonly heldNusd: Nusd;
  readonly unbookedNusd: Nusd;
}

export const availableNusd = (wallet: Omit<Spendable, 'version'>): Nusd =>
  wallet.fundsNusd - wallet.heldNusd - wallet.unbookedNusd;

/** Sets an amount aside; undefined where it is not there. */
export function hold(wallet: Spendable, amountNusd: Nusd): Spendable | undefined {
  if (availableNusd(wallet) < amountNusd) return undefined;
  return { ...wallet, heldNusd: wallet.heldNusd + amountNusd };
}

/** Ends a hold by a charge of at most its amount; a charge of 0 is a release. */
export function settle(wallet: Spendable, heldNusd: Nusd, chargeNusd: Nusd): Spendable {
  return { ...wallet, heldNusd: wallet.heldNusd - heldNusd, unbookedNusd: wallet.unbookedNusd + chargeNusd };
}

/** The ledger has booked a charge: its note goes; the balance that contains it comes by `withFunds`. */
export function booked(wallet: Spendable, chargeNusd: Nusd): Spendable {
  return { ...wallet, unbookedNusd: wallet.unbookedNusd - chargeNusd };
}

/** Takes the ledger's funds if they are newer than what is here. */
export function withFunds(wallet: Spendable, fundsNusd: Nusd, version: number): Spendable {
  return version > wallet.version ? { ...wallet, fundsNusd, version } : wallet;
}

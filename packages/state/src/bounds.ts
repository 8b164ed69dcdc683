import { maxNusd, type Nusd } from '@sotto/money';
import type { BookedCharges, KeyProjection, MintRequest, RedeemRequest, SettleRequest, WalletFunds } from './ports.ts';

/** How many records an hour of measurements keeps: ten brokers that each use 10,000 routes. */
export const maxMeasurementRecords = 100_000;
/** How many of them are read at once: neither Redis nor a reader is held up by more. */
export const measurementPageRecords = 500;

/**
 * The bounds of what a driver takes. Scripts compute in doubles and write what they are given into the books: a
 * negative charge would make money, a NaN would lift a limit. Each throws a `RangeError` that names the field.
 */
export function assertRedeem({ amountNusd, estimatedTokens, generation, free }: RedeemRequest): void {
  assertAmount('amountNusd', amountNusd);
  if (free === true && amountNusd > 0n) throw new RangeError('amountNusd is out of bounds: nothing that is free holds');
  assertCount('estimatedTokens', estimatedTokens);
  assertCount('generation', generation ?? 0);
}

export function assertSettle({ chargeNusd }: SettleRequest): void {
  assertAmount('chargeNusd', chargeNusd);
}

/**
 * A token count as a settlement may carry it: what is no count is the most that there can be. Providers report it and
 * only the rate limit reads it, so that a charge is never refused for it.
 */
export const boundedTokens = (count: number): number =>
  Number.isSafeInteger(count) && count >= 0 ? count : Number.MAX_SAFE_INTEGER;

export function assertWallet({ balanceNusd, version }: WalletFunds): void {
  assertFunds('balanceNusd', balanceNusd);
  assertCount('version', version);
}

export function assertKey(key: KeyProjection): void {
  assertFunds('limitFundsNusd', key.limitFundsNusd ?? 0n);
  assertCount('generation', key.generation);
  assertCount('fundsVersion', key.fundsVersion);
  assertCount('limitRequests', key.limitRequests);
  assertCount('limitTokens', key.limitTokens);
}

export function assertMint({ ttlMs, generation }: MintRequest): void {
  assertCount('generation', generation);
  assertCount('ttlMs', ttlMs);
}

export function assertBooked({ wallet, keys }: BookedCharges): void {
  assertWallet(wallet);
  for (const { limitFundsNusd, version } of keys) {
    assertFunds('limitFundsNusd', limitFundsNusd ?? 0n);
    assertCount('version', version);
  }
}

/** What a receipt may hold, in UTF-16 units: some hashes, a signature and where they come from. */
const maxReceiptChars = 32_768;

export function assertReceipt({ id, document, ttlMs }: { id: string; document: string; ttlMs: number }): void {
  if (!/^[\w-]{16,128}$/.test(id)) throw new RangeError('id is out of bounds');
  if (document.length > maxReceiptChars) throw new RangeError('document is out of bounds');
  if (!Number.isSafeInteger(ttlMs) || ttlMs <= 0) throw new RangeError('ttlMs is out of bounds');
}

function assertAmount(field: string, nusd: Nusd): void {
  if (nusd < 0n || nusd > maxNusd) throw new RangeError(`${field} is out of bounds`);
}

/** What the ledger says is there: less than nothing where a late charge found the wallet spent. */
function assertFunds(field: string, nusd: Nusd): void {
  if (nusd < -maxNusd || nusd > maxNusd) throw new RangeError(`${field} is out of bounds`);
}

function assertCount(field: string, count: number): void {
  if (!Number.isSafeInteger(count) || count < 0) throw new RangeError(`${field} is out of bounds`);
}

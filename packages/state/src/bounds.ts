import { maxNusd, type Nusd } from '@sotto/money';
import { monthPattern } from './budgets.ts';
import { generationPattern } from './generation.ts';
import type {
  BookedCharges,
  BudgetProjection,
  KeyProjection,
  MintRequest,
  RedeemRequest,
  ReserveRequest,
  SettleRequest,
  WalletFunds,
} from './ports/index.ts';

/** Most records of one hour of measurements: enough for ten brokers with 10,000 routes each. */
export const maxMeasurementRecords = 100_000;
/** Records per read, so that a read blocks neither Redis nor the reader for long. */
export const measurementPageRecords = 500;
/** Hours for which measurements are kept after their last change: a day, plus the hours by which clocks may differ. */
export const measurementsKeptHours = 26;

/**
 * Time in ms for which a removed record is remembered, so that an older projection that arrives late does not bring it back. Control
 * projects nothing that it read more than a minute ago.
 */
export const lateMs = 600_000;

/**
 * Time in ms for which the counts of an hour's refusals are kept after a new one came, so that control can be away for a day. Older
 * ones are lost.
 */
export const refusalsKeptMs = 26 * 3_600_000;

/** An ended hold is remembered for longer than a redeem of it can arrive, because redeems end with their lease. */
export const closedMs = 60_000;

/**
 * Bounds of the values that a driver accepts. Scripts compute in doubles and store values unchecked: a negative charge would
 * create money, and a NaN would disable a limit. Each function throws a `RangeError` that names the field.
 */
export function assertRedeem({ amountNusd, estimatedTokens, free, roundedNusd = amountNusd }: RedeemRequest): void {
  assertAmount('amountNusd', amountNusd);
  assertAmount('roundedNusd', roundedNusd);
  if (roundedNusd < amountNusd) throw new RangeError('roundedNusd is out of bounds: it is less than the amount');
  if (free === true && amountNusd > 0n) throw new RangeError('amountNusd is out of bounds: nothing that is free holds');
  assertCount('estimatedTokens', estimatedTokens);
}

export function assertReserve({ amountNusd, balanceNusd }: ReserveRequest): void {
  assertAmount('amountNusd', amountNusd);
  assertFunds('balanceNusd', balanceNusd);
}

export function assertSettle({ chargeNusd }: SettleRequest): void {
  assertAmount('chargeNusd', chargeNusd);
}

/**
 * Bounds a token count for a settlement: an invalid count becomes the maximum. The count comes from the provider and only the
 * rate limit uses it, so a bad count must not make a charge fail.
 */
export const boundedTokens = (count: number): number =>
  Number.isSafeInteger(count) && count >= 0 ? count : Number.MAX_SAFE_INTEGER;

export function assertWallet({ balanceNusd, version }: WalletFunds): void {
  assertFunds('balanceNusd', balanceNusd);
  assertCount('version', version);
}

export function assertKey(key: KeyProjection): void {
  assertFunds('limitFundsNusd', key.limitFundsNusd ?? 0n);
  assertRemoved(key);
  assertCount('version', key.workspace.version);
  assertCount('fundsVersion', key.fundsVersion);
  assertCount('limitRequests', key.limitRequests);
  assertCount('limitTokens', key.limitTokens);
  assertCount('expiresAt', key.expiresAt ?? 0);
}

/** Checks what a key that is projected and one that is removed have in common. */
export function assertRemoved({ generation, secrets }: Pick<KeyProjection, 'generation' | 'secrets'>): void {
  assertCount('generation', generation);
  for (const { endsAt } of secrets ?? []) assertCount('endsAt', endsAt ?? 0);
}

/** Checks the version of a record that has no numbers beside it. */
export const assertVersion = ({ version }: { readonly version: number }): void => assertCount('version', version);

export function assertBudget({ limitNusd, version, spent }: BudgetProjection): void {
  assertAmount('limitNusd', limitNusd);
  assertCount('version', version);
  for (const { month, spentNusd } of spent) assertSpend(month, spentNusd);
}

export function assertMint({ ttlMs, generation }: MintRequest): void {
  if (!generationPattern.test(generation)) throw new RangeError('generation is out of bounds');
  assertCount('ttlMs', ttlMs);
}

export function assertBooked({ wallet, keys, budgets }: BookedCharges): void {
  assertWallet(wallet);
  for (const { limitFundsNusd, version } of keys) {
    assertFunds('limitFundsNusd', limitFundsNusd ?? 0n);
    assertCount('version', version);
  }
  for (const { month, spentNusd } of budgets) assertSpend(month, spentNusd);
}

function assertSpend(month: string, spentNusd: Nusd): void {
  if (!monthPattern.test(month)) throw new RangeError('month is out of bounds');
  assertAmount('spentNusd', spentNusd);
}

/** Most UTF-16 units of a receipt, which has some hashes, a signature and their origin. */
const maxReceiptChars = 32_768;

export function assertReceipt({ id, document, ttlMs }: { id: string; document: string; ttlMs: number }): void {
  if (!/^[\w-]{16,128}$/.test(id)) throw new RangeError('id is out of bounds');
  if (document.length > maxReceiptChars) throw new RangeError('document is out of bounds');
  if (!Number.isSafeInteger(ttlMs) || ttlMs <= 0) throw new RangeError('ttlMs is out of bounds');
}

function assertAmount(field: string, nusd: Nusd): void {
  if (nusd < 0n || nusd > maxNusd) throw new RangeError(`${field} is out of bounds`);
}

/** Checks funds from the ledger. They are negative if a late charge exceeded the wallet. */
function assertFunds(field: string, nusd: Nusd): void {
  if (nusd < -maxNusd || nusd > maxNusd) throw new RangeError(`${field} is out of bounds`);
}

function assertCount(field: string, count: number): void {
  if (!Number.isSafeInteger(count) || count < 0) throw new RangeError(`${field} is out of bounds`);
}

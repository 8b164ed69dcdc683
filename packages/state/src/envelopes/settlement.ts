import { operations, privacyClassSchema, usageStatuses } from '@sotto/wire';
import { z } from 'zod';
import type { Keys } from './keys.ts';
import { type Signed, sign, verify } from './signed.ts';

const count = z.int().min(0);

/**
 * What the broker tells the ledger of one request. It names no account: `accountRef` is opened by control alone.
 * Its id is the hold's for a charge, and a fresh one for a release, so that a hold that was released can still be
 * charged later, and a charge only once.
 */
export const settlementSchema = z.object({
  v: z.literal(1),
  id: z.string(),
  kind: z.enum(['charge', 'release']),
  accountRef: z.string(),
  /** Decimal nano-USD. */
  chargeNusd: z.string().regex(/^\d{1,16}$/),
  /** Unix ms, cut to the minute. */
  at: z.int(),
  operation: z.enum(operations),
  model: z.string(),
  provider: z.string().nullable(),
  privacyClass: privacyClassSchema.nullable(),
  promptTokens: count,
  cachedTokens: count,
  completionTokens: count,
  reasoningTokens: count,
  attempts: count,
  fallback: z.boolean(),
  status: z.enum(usageStatuses),
  estimated: z.boolean(),
  /**
   * The client left before it had anything: the ledger waives the charge while the account's allowance lasts. Absent:
   * false. A ledger of before this field books the charge.
   */
  waivable: z.boolean().optional(),
});
export type Settlement = z.infer<typeof settlementSchema>;

const purpose = 'sotto settlement v1';

/** Writes a settlement with the broker's MAC. */
export const signSettlement = (key: Buffer, settlement: Settlement): Signed => sign(key, purpose, settlement);

/** Reads a settlement; undefined where its MAC is wrong or it is of no version we read. */
export const verifySettlement = (keys: Keys, signed: Signed): Settlement | undefined =>
  settlementSchema.safeParse(verify(keys, purpose, signed)).data;

/** Reads a settlement whose MAC was verified before; undefined where it is not one that this version reads. */
export function parseSettlement(payload: string): Settlement | undefined {
  try {
    return settlementSchema.safeParse(JSON.parse(payload)).data;
  } catch {
    return undefined;
  }
}

import {
  attemptErrors,
  firstTokenBoundsMs,
  operations,
  parseJson,
  privacyClassSchema,
  providerIdSchema,
  providerStatuses,
  usageErrors,
  usageStatuses,
} from '@sotto/wire';
import * as z from 'zod';
import { monthPattern } from '../budgets.ts';
import { type Keys, type Signed, sign, verify } from './sealing.ts';

const count = z.int().min(0);
/** More than any plan has. */
const maxFailedAttempts = 8;

const bookable = {
  id: z.string(),
  kind: z.enum(['charge', 'release']),
  accountRef: z.string(),
  /** Decimal nano-USD. */
  chargeNusd: z.string().regex(/^\d{1,16}$/),
  /** Unix ms, cut to the minute. */
  at: z.int(),
  /** The hold's month by Redis' clock, in whose budgets the charge counts. */
  month: z.string().regex(monthPattern),
};

export const toldSettlementSchema = z.object({
  v: z.literal(1),
  ...bookable,
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
   * Why a request failed or was cancelled. Absent if it completed. A class that only a later version knows reads as absent: its
   * charge is booked all the same.
   */
  error: z.enum(usageErrors).optional().catch(undefined),
  /**
   * The attempts that failed and were followed by another, in order. Absent if there was none. A class that only a later version
   * knows reads as `provider`. A list that is not understood reads as absent.
   */
  failedAttempts: z
    .array(z.object({ provider: providerIdSchema, error: z.enum(attemptErrors).catch('provider') }))
    .max(maxFailedAttempts)
    .optional()
    .catch(undefined),
  /**
   * The class of the time to the first token of a streamed chat answer: its place among `firstTokenBoundsMs`, or their number. A
   * ledger adds it to the day's counts of the workspace, and to no row.
   */
  firstToken: z.int().min(0).max(firstTokenBoundsMs.length).optional().catch(undefined),
  /**
   * The class of the HTTP status with which the last provider refused a request that failed. Absent if it did not answer, and for every
   * status that could reveal a refused content. A class that only a later version knows reads as absent.
   */
  providerStatus: z.enum(providerStatuses).optional().catch(undefined),
  /** The client left before any output: the ledger waives the charge within the account's allowance. Default: false. */
  waivable: z.boolean().optional(),
});
/** A settlement that says what the request was. */
export type ToldSettlement = z.infer<typeof toldSettlementSchema>;

/** A settlement of a quiet ticket. It has nothing that tells one request of a wallet from another but the minute and the charge. */
const quietSettlementSchema = z.strictObject({ v: z.literal(2), ...bookable });

/**
 * A broker's report of one request to the ledger. It names no account, because only control can decrypt `accountRef`. A charge has
 * the id of its hold, so that it is booked once. A release has a new id, so that a released hold can still be charged later.
 */
export const settlementSchema = z.discriminatedUnion('v', [toldSettlementSchema, quietSettlementSchema]);
export type Settlement = z.infer<typeof settlementSchema>;

const purpose = 'sotto settlement v1';

/** Writes a settlement with the broker's MAC. */
export const signSettlement = (key: Buffer, settlement: Settlement): Signed => sign(key, purpose, settlement);

/** Reads a settlement. Returns the reason if its MAC is wrong, or if only another version knows its form. */
export function verifySettlement(keys: Keys, signed: Signed): Settlement | 'bad_mac' | 'unknown_form' {
  const value = verify(keys, purpose, signed);
  return value === undefined ? 'bad_mac' : (settlementSchema.safeParse(value).data ?? 'unknown_form');
}

const bookableSchema = z.object(bookable);

/** Reads the part of a settlement that every version has. Returns undefined if its MAC is wrong or this part is missing. */
export const verifyBookable = (keys: Keys, signed: Signed): z.infer<typeof bookableSchema> | undefined =>
  bookableSchema.safeParse(verify(keys, purpose, signed)).data;

/** Reads the same part without its MAC. */
export const parseBookable = (payload: string): z.infer<typeof bookableSchema> | undefined =>
  bookableSchema.safeParse(parseJson(payload)).data;

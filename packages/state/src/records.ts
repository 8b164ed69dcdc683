import { catalogFileSchema } from '@sotto/router';
import { preferencesSchema } from '@sotto/wire';
import { z } from 'zod';

/**
 * What a broker may know of a key: what it permits and the workspace's preferences. No account, wallet or key id: the
 * account is a reference that only control can open.
 */
export const keyRecordSchema = z.object({
  v: z.literal(1),
  kind: z.enum(['inference', 'management']),
  openaiCompatible: z.boolean(),
  preferences: preferencesSchema,
  /** Sealed by control for control; used for requests in compatibility mode. */
  accountRef: z.string(),
});
export type KeyRecord = z.infer<typeof keyRecordSchema>;

/** The catalog as control publishes it; brokers bind it to their own registry. */
export const catalogSnapshotSchema = z.object({
  v: z.literal(1),
  version: z.int().min(1),
  digest: z.string(),
  file: catalogFileSchema,
});
export type CatalogSnapshot = z.infer<typeof catalogSnapshotSchema>;

/** A settlement on its way to the ledger. Written by brokers, read by the settler; `mac` is checked there. */
export interface SettlementEntry {
  /** Place in the shard's stream. */
  readonly streamId: string;
  readonly payload: string;
  readonly mac: string;
}

import { catalogFileSchema } from '@sotto/router';
import { preferencesSchema } from '@sotto/wire';
import { z } from 'zod';
import type { Signed } from './envelopes/sealing.ts';

/**
 * A key as brokers see it: its permissions and the workspace's preferences. It has no account, wallet or key id. The account is a
 * reference that only control can decrypt.
 */
export const keyRecordSchema = z.object({
  v: z.literal(1),
  kind: z.enum(['inference', 'management']),
  openaiCompatible: z.boolean(),
  /** The models that requests with the key may name. Absent: all. */
  allowedModels: z.array(z.string()).optional(),
  preferences: preferencesSchema,
  /** Encrypted by control for control. Used for requests in compatibility mode. */
  accountRef: z.string(),
});
export type KeyRecord = z.infer<typeof keyRecordSchema>;

/** The catalog as control publishes it. Brokers bind it to their own registry. */
export const catalogSnapshotSchema = z.object({
  v: z.literal(1),
  version: z.int().min(1),
  digest: z.string(),
  file: catalogFileSchema,
});
export type CatalogSnapshot = z.infer<typeof catalogSnapshotSchema>;

/** A settlement on its way to the ledger. Brokers write it, and the settler reads it and checks `mac`. */
export interface SettlementEntry extends Signed {
  /** Place in the shard's stream. */
  readonly streamId: string;
}

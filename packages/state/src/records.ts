import { catalogFileSchema } from '@sotto/router';
import type { Preferences } from '@sotto/wire';
import * as z from 'zod';
import type { Signed } from './envelopes/sealing.ts';

/** What a key has of its own: its permissions, and a reference to its account that only control can decrypt. */
export const keyPartSchema = z.object({
  v: z.literal(1),
  kind: z.enum(['inference', 'management']),
  openaiCompatible: z.boolean(),
  /** The models that requests with the key may name. Absent: all. */
  allowedModels: z.array(z.string()).optional(),
  /** The models that its workspace's policy allows, as patterns. Absent: all. */
  workspaceModels: z.array(z.string()).optional(),
  /** Encrypted by control for control. Used for requests in compatibility mode. */
  accountRef: z.string(),
});
export type KeyPart = z.infer<typeof keyPartSchema>;

/** A key as brokers see it. The preferences are its workspace's. It has no account, wallet, workspace or key id. */
export type KeyRecord = KeyPart & { readonly preferences: Preferences };

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

import * as z from 'zod';
import { storableText } from './storable-text.ts';
import { omittable } from './without-nulls.ts';

const keyName = storableText.trim().min(1).max(100);
/** A key's own ceiling on what it may ever spend; USD, bounded so that nano-USD stay below 2^53. */
const creditLimit = z.number().min(0).max(1_000_000);

/** Body of `POST /keys` (design 6, "keys by session"). */
export const createKeySchema = z.strictObject({
  name: keyName,
  kind: z.enum(['inference', 'management']),
  workspace_id: omittable(z.uuid()),
  credit_limit_usd: creditLimit.nullish(),
  openai_compatible: omittable(z.boolean()),
});
export type CreateKey = z.infer<typeof createKeySchema>;

/** Body of `PATCH /keys/:id`: what is absent stays; `credit_limit_usd: null` removes the limit. */
export const updateKeySchema = z.strictObject({
  name: omittable(keyName),
  credit_limit_usd: creditLimit.nullable().optional(),
  openai_compatible: omittable(z.boolean()),
});
export type UpdateKey = z.infer<typeof updateKeySchema>;

/** Query of `GET /keys`: without a workspace, all keys that the account pays for. */
export const keyListQuerySchema = z.strictObject({ workspace_id: z.uuid().optional() });

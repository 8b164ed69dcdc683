import * as z from 'zod';
import type { Bytes } from '../bytes.ts';
import { canonicalJson } from '../statement/canonical-json.ts';

const sha256Hex = z.string().regex(/^[0-9a-f]{64}$/);
const text = z.string().min(1).max(512);

const count = z.int().min(0);
const perUnit = count.optional();

/** The charge for a request and everything that determines it: the cost of `usage` at `price`, at most the hold. */
const billSchema = z.strictObject({
  /** SHA-256 of the catalog that the request was planned with. */
  catalog_digest: z.string().regex(/^sha256:[0-9a-f]{64}$/),
  usage: z.strictObject({
    prompt_tokens: count,
    cached_tokens: count,
    cache_write_tokens: count,
    /** Includes reasoning. */
    completion_tokens: count,
    reasoning_tokens: count,
    images: count,
    input_characters: count,
  }),
  /** Whether the broker counted the tokens itself. */
  estimated: z.boolean(),
  /** Pico-USD per token, image and character. An absent price equals `input`, or `output` for a part of the output. */
  price: z.strictObject({
    input: count,
    output: count,
    cached_input: perUnit,
    cache_write: perUnit,
    reasoning: perUnit,
    image: perUnit,
    input_character: perUnit,
    tiers: z
      .array(
        z.strictObject({
          above_prompt_tokens: count,
          input: perUnit,
          output: perUnit,
          cached_input: perUnit,
          cache_write: perUnit,
        }),
      )
      .max(64),
  }),
  /** Nano-USD, in decimal digits. */
  charge_nusd: z.string().regex(/^(?:0|[1-9][0-9]{0,30})$/),
});
export type ReceiptBill = z.infer<typeof billSchema>;

/**
 * The broker's signed receipt for one request, if the client asks for one. It contains hashes of bytes, their
 * recipients, and the charge.
 */
export const receiptSchema = z.strictObject({
  version: z.literal('sotto.receipt.v1'),
  /** The key in the key set's `receipt_signing_keys` that signed. */
  key_id: z.string().min(1).max(128),
  /** The minute, in seconds since the epoch. */
  issued_at: z.int().min(0),
  operation: z.enum(['chat', 'embeddings', 'image', 'speech']),
  /** The HTTP status of the answer. */
  status: z.int().min(200).max(599),
  /** SHA-256 of the request's body as received. */
  received_sha256: sha256Hex,
  /** Every provider that content was sent to, in order. If the request was served, the last one served it. */
  attempts: z
    .array(
      z.strictObject({
        provider: text,
        model: text,
        /** The provider's own name of the model. Null if the provider is not listed. */
        upstream_model: text.nullable(),
        privacy_class: z.enum(['anonymous', 'private', 'tee', 'e2ee']),
        /** The verified enclave at the end of the connection. Null if the broker did not verify one. */
        session_id: text.nullable(),
        /** SHA-256 of the body that was sent to the provider. */
        forwarded_sha256: sha256Hex,
        /** SHA-256 of the received part of the provider's body. Null if none began. */
        answered_sha256: sha256Hex.nullable(),
      }),
    )
    .max(16),
  /** SHA-256 of the body that was sent to the client. */
  returned_sha256: sha256Hex,
  /** False if that body was cut off or the client left. */
  complete: z.boolean(),
  /** Null if the request was not served or is not settled yet. */
  bill: billSchema.nullable(),
  /** As in the key set. */
  provider_registry_digest: z.string().regex(/^sha256:[0-9a-f]{64}$/),
  /** Ed25519 over `receiptBytes`, in hex. */
  signature: z.string().regex(/^[0-9a-f]{128}$/),
});
export type Receipt = z.infer<typeof receiptSchema>;

/** The signed bytes: the canonical JSON of a receipt without its signature. */
export function receiptBytes({ signature: _, ...signed }: Omit<Receipt, 'signature'> & { signature?: string }): Bytes {
  return new TextEncoder().encode(canonicalJson(signed));
}

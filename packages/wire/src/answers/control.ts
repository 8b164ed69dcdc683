import * as z from 'zod';
import { privacyClassSchema } from '../privacy-schema.ts';

const instant = z.iso.datetime();
const usd = z.number();

/** Answer of `POST /inference/tickets` (design 6). */
export const ticketAnswerSchema = z.strictObject({
  ticket: z.string(),
  privacy_class: privacyClassSchema,
  expires_at: instant,
});
export type TicketAnswer = z.infer<typeof ticketAnswerSchema>;

/** Answer of `POST /inference/attestation-tickets`. */
export const attestationTicketAnswerSchema = ticketAnswerSchema.pick({ ticket: true, expires_at: true });
export type AttestationTicketAnswer = z.infer<typeof attestationTicketAnswerSchema>;

/** Answer of `GET /capabilities` (design 6). */
export const capabilitiesAnswerSchema = z.strictObject({
  image_generation: z.strictObject({ enabled: z.boolean() }),
  speech_synthesis: z.strictObject({ enabled: z.boolean() }),
  connected_apps: z.strictObject({ enabled: z.boolean() }),
});
export type CapabilitiesAnswer = z.infer<typeof capabilitiesAnswerSchema>;

/** A route's prices as the catalog file writes them: USD per million tokens, per image, per million characters. */
export const pricingAnswerSchema = z.strictObject({
  input: usd.optional(),
  output: usd.optional(),
  cached_input: usd.optional(),
  cache_write: usd.optional(),
  reasoning: usd.optional(),
  image: usd.optional(),
  input_characters: usd.optional(),
  tiers: z
    .array(
      z.strictObject({
        above_prompt_tokens: z.int(),
        input: usd.optional(),
        output: usd.optional(),
        cached_input: usd.optional(),
        cache_write: usd.optional(),
      }),
    )
    .optional(),
});
export type PricingAnswer = z.infer<typeof pricingAnswerSchema>;

export const capabilitiesOfRouteSchema = z.strictObject({
  tools: z.boolean(),
  vision: z.boolean(),
  structured_output: z.boolean(),
  reasoning: z.strictObject({ efforts: z.array(z.string()), can_disable: z.boolean() }).nullable(),
});

export const routeAnswerSchema = z.strictObject({
  provider: z.string(),
  privacy_class: privacyClassSchema,
  pricing: pricingAnswerSchema,
  capabilities: capabilitiesOfRouteSchema,
  context_length: z.int().nullable(),
  max_output_tokens: z.int().nullable(),
  /** Where the catalog knows them; what it does not list is not sent to the provider. */
  supported_parameters: z.array(z.string()).optional(),
});
export type RouteAnswer = z.infer<typeof routeAnswerSchema>;

/** One entry of `GET /models` (interface 2.1, design 6 "route list"). */
export const modelAnswerSchema = z.strictObject({
  id: z.string(),
  object: z.literal('model'),
  created: z.int(),
  owned_by: z.string(),
  name: z.string(),
  model_type: z.enum(['text', 'embedding', 'image', 'tts']),
  context_length: z.int().nullable(),
  max_output_tokens: z.int().nullable(),
  provider_routes: z.array(routeAnswerSchema),
  auto_provider: z.string().nullable(),
  privacy_class: privacyClassSchema.nullable(),
  capabilities: capabilitiesOfRouteSchema.nullable(),
  pricing: pricingAnswerSchema.nullable(),
});
export type ModelAnswer = z.infer<typeof modelAnswerSchema>;

export const modelListAnswerSchema = z.strictObject({
  object: z.literal('list'),
  data: z.array(modelAnswerSchema),
  /** Of the public list: the catalog that it is made from, `sha256:` and hex, as receipts name it. */
  catalog_digest: z.string().optional(),
});
export type ModelListAnswer = z.infer<typeof modelListAnswerSchema>;

/** Answer of `GET /models/uptime` (design 6); null where fewer than 20 requests were measured. */
export const uptimeAnswerSchema = z.strictObject({
  model: z.string(),
  routes: z.array(
    z.strictObject({
      provider: z.string(),
      privacy_class: privacyClassSchema,
      window_hours: z.literal(24),
      success_rate: z.number().nullable(),
      requests: z.int(),
      ttft_ms: z.strictObject({ p50: z.number(), p90: z.number(), p99: z.number() }).nullable(),
      throughput_tps: z.strictObject({ p50: z.number() }).nullable(),
      series: z.array(
        z.strictObject({
          at: instant,
          success_rate: z.number().nullable(),
          requests: z.int(),
          ttft_p50_ms: z.number().nullable(),
        }),
      ),
    }),
  ),
});
export type UptimeAnswer = z.infer<typeof uptimeAnswerSchema>;

/** Answer of `GET /balance`: USD that may be spent now, and USD set aside for requests that run (interface 4.4). */
export const balanceAnswerSchema = z.strictObject({ currency: z.literal('USD'), available: usd, reserved: usd });
export type BalanceAnswer = z.infer<typeof balanceAnswerSchema>;

export const usageStatuses = ['completed', 'cancelled', 'failed'] as const;

/** Answer of `GET /usage` (design 6); `at` is cut to the minute so that rows cannot be joined with logs by time. */
export const usagePageSchema = z.strictObject({
  data: z.array(
    z.strictObject({
      id: z.uuid(),
      at: instant,
      workspace_id: z.uuid(),
      key_id: z.uuid(),
      operation: z.string(),
      model: z.string(),
      provider: z.string().nullable(),
      privacy_class: privacyClassSchema.nullable(),
      prompt_tokens: z.int(),
      cached_tokens: z.int(),
      completion_tokens: z.int(),
      reasoning_tokens: z.int(),
      cost: usd,
      attempts: z.int(),
      fallback: z.boolean(),
      status: z.enum(usageStatuses),
      estimated: z.boolean(),
    }),
  ),
  next_cursor: z.string().nullable(),
});
export type UsagePage = z.infer<typeof usagePageSchema>;

const usageSumsSchema = z.strictObject({
  requests: z.int(),
  failed: z.int(),
  cancelled: z.int(),
  /** Requests whose tokens the broker had to count itself. */
  estimated: z.int(),
  prompt_tokens: z.int(),
  cached_tokens: z.int(),
  completion_tokens: z.int(),
  reasoning_tokens: z.int(),
  cost: usd,
});
export type UsageSums = z.infer<typeof usageSumsSchema>;

/**
 * Answer of `GET /usage/daily`: sums of every group that has any, in the order of the group columns, and of them all.
 * The columns that were not grouped by are absent.
 */
export const usageDailyAnswerSchema = z.strictObject({
  data: z.array(
    z.strictObject({
      day: z.iso.date().optional(),
      month: z
        .string()
        .regex(/^\d{4}-\d{2}$/)
        .optional(),
      workspace_id: z.uuid().optional(),
      key_id: z.uuid().optional(),
      operation: z.string().optional(),
      model: z.string().optional(),
      provider: z.string().nullable().optional(),
      privacy_class: privacyClassSchema.nullable().optional(),
      ...usageSumsSchema.shape,
    }),
  ),
  total: usageSumsSchema,
});
export type UsageDailyAnswer = z.infer<typeof usageDailyAnswerSchema>;

/** A key as its owner sees it; `key` itself is there once, in the answer that created it. */
export const keyAnswerSchema = z.strictObject({
  id: z.uuid(),
  name: z.string(),
  kind: z.enum(['inference', 'management']),
  workspace_id: z.uuid(),
  /** The account of whoever made it. */
  created_by: z.uuid(),
  preview: z.string(),
  credit_limit_usd: usd.nullable(),
  spent_usd: usd,
  openai_compatible: z.boolean(),
  created_at: instant,
  last_used_at: instant.nullable(),
  revoked_at: instant.nullable(),
  key: z.string().optional(),
});
export type KeyAnswer = z.infer<typeof keyAnswerSchema>;

/** Answer of `POST /keys`, the only one that has the secret. */
export const newKeyAnswerSchema = keyAnswerSchema.required({ key: true });
export type NewKeyAnswer = z.infer<typeof newKeyAnswerSchema>;

export const keyListAnswerSchema = z.strictObject({ data: z.array(keyAnswerSchema) });

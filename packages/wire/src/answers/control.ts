import * as z from 'zod';
import { type RelayAttack, relayAttacks } from '../e2ee/protocols.ts';
import { privacyClassSchema } from '../field-schemas.ts';
import { pageOfSchema } from './page.ts';

const instant = z.iso.datetime();
const usd = z.number();

/** Answer of `POST /inference/tickets`. */
export const ticketAnswerSchema = z.strictObject({
  ticket: z.string(),
  /** With `count`: all tickets. `ticket` is the first of them. */
  tickets: z.array(z.string()).optional(),
  privacy_class: privacyClassSchema,
  expires_at: instant,
});
export type TicketAnswer = z.infer<typeof ticketAnswerSchema>;

/** Answer of `POST /inference/attestation-tickets`. */
export const attestationTicketAnswerSchema = ticketAnswerSchema.pick({ ticket: true, expires_at: true });
export type AttestationTicketAnswer = z.infer<typeof attestationTicketAnswerSchema>;

/** Answer of `GET /capabilities`. */
export const capabilitiesAnswerSchema = z.strictObject({
  image_generation: z.strictObject({ enabled: z.boolean() }),
  speech_synthesis: z.strictObject({ enabled: z.boolean() }),
  connected_apps: z.strictObject({ enabled: z.boolean() }),
  anonymous_wallets: z.strictObject({ enabled: z.boolean() }),
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

const capabilitiesOfRouteSchema = z.strictObject({
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
  /** Present if the catalog lists them. Parameters that it does not list are not sent to the provider. */
  supported_parameters: z.array(z.string()).optional(),
  /** Present if the broker reaches the provider without TLS, in a private network whose operator can read content. */
  insecure_http: z.literal(true).optional(),
  /** For an `e2ee` route: what a malicious broker can do to encrypted requests, as far as the operator's registry tells. */
  relay_attacks: z.array(z.enum(Object.keys(relayAttacks) as RelayAttack[])).optional(),
});
export type RouteAnswer = z.infer<typeof routeAnswerSchema>;

/** One entry of `GET /models`: a model and its routes. */
export const modelAnswerSchema = z.strictObject({
  id: z.string(),
  object: z.literal('model'),
  created: z.int(),
  owned_by: z.string(),
  name: z.string(),
  model_type: z.enum(['text', 'embedding', 'image', 'tts']),
  context_length: z.int().nullable(),
  max_output_tokens: z.int().nullable(),
  /** Present if `/auto` never chooses this model. A request must name it. */
  auto: z.literal(false).optional(),
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
  /** Only in the public list: digest of its catalog, `sha256:` and hex, as in receipts. */
  catalog_digest: z.string().optional(),
});
export type ModelListAnswer = z.infer<typeof modelListAnswerSchema>;

/** With fewer than 20 requests, a number would show when single people ask. */
const enoughRequests = z.int().nullable();

const measuredRouteSchema = z.strictObject({
  provider: z.string(),
  privacy_class: privacyClassSchema,
  window_hours: z.literal(24),
  success_rate: z.number().nullable(),
  requests: enoughRequests,
  ttft_ms: z.strictObject({ p50: z.number(), p90: z.number(), p99: z.number() }).nullable(),
  throughput_tps: z.strictObject({ p50: z.number() }).nullable(),
});

/** Answer of `GET /catalog/measurements`: the models and routes with at least 20 requests in 24 hours. */
export const measurementsAnswerSchema = z.strictObject({
  data: z.array(z.strictObject({ model: z.string(), routes: z.array(measuredRouteSchema) })),
});
export type MeasurementsAnswer = z.infer<typeof measurementsAnswerSchema>;

/** Answer of `GET /models/uptime`. Null if fewer than 20 requests were measured. */
export const uptimeAnswerSchema = z.strictObject({
  model: z.string(),
  routes: z.array(
    measuredRouteSchema.extend({
      series: z.array(
        z.strictObject({
          at: instant,
          success_rate: z.number().nullable(),
          requests: enoughRequests,
          ttft_p50_ms: z.number().nullable(),
        }),
      ),
    }),
  ),
});
export type UptimeAnswer = z.infer<typeof uptimeAnswerSchema>;

const endsSchema = { requests: enoughRequests, success_rate: z.number().nullable() };
const hoursSchema = z.array(z.strictObject({ at: instant, ...endsSchema }));

/** The share of the minutes of each hour in which a plane was ready. Null: not known. */
const planeHoursSchema = z.array(z.strictObject({ at: instant, ready: z.number().nullable() }));

/** Answer of `GET /status`: when the planes were ready, and how the requests to providers ended in the last 24 hours, together and for each provider. */
export const statusAnswerSchema = z.strictObject({
  window_hours: z.literal(24),
  planes: z.strictObject({ control: planeHoursSchema, broker: planeHoursSchema }),
  /** Of all providers, the oldest hour first. */
  hours: hoursSchema,
  providers: z.array(
    z.strictObject({
      provider: z.string(),
      ...endsSchema,
      hours: hoursSchema,
    }),
  ),
});
export type StatusAnswer = z.infer<typeof statusAnswerSchema>;

/** Answer of `GET /balance`: USD that can be spent now, and USD held for running requests. */
export const balanceAnswerSchema = z.strictObject({ currency: z.literal('USD'), available: usd, reserved: usd });

export const usageStatuses = ['completed', 'cancelled', 'failed'] as const;

/**
 * Why a request that reached a provider did not complete, in one word. A provider's refusal of content reads as `request`, because
 * a class of its own would describe the content.
 */
export const usageErrors = ['provider', 'timeout', 'rate_limit', 'request', 'cancelled'] as const;
export type UsageError = (typeof usageErrors)[number];

/** Why an attempt failed that another one followed. A refusal reads as `provider`, so that no row describes the content. */
export const attemptErrors = ['provider', 'timeout', 'rate_limit'] as const satisfies readonly UsageError[];
export type AttemptError = (typeof attemptErrors)[number];

/** Answer of `GET /usage`. `at` is cut to the minute, so that rows cannot be matched with logs by time. */
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
      /** Null if the request completed, or if an earlier version of the broker settled it. */
      error: z.enum(usageErrors).nullable(),
      /** The attempts before the last, in order. Empty if there was none, or if an earlier version of the broker settled it. */
      failed_attempts: z.array(z.strictObject({ provider: z.string(), error: z.enum(attemptErrors) })),
    }),
  ),
  next_cursor: z.string().nullable(),
  kept_from: instant.nullable(),
});
export type UsagePage = z.infer<typeof usagePageSchema>;

const usageSumsSchema = z.strictObject({
  requests: z.int(),
  failed: z.int(),
  cancelled: z.int(),
  /** Requests whose tokens the broker counted itself, because the provider reported none. */
  estimated: z.int(),
  prompt_tokens: z.int(),
  cached_tokens: z.int(),
  completion_tokens: z.int(),
  reasoning_tokens: z.int(),
  cost: usd,
});
export type UsageSums = z.infer<typeof usageSumsSchema>;

/**
 * The times to the first token of streamed chat answers are counted in eight classes: up to each of these bounds in
 * milliseconds, and beyond the last. A class is coarse on purpose, because a settlement carries it.
 */
export const firstTokenBoundsMs = [250, 500, 1000, 2000, 4000, 8000, 16_000] as const;

/**
 * Answer of `GET /usage/daily`: the sums of every group with requests, in the order of the group columns, and the total.
 * Columns that were not grouped by are absent.
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
  /**
   * How many streamed answers of all these days took how long to their first token: up to each of the bounds, and beyond
   * the last. Null for a query of one model or key, because these counts are kept for a workspace only.
   */
  first_token: z
    .strictObject({ bounds_ms: z.array(z.int()), answers: z.array(z.int()).length(firstTokenBoundsMs.length + 1) })
    .nullable(),
});
export type UsageDailyAnswer = z.infer<typeof usageDailyAnswerSchema>;

/** A key as its owner sees it. Only the answer that created or rotated it has `key`. */
export const keyAnswerSchema = z.strictObject({
  id: z.uuid(),
  name: z.string(),
  kind: z.enum(['inference', 'management']),
  workspace_id: z.uuid(),
  /** The account that created it. */
  created_by: z.uuid(),
  preview: z.string(),
  credit_limit_usd: usd.nullable(),
  spent_usd: usd,
  openai_compatible: z.boolean(),
  /** The models that its requests may name. Null: all. */
  allowed_models: z.array(z.string()).nullable(),
  /** Its own rate limits, below those of the deployment. Null: those of the deployment. */
  requests_per_minute: z.int().nullable(),
  tokens_per_minute: z.int().nullable(),
  created_at: instant,
  last_used_at: instant.nullable(),
  expires_at: instant.nullable(),
  disabled_at: instant.nullable(),
  revoked_at: instant.nullable(),
  /** Earlier secrets that still work, after the key was rotated. */
  old_secrets: z.array(z.strictObject({ preview: z.string(), ends_at: instant })),
  key: z.string().optional(),
});
export type KeyAnswer = z.infer<typeof keyAnswerSchema>;

/** Answer of `POST /keys` and of a rotation, the only ones that have the secret. */
export const newKeyAnswerSchema = keyAnswerSchema.required({ key: true });

export const keyListAnswerSchema = pageOfSchema(keyAnswerSchema);

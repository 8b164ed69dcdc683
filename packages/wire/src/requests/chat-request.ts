import * as z from 'zod';
import { jsonObjectSchema } from './json-depth.ts';
import { cacheControlSchema, maxMessages, messageSchema } from './messages.ts';
import { providerPolicySchema } from './provider-policy.ts';
import { reasoningEffortSchema, reasoningSchema } from './reasoning.ts';

/** A model id as sent: at most 256 characters, judged against the catalog later. */
export const modelIdSchema = z.string().min(1).max(256);

/** `models`: a short list for cross-model fallback; `model` counts as the first of at most 3 (design 6). */
export const modelsSchema = z.array(modelIdSchema).min(1).max(3);

const outputTokens = z.int().min(1).max(10_000_000);

export const toolSchema = z.object({
  type: z.literal('function'),
  function: z.object({
    name: z.string().regex(/^[a-zA-Z0-9_.-]{1,128}$/, { error: 'must be a function name of letters, digits, _ . -' }),
    description: z.string().optional(),
    parameters: jsonObjectSchema.optional(),
    strict: z.boolean().nullish(),
  }),
  cache_control: cacheControlSchema,
});

const toolChoiceSchema = z.union(
  [
    z.enum(['none', 'auto', 'required']),
    z.object({ type: z.literal('function'), function: z.object({ name: z.string().min(1) }) }),
  ],
  { error: 'must be `none`, `auto`, `required` or a function to call' },
);

const responseFormatSchema = z.discriminatedUnion(
  'type',
  [
    z.object({ type: z.literal('text') }),
    z.object({ type: z.literal('json_object') }),
    z.object({
      type: z.literal('json_schema'),
      json_schema: z.object({
        name: z.string().min(1).max(64),
        description: z.string().optional(),
        schema: jsonObjectSchema.optional(),
        strict: z.boolean().nullish(),
      }),
    }),
  ],
  { error: 'must have a `type` of text, json_object or json_schema' },
);

/**
 * Body of `POST /chat/completions` (interface 2.3), in the form every stage reads.
 * Fields not named here are dropped; `null` means absent, as OpenAI clients send it.
 */
export const chatRequestSchema = z.object({
  model: modelIdSchema,
  models: modelsSchema.nullish(),
  messages: z.array(messageSchema).min(1).max(maxMessages),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  stop: z.union([z.string(), z.array(z.string()).max(16)], { error: 'must be a string or up to 16 strings' }).nullish(),
  seed: z.int().nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  max_tokens: outputTokens.nullish(),
  max_completion_tokens: outputTokens.nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  tools: z.array(toolSchema).max(256).nullish(),
  tool_choice: toolChoiceSchema.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  response_format: responseFormatSchema.nullish(),
  reasoning_effort: reasoningEffortSchema.nullish(),
  reasoning: reasoningSchema.nullish(),
  provider: providerPolicySchema.nullish(),
  user: z.string().max(256).nullish(),
  n: z.literal(1, { error: 'must be 1: one choice is produced per request' }).nullish(),
});
export type ChatRequest = z.infer<typeof chatRequestSchema>;

const parametersSuffix = '_parameters';

/**
 * The provider-specific parameter objects of a raw body: `<provider id>_parameters` (design 6).
 * Returns provider id → parameters; a value that is no bounded object is reported by its field name.
 */
export function providerParameters(
  body: object,
):
  | { readonly ok: true; readonly byProvider: ReadonlyMap<string, Record<string, unknown>> }
  | { ok: false; param: string } {
  const byProvider = new Map<string, Record<string, unknown>>();
  for (const [key, value] of Object.entries(body)) {
    if (!key.endsWith(parametersSuffix) || value === null) continue;
    const parsed = jsonObjectSchema.safeParse(value);
    if (!parsed.success) return { ok: false, param: key };
    byProvider.set(key.slice(0, -parametersSuffix.length), parsed.data);
  }
  return { ok: true, byProvider };
}

import * as z from 'zod';
import { exactInteger } from '../exact-json.ts';
import { isObject } from '../json.ts';
import { contentSchema } from './content-bounds.ts';
import { jsonObjectSchema, maxJsonDepth } from './json-object.ts';
import { cacheControlSchema, maxMessages, messageSchema } from './messages.ts';
import { modelIdField, modelNote, modelsField } from './model-ids.ts';
import { providerNote, providerPolicySchema } from './provider-policy.ts';
import { reasoningEffortSchema, reasoningSchema } from './reasoning.ts';
import { omittable } from './without-nulls.ts';

const outputTokens = z.int().min(1).max(10_000_000);

const longest = 2n ** 63n;

function isSeed(value: unknown): boolean {
  const seed = exactInteger(value);
  return seed !== undefined && seed >= -longest && seed < longest;
}

/** A 64-bit integer. One that a number would round is an object of `JSON.rawJSON`. */
const seedSchema = z
  .custom<number | object>(isSeed, { error: 'must be an integer of at most 64 bits' })
  .meta({ type: 'integer', format: 'int64', minimum: -(2 ** 63), maximum: 2 ** 63 });

const toolSchema = z
  .object({
    type: z.literal('function').default('function'),
    function: z.object({
      name: z.string().regex(/^[a-zA-Z0-9_.-]{1,128}$/, { error: 'must be a function name of letters, digits, _ . -' }),
      description: omittable(contentSchema),
      parameters: omittable(jsonObjectSchema),
      strict: z.boolean().nullish(),
    }),
    cache_control: cacheControlSchema,
  })
  .meta({ title: 'Tool' });

const toolChoiceSchema = z.union(
  [
    z.enum(['none', 'auto', 'required']),
    z
      .object({ type: z.literal('function'), function: z.object({ name: z.string().min(1).max(128) }) })
      .meta({ title: 'ToolChoiceFunction' }),
  ],
  { error: 'must be `none`, `auto`, `required` or a function to call' },
);

const responseFormatSchema = z.discriminatedUnion(
  'type',
  [
    z.object({ type: z.literal('text') }).meta({ title: 'ResponseFormatText' }),
    z.object({ type: z.literal('json_object') }).meta({ title: 'ResponseFormatJsonObject' }),
    z
      .object({
        type: z.literal('json_schema'),
        json_schema: z.object({
          name: z.string().min(1).max(64),
          description: omittable(contentSchema),
          schema: omittable(jsonObjectSchema),
          strict: z.boolean().nullish(),
        }),
      })
      .meta({ title: 'ResponseFormatJsonSchema' }),
  ],
  { error: 'must have a `type` of text, json_object or json_schema' },
);

/**
 * Body of `POST /chat/completions`. Unknown fields are dropped. `null` means absent, as OpenAI clients send it. The page
 * docs/use/parameters.md explains the fields.
 */
export const chatRequestSchema = z
  .object({
    model: modelIdField.describe(modelNote),
    models: modelsField.nullish().describe('Models to fall back to. At most 3, and `model` counts as the first.'),
    messages: z.preprocess(withToolCalls, z.array(messageSchema).min(1).max(maxMessages)),
    temperature: z.number().min(0).max(2).nullish().describe('How freely tokens are chosen: 0 takes the likeliest.'),
    top_p: z
      .number()
      .min(0)
      .max(1)
      .nullish()
      .describe('Chooses among the likeliest tokens whose probabilities add up to this.'),
    stop: z
      .union([contentSchema, z.array(contentSchema).max(16)], { error: 'must be a string or up to 16 strings' })
      .nullish(),
    seed: seedSchema
      .nullish()
      .describe('A 64-bit integer. Some providers repeat an answer to the same seed and request.'),
    frequency_penalty: z
      .number()
      .min(-2)
      .max(2)
      .nullish()
      .describe('Above 0, a token is less likely the more often it has occurred.'),
    presence_penalty: z
      .number()
      .min(-2)
      .max(2)
      .nullish()
      .describe('Above 0, a token is less likely once it has occurred.'),
    repetition_penalty: z
      .number()
      .min(0)
      .max(2)
      .nullish()
      .describe('Above 1, tokens of prompt and answer are less likely to repeat. 1 changes nothing.'),
    top_k: z.int().min(0).max(1_000_000_000).nullish().describe('Chooses among this many of the likeliest tokens.'),
    min_p: z
      .number()
      .min(0)
      .max(1)
      .nullish()
      .describe('Leaves out tokens whose probability is below this share of the likeliest one’s.'),
    max_tokens: outputTokens.nullish().describe('The same as `max_completion_tokens`. Different values are refused.'),
    max_completion_tokens: outputTokens.nullish(),
    stream: z.boolean().nullish().describe('Send the answer as server-sent events.'),
    stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
    tools: z.array(toolSchema).max(256).nullish(),
    tool_choice: toolChoiceSchema.nullish(),
    parallel_tool_calls: z.boolean().nullish(),
    response_format: responseFormatSchema.nullish(),
    reasoning_effort: reasoningEffortSchema.nullish().describe('How much to reason. Each model has its own levels.'),
    reasoning: reasoningSchema.nullish(),
    provider: providerPolicySchema.nullish().describe(providerNote),
    user: z.string().max(256).nullish().describe('Forwarded to the provider, which can link your requests by it.'),
    modalities: z
      .array(z.literal('text', { error: 'must be `text`: no other output is produced here' }))
      .max(16)
      .nullish(),
    n: z.literal(1, { error: 'must be 1: one choice is produced per request' }).nullish().describe('Only 1.'),
  })
  // Not `patternProperties`: generators turn it into an index signature, which contradicts the other fields.
  .describe(
    'A field `<provider id>_parameters` is an object (or null) for that provider only. ' +
      'It has the parameters that only the API of this provider accepts. Every provider accepts `strip_thinking_response`.',
  );
export type ChatRequest = z.infer<typeof chatRequestSchema>;

const parametersSuffix = '_parameters';
/** Most providers that one request can have parameters for. */
const maxParameterObjects = 64;

/**
 * Reads the provider-specific parameter objects of a raw body: `<provider id>_parameters`.
 * Returns the parameters by provider id, or the field at fault with a sentence about it.
 */
export function providerParameters(
  body: object,
):
  | { readonly ok: true; readonly byProvider: ReadonlyMap<string, Record<string, unknown>> }
  | { readonly ok: false; readonly param: string; readonly message: string } {
  const byProvider = new Map<string, Record<string, unknown>>();
  for (const name in body) {
    const value = (body as Readonly<Record<string, unknown>>)[name];
    if (!name.endsWith(parametersSuffix) || value === null) continue;
    const param = name.slice(0, 128);
    const parsed = jsonObjectSchema.safeParse(value);
    if (!parsed.success) {
      const message = `\`${param}\` must be an object of provider parameters, nested at most ${maxJsonDepth} levels.`;
      return { ok: false, param, message };
    }
    if (byProvider.size === maxParameterObjects) {
      const message = `\`${param}\` is one too many: send parameters for at most ${maxParameterObjects} providers.`;
      return { ok: false, param, message };
    }
    byProvider.set(name.slice(0, -parametersSuffix.length), parsed.data);
  }
  return { ok: true, byProvider };
}

/** An empty list of calls counts as absent, because some clients send it beside the legacy form. */
const isEmpty = (calls: unknown): boolean => calls == null || (Array.isArray(calls) && calls.length === 0);

const isLegacy = (message: unknown): boolean =>
  isObject(message) && (message.role === 'function' || message.function_call != null);

/**
 * Rewrites messages that use OpenAI's legacy `functions`. `function_call` becomes a tool call with a new id, and the message of
 * the role `function` that follows answers that id. Messages keep their positions. A message that cannot be rewritten stays
 * unchanged, and the schema refuses it. Returns the same list if there is nothing to rewrite.
 */
function withToolCalls(messages: unknown): unknown {
  if (!Array.isArray(messages) || !messages.some(isLegacy)) return messages;
  let open: { readonly id: string; readonly name: unknown } | undefined;
  return messages.map((message: unknown, at) => {
    if (!isObject(message)) return message;
    if (message.role === 'function') {
      if (open === undefined || open.name !== message.name) return message;
      const { id } = open;
      open = undefined;
      return { role: 'tool', tool_call_id: id, content: message.content ?? '' };
    }
    const { function_call: call, ...rest } = message;
    if (message.role !== 'assistant' || !isObject(call) || !isEmpty(rest.tool_calls)) return message;
    const id = `function_call_${at}`;
    open = { id, name: call.name };
    return { ...rest, tool_calls: [{ id, type: 'function', function: call }] };
  });
}

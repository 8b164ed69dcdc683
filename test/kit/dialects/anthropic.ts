import * as z from 'zod';
import { type Asked, type AskedTurn, type Dialect, emptyTurn, one, type Says, sse, words } from './dialect.ts';

const cache_control = z.strictObject({ type: z.literal('ephemeral') }).optional();
const nonBlank = z.string().regex(/\S/);
const id = z.string().regex(/^[a-zA-Z0-9_-]+$/);
const text = z.strictObject({ type: z.literal('text'), text: nonBlank, cache_control });
const image = z.strictObject({
  type: z.literal('image'),
  source: z.union([
    z.strictObject({ type: z.literal('url'), url: z.string() }),
    z.strictObject({ type: z.literal('base64'), media_type: z.string(), data: z.base64() }),
  ]),
  cache_control,
});
const toolResult = z.strictObject({
  type: z.literal('tool_result'),
  tool_use_id: id,
  content: z.union([z.string(), z.array(text)]),
  cache_control,
});
const toolUse = z.strictObject({ type: z.literal('tool_use'), id, name: z.string(), input: z.looseObject({}) });
const thinking = z.strictObject({ type: z.literal('thinking'), thinking: z.string(), signature: z.string() });
const redacted = z.strictObject({ type: z.literal('redacted_thinking'), data: z.string() });

/** The fields of `POST /v1/messages` that we send, from https://platform.claude.com/docs/en/api/messages. */
const requestSchema = z.strictObject({
  model: z.string(),
  max_tokens: z.int().min(1),
  system: z.array(text).optional(),
  messages: z
    .array(
      z.discriminatedUnion('role', [
        z.strictObject({ role: z.literal('user'), content: z.array(z.union([text, image, toolResult])).min(1) }),
        z.strictObject({
          role: z.literal('assistant'),
          content: z.array(z.union([text, toolUse, thinking, redacted])).min(1),
        }),
      ]),
    )
    .min(1),
  temperature: z.number().min(0).max(1).optional(),
  top_p: z.number().optional(),
  stop_sequences: z.array(z.string()).optional(),
  tools: z
    .array(
      z.strictObject({
        name: z.string().regex(/^[a-zA-Z0-9_-]{1,128}$/),
        description: z.string().optional(),
        input_schema: z.looseObject({ type: z.literal('object') }),
        strict: z.literal(true).optional(),
        cache_control,
      }),
    )
    .optional(),
  tool_choice: z
    .union([
      z.strictObject({ type: z.enum(['auto', 'any']), disable_parallel_tool_use: z.literal(true).optional() }),
      z.strictObject({ type: z.literal('none') }),
      z.strictObject({
        type: z.literal('tool'),
        name: z.string(),
        disable_parallel_tool_use: z.literal(true).optional(),
      }),
    ])
    .optional(),
  thinking: z
    .union([
      z.strictObject({ type: z.literal('enabled'), budget_tokens: z.int().min(1024) }),
      z.strictObject({ type: z.literal('adaptive'), display: z.enum(['summarized', 'omitted']) }),
      z.strictObject({ type: z.literal('disabled') }),
    ])
    .optional(),
  output_config: z
    .strictObject({
      effort: z.enum(['low', 'medium', 'high', 'xhigh', 'max']).optional(),
      format: z.strictObject({ type: z.literal('json_schema'), schema: z.looseObject({}) }).optional(),
    })
    .optional(),
  metadata: z.strictObject({ user_id: z.string().max(256) }).optional(),
  stream: z.boolean(),
});
type Body = z.infer<typeof requestSchema>;

const choices: Readonly<Record<string, string>> = { any: 'required', auto: 'auto', none: 'none' };

function turnOf({ role, content }: Body['messages'][number]): AskedTurn {
  const turn = emptyTurn();
  for (const block of content) {
    if (block.type === 'text') turn.text += block.text;
    else if (block.type === 'image')
      turn.images.push(block.source.type === 'url' ? block.source.url : block.source.media_type);
    else if (block.type === 'tool_use') turn.calls.push({ name: block.name, args: block.input });
    else if (block.type === 'thinking') turn.signatures.push(block.signature);
    else if (block.type === 'redacted_thinking') turn.signatures.push(block.data);
    else
      turn.results.push(
        typeof block.content === 'string' ? block.content : block.content.map((part) => part.text).join(''),
      );
  }
  return { side: role === 'user' ? 'user' : 'model', ...turn };
}

/** Checks the rules of the API that the schema cannot express. */
function checkBody(body: Body): void {
  if (body.thinking?.type === 'enabled' && body.thinking.budget_tokens >= body.max_tokens)
    throw new Error('the budget is too large');
  const thinks = body.thinking !== undefined && body.thinking.type !== 'disabled';
  if (thinks && body.temperature !== undefined) throw new Error('a thinking model takes no temperature');
  if (thinks && body.tool_choice !== undefined && !['auto', 'none'].includes(body.tool_choice.type))
    throw new Error('a thinking model is free');
  if (body.temperature !== undefined && body.top_p !== undefined) throw new Error('one of temperature and top_p');
  for (const [index, { role, content }] of body.messages.entries()) {
    if ((index % 2 === 0) !== (role === 'user')) throw new Error('the sides must alternate, the user first');
    const answered = content.flatMap((block) => (block.type === 'tool_result' ? [block.tool_use_id] : []));
    const asked =
      body.messages[index - 1]?.content.flatMap((block) => (block.type === 'tool_use' ? [block.id] : [])) ?? [];
    if (JSON.stringify(answered) !== JSON.stringify(role === 'user' ? asked : []))
      throw new Error('each tool_use needs its result next');
  }
}

const usageOf = ({ usage: { fresh, cached = 0, written = 0, output, reasoning } }: Says): object => ({
  input_tokens: fresh,
  cache_creation_input_tokens: written,
  cache_read_input_tokens: cached,
  output_tokens: output + (reasoning ?? 0),
  ...(reasoning === undefined ? {} : { output_tokens_details: { thinking_tokens: reasoning } }),
});

const stopOf = ({ finish = 'stop', calls = [] }: Says): string => {
  if (finish === 'refusal') return 'refusal';
  return finish === 'length' ? 'max_tokens' : calls.length > 0 ? 'tool_use' : 'end_turn';
};

const message = (says: Says, content: readonly object[], stop: string | null): object => ({
  id: 'msg_LEAK',
  type: 'message',
  role: 'assistant',
  model: 'LEAK-model',
  content,
  stop_reason: stop,
  stop_sequence: null,
  usage: usageOf(says),
});

const event = (payload: { readonly type: string; readonly [name: string]: unknown }): Buffer =>
  sse(payload, payload.type);

const block = (index: number, content_block: object, deltas: readonly object[]): Buffer[] => [
  event({ type: 'content_block_start', index, content_block }),
  ...deltas.map((delta) => event({ type: 'content_block_delta', index, delta })),
  event({ type: 'content_block_stop', index }),
];

function pieces({ reasoning, text: said, calls = [] }: Says): Buffer[] {
  const blocks: ((index: number) => Buffer[])[] = [];
  if (reasoning !== undefined) {
    const thoughts = words(reasoning.text).map((word) => ({ type: 'thinking_delta', thinking: word }));
    const signed = { type: 'signature_delta', signature: reasoning.signature };
    blocks.push((index) => block(index, { type: 'thinking', thinking: '', signature: '' }, [...thoughts, signed]));
  }
  if (said !== undefined) {
    const deltas = words(said).map((word) => ({ type: 'text_delta', text: word }));
    blocks.push((index) => block(index, { type: 'text', text: '' }, deltas));
  }
  for (const [at, { name, args }] of calls.entries()) {
    const json = JSON.stringify(args);
    const cut = Math.floor(json.length / 2);
    const partials = ['', json.slice(0, cut), json.slice(cut)].map((partial_json) => ({
      type: 'input_json_delta',
      partial_json,
    }));
    blocks.push((index) => block(index, { type: 'tool_use', id: `toolu_${at}`, name, input: {} }, partials));
  }
  return blocks.flatMap((made, index) => made(index));
}

export const anthropicDialect: Dialect = {
  adapter: 'anthropic',
  basePath: '/v1',
  streamType: 'text/event-stream; charset=utf-8',
  modelOf: ({ body }) => String(body.model),
  asked({ path, headers, text: raw }): Asked {
    const body = requestSchema.parse(JSON.parse(raw));
    if (path !== '/v1/messages') throw new Error(`no such path: ${path}`);
    if (one(headers, 'anthropic-version') !== '2023-06-01') throw new Error('no version');
    if (headers.authorization !== undefined) throw new Error('the key goes into x-api-key');
    checkBody(body);
    const choice = body.tool_choice;
    return {
      model: body.model,
      stream: body.stream,
      key: one(headers, 'x-api-key'),
      system: (body.system ?? []).map((part) => part.text).join('\n'),
      turns: body.messages.map(turnOf),
      tools: (body.tools ?? []).map(({ name }) => name),
      toolChoice: choice?.type === 'tool' ? choice.name : (choices[choice?.type ?? 'auto'] ?? ''),
      schema: body.output_config?.format?.schema,
      maxTokens: body.max_tokens,
      temperature: body.temperature,
      stop: body.stop_sequences ?? [],
    };
  },
  whole(says) {
    const { reasoning, text: said, calls = [] } = says;
    const content = [
      ...(reasoning === undefined
        ? []
        : [{ type: 'thinking', thinking: reasoning.text, signature: reasoning.signature }]),
      ...(said === undefined ? [] : [{ type: 'text', text: said }]),
      ...calls.map(({ name, args }, index) => ({ type: 'tool_use', id: `toolu_${index}`, name, input: args })),
    ];
    return message(says, content, stopOf(says));
  },
  stream: (says) => ({
    head: [
      event({
        type: 'message_start',
        message: message({ ...says, usage: { ...says.usage, output: 1, reasoning: 0 } }, [], null),
      }),
      event({ type: 'ping' }),
    ],
    pieces: pieces(says),
    tail: [
      event({ type: 'message_delta', delta: { stop_reason: stopOf(says), stop_sequence: null }, usage: usageOf(says) }),
      event({ type: 'message_stop' }),
    ],
  }),
  error: (status, text) => ({
    type: 'error',
    error: { type: errorTypes[status] ?? 'api_error', message: text },
    request_id: 'req_LEAK',
  }),
  refusal: {
    status: 400,
    body: {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'Output blocked by content filtering policy LEAK' },
    },
  },
  streamError: (text) => event({ type: 'error', error: { type: 'overloaded_error', message: text } }),
};

const errorTypes: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error',
};

import * as z from 'zod';
import { type Asked, type AskedTurn, type Dialect, one, type Says, sse, words } from './dialect.ts';

const text = z.strictObject({ type: z.literal('text'), text: z.string() });
const image = z.strictObject({
  type: z.literal('image_url'),
  image_url: z.strictObject({ url: z.string(), detail: z.string().optional() }),
});
const texts = z.union([z.string(), z.array(text)]);
const call = z.strictObject({
  id: z.string().max(40),
  type: z.literal('function'),
  function: z.strictObject({ name: z.string(), arguments: z.string() }),
});

/**
 * The fields of `POST /chat/completions` that we send, from https://platform.openai.com/docs/api-reference/chat/create.
 */
const requestSchema = z.strictObject({
  model: z.string(),
  messages: z.array(
    z.discriminatedUnion('role', [
      z.strictObject({ role: z.literal('system'), content: texts }),
      z.strictObject({ role: z.literal('developer'), content: texts }),
      z.strictObject({ role: z.literal('user'), content: z.union([z.string(), z.array(z.union([text, image]))]) }),
      z.strictObject({
        role: z.literal('assistant'),
        content: texts.nullish(),
        refusal: z.string().optional(),
        tool_calls: z.array(call).optional(),
      }),
      z.strictObject({ role: z.literal('tool'), content: texts, tool_call_id: z.string() }),
    ]),
  ),
  max_tokens: z.int(),
  temperature: z.number().optional(),
  top_p: z.number().optional(),
  stop: z.union([z.string(), z.array(z.string())]).optional(),
  seed: z.int().optional(),
  tools: z
    .array(
      z.strictObject({
        type: z.literal('function'),
        function: z.strictObject({
          name: z.string(),
          description: z.string().optional(),
          parameters: z.looseObject({}).optional(),
          strict: z.boolean().optional(),
        }),
      }),
    )
    .optional(),
  tool_choice: z
    .union([
      z.enum(['none', 'auto', 'required']),
      z.strictObject({ type: z.literal('function'), function: z.strictObject({ name: z.string() }) }),
    ])
    .optional(),
  parallel_tool_calls: z.boolean().optional(),
  response_format: z
    .discriminatedUnion('type', [
      z.strictObject({ type: z.literal('text') }),
      z.strictObject({ type: z.literal('json_object') }),
      z.strictObject({
        type: z.literal('json_schema'),
        json_schema: z.strictObject({
          name: z.string(),
          description: z.string().optional(),
          schema: z.looseObject({}).optional(),
          strict: z.boolean().optional(),
        }),
      }),
    ])
    .optional(),
  reasoning_effort: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh']).optional(),
  user: z.string().optional(),
  stream: z.boolean(),
  stream_options: z.strictObject({ include_usage: z.literal(true) }).optional(),
});

type Body = z.infer<typeof requestSchema>;

const join = (
  content: string | readonly { readonly type: string; readonly text?: string }[] | null | undefined,
): string => (typeof content === 'string' ? content : (content ?? []).map((part) => part.text ?? '').join(''));

function turnsOf(messages: Body['messages']): AskedTurn[] {
  const turns: AskedTurn[] = [];
  for (const message of messages) {
    const { role } = message;
    if (role === 'system' || role === 'developer') continue;
    const side = role === 'assistant' ? 'model' : 'user';
    const last = turns.at(-1);
    const before = last?.side === side ? turns.pop() : undefined;
    const parts = role === 'user' && Array.isArray(message.content) ? message.content : [];
    const calls = role === 'assistant' ? (message.tool_calls ?? []) : [];
    turns.push({
      side,
      text: (before?.text ?? '') + (role === 'tool' ? '' : join(message.content)),
      images: [
        ...(before?.images ?? []),
        ...parts.flatMap((part) => (part.type === 'image_url' ? [nameOf(part.image_url.url)] : [])),
      ],
      calls: [
        ...(before?.calls ?? []),
        ...calls.map((made) => ({ name: made.function.name, args: JSON.parse(made.function.arguments) as unknown })),
      ],
      results: [...(before?.results ?? []), ...(role === 'tool' ? [join(message.content)] : [])],
      signatures: [],
    });
  }
  return turns;
}

const nameOf = (url: string): string => (url.startsWith('data:') ? url.slice(5, url.indexOf(';')) : url);

const chunk = (choice: object | undefined, more: object = {}): Buffer =>
  sse({
    id: 'LEAK-id',
    object: 'chat.completion.chunk',
    created: 1_700_000_000,
    model: 'LEAK-model',
    system_fingerprint: 'LEAK-fp',
    choices: choice === undefined ? [] : [{ index: 0, ...choice }],
    ...more,
  });

const usageOf = ({ usage }: Says): object => {
  const { fresh, cached = 0, written = 0, output, reasoning = 0 } = usage;
  const prompt = fresh + cached + written;
  return {
    prompt_tokens: prompt,
    completion_tokens: output + reasoning,
    total_tokens: prompt + output + reasoning,
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
};

const finishOf = ({ finish = 'stop', calls = [] }: Says): string => {
  if (finish === 'refusal') return 'content_filter';
  return finish === 'length' ? 'length' : calls.length > 0 ? 'tool_calls' : 'stop';
};

const callsOf = ({ calls = [] }: Says) =>
  calls.map(({ name, args }, index) => ({
    id: `call_${index}`,
    type: 'function',
    function: { name, arguments: JSON.stringify(args) },
  }));

export const openAiDialect: Dialect = {
  adapter: 'openai',
  basePath: '/v1',
  streamType: 'text/event-stream',
  modelOf: ({ body }) => String(body.model),
  asked({ path, headers, text: raw }): Asked {
    const body = requestSchema.parse(JSON.parse(raw));
    if (path !== '/v1/chat/completions') throw new Error(`no such path: ${path}`);
    const system = body.messages.filter(({ role }) => role === 'system' || role === 'developer');
    const choice = body.tool_choice;
    return {
      model: body.model,
      stream: body.stream,
      key: one(headers, 'authorization')?.replace('Bearer ', '') ?? one(headers, 'api-key'),
      system: system.map(({ content }) => join(content)).join('\n'),
      turns: turnsOf(body.messages),
      tools: (body.tools ?? []).map((tool) => tool.function.name),
      toolChoice: typeof choice === 'object' ? choice.function.name : (choice ?? 'auto'),
      schema: body.response_format?.type === 'json_schema' ? body.response_format.json_schema.schema : undefined,
      maxTokens: body.max_tokens,
      temperature: body.temperature,
      stop: [body.stop ?? []].flat(),
    };
  },
  whole: (says) => ({
    id: 'LEAK-id',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'LEAK-model',
    system_fingerprint: 'LEAK-fp',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: says.text ?? null,
          ...(says.reasoning === undefined ? {} : { reasoning_content: says.reasoning.text }),
          ...(says.calls === undefined ? {} : { tool_calls: callsOf(says) }),
        },
        finish_reason: finishOf(says),
      },
    ],
    usage: usageOf(says),
  }),
  stream: (says) => ({
    head: [chunk({ delta: { role: 'assistant', content: '' }, finish_reason: null })],
    pieces: [
      ...words(says.reasoning?.text ?? '').map((word) =>
        chunk({ delta: { reasoning_content: word }, finish_reason: null }),
      ),
      ...words(says.text ?? '').map((word) => chunk({ delta: { content: word }, finish_reason: null })),
      ...callsOf(says).map((made, index) =>
        chunk({ delta: { tool_calls: [{ index, ...made }] }, finish_reason: null }),
      ),
    ],
    tail: [
      chunk({ delta: {}, finish_reason: finishOf(says) }),
      chunk(undefined, { usage: usageOf(says) }),
      Buffer.from('data: [DONE]\n\n'),
    ],
  }),
  error: (status, message) => ({
    error: { message, type: 'LEAK_error', code: status === 429 ? 'rate_limit_exceeded' : 'LEAK' },
  }),
  refusal: { status: 400, body: { error: { message: 'LEAK', code: 'content_filter' } } },
  streamError: (message) => sse({ error: { message, code: 500 } }),
};

/** Azure differs in its address and in the header of its key. */
export const azureDialect: Dialect = {
  ...openAiDialect,
  adapter: 'azure',
  basePath: '/openai/v1',
  asked: (request) => {
    if (request.headers.authorization !== undefined) throw new Error('Azure takes its key as `api-key`');
    return openAiDialect.asked({ ...request, path: request.path.replace('/openai/v1', '/v1') });
  },
};

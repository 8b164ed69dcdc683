import { type ChatRequest, chatRequestSchema } from '@sotto/wire';
import { expect } from 'vitest';
import { type AdapterName, asMessages, asResponses, type DialectName } from '../dialects/pipeline.ts';

/**
 * Requests that strict providers refuse, as people reported them about other gateways: kind, dialect, adapter. Streamed
 * and whole answers have the same request. A cell is a check of what is sent, or the reason why the kind cannot occur
 * there. The type requires every cell.
 */
interface Sent {
  // biome-ignore lint/suspicious/noExplicitAny: a provider's body has no type here
  readonly [field: string]: any;
}
type Check = (sent: Sent, raw: string) => void;
type Cell<Value> = Value | { readonly cannot: string };

interface RequestKind {
  readonly asked: Readonly<Record<DialectName, Cell<() => ChatRequest>>>;
  readonly sent: Readonly<Record<AdapterName, Cell<Check>>>;
  /** How the provider's API differs. Default: not. */
  readonly dialect?: object;
  readonly refused?: boolean;
}

const cannot = (why: string) => ({ cannot: why });
const read = (body: object): ChatRequest => chatRequestSchema.parse(body);
const chat = (fields: object, messages: readonly object[] = []) =>
  read({ model: 'acme/small', messages: [{ role: 'user', content: 'hi' }, ...messages], ...fields });

const parameters = { type: 'object', properties: {} };
const tool = (name: string, schema: object = parameters) => ({
  chat: { type: 'function', function: { name, parameters: schema } },
  messages: { name, input_schema: schema },
  responses: { type: 'function', name, parameters: schema },
});
const withTool = (name: string, schema?: object): RequestKind['asked'] => ({
  chat: () => chat({ tools: [tool(name, schema).chat] }),
  messages: () => read(asMessages(false, [], { tools: [tool(name, schema).messages] }).body),
  responses: () => read(asResponses(false, [], { tools: [tool(name, schema).responses] }).body),
});

/** A conversation with calls that have these ids, each answered by its own id. */
const withCalls = (...ids: readonly string[]): RequestKind['asked'] => ({
  chat: () =>
    chat(
      { tools: [tool('f').chat] },
      ids.flatMap((id) => [
        { role: 'assistant', tool_calls: [{ id, type: 'function', function: { name: 'f', arguments: '{}' } }] },
        { role: 'tool', tool_call_id: id, content: 'r' },
      ]),
    ),
  messages: () =>
    read(
      asMessages(
        false,
        ids.flatMap((id) => [
          { role: 'assistant', content: [{ type: 'tool_use', id, name: 'f', input: {} }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'r' }] },
        ]),
        { tools: [tool('f').messages] },
      ).body,
    ),
  responses: () =>
    read(
      asResponses(
        false,
        ids.flatMap((id) => [
          { type: 'function_call', call_id: id, name: 'f', arguments: '{}' },
          { type: 'function_call_output', call_id: id, output: 'r' },
        ]),
        { tools: [tool('f').responses] },
      ).body,
    ),
});

const withImage = (mediaType: string): RequestKind['asked'] => {
  const url = `data:${mediaType};base64,AAAA`;
  return {
    chat: () => chat({}, [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }]),
    messages: () =>
      read(
        asMessages(false, [
          {
            role: 'user',
            content: [{ type: 'image', source: { type: 'base64', media_type: mediaType, data: 'AAAA' } }],
          },
        ]).body,
      ),
    responses: () =>
      read(asResponses(false, [{ role: 'user', content: [{ type: 'input_image', image_url: url }] }]).body),
  };
};

const withText = (text: string): RequestKind['asked'] => ({
  chat: () => chat({}, [{ role: 'user', content: text }]),
  messages: () => read(asMessages(false, [{ role: 'user', content: text }]).body),
  responses: () => read(asResponses(false, [{ role: 'user', content: text }]).body),
});

/** Pairs of the ids of a call and of its result, in each API. */
const pairs: Readonly<Record<'openai' | 'anthropic' | 'bedrock', (sent: Sent) => [string, string][]>> = {
  openai: ({ messages }) =>
    pairUp(
      messages.flatMap((m: Sent) => [...(m.tool_calls ?? []).map((c: Sent) => c.id), m.tool_call_id ?? []].flat()),
    ),
  anthropic: ({ messages }) =>
    pairUp(blocks(messages).flatMap((b: Sent) => b.tool_use_id ?? (b.type === 'tool_use' ? b.id : []))),
  bedrock: ({ messages }) =>
    pairUp(blocks(messages).flatMap((b: Sent) => b.toolUse?.toolUseId ?? b.toolResult?.toolUseId ?? [])),
};
const blocks = (messages: readonly Sent[]): Sent[] => messages.flatMap(({ content }) => content);
function pairUp(ids: readonly string[]): [string, string][] {
  const paired: [string, string][] = [];
  for (let at = 0; at < ids.length; at += 2) paired.push([ids[at] ?? '', ids[at + 1] ?? '']);
  return paired;
}
/** Checks that calls and results belong together, and that every id is in the form and occurs once. */
const paired =
  (api: keyof typeof pairs, form: RegExp, count: number): Check =>
  (sent) => {
    const found = pairs[api](sent);
    expect(found).toHaveLength(count);
    for (const [call, result] of found) expect([call, result]).toEqual([result, expect.stringMatching(form)]);
    expect(new Set(found.map(([call]) => call)).size).toBe(count);
  };
const noIds = cannot('its API has no ids of calls');
const everyForm = (count: number): RequestKind['sent'] => ({
  openai: paired('openai', /^.{1,40}$/, count),
  anthropic: paired('anthropic', /^[\w-]{1,64}$/, count),
  google: noIds,
  bedrock: paired('bedrock', /^[\w-]{1,64}$/, count),
});

const details = [{ type: 'reasoning.encrypted', data: 'c2ln', id: 'c1', format: 'google-gemini-v1', index: 0 }];
const thinking = (fields: object): RequestKind['asked'] => ({
  chat: () =>
    chat({ tools: [tool('f').chat] }, [
      {
        ...{ role: 'assistant', content: null, ...fields },
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'r' },
    ]),
  messages: cannot(
    'it keeps reasoning in an envelope of ours: reasoning-envelope.test.ts and round-trip.property.test.ts',
  ),
  responses: cannot(
    'it keeps reasoning in an envelope of ours: reasoning-envelope.test.ts and round-trip.property.test.ts',
  ),
});
const ofAnother = cannot('the reasoning is that of another API, whose signature this one refuses');

const either = {
  ...{ type: 'object', properties: { a: { type: 'string' }, b: { type: 'string' } } },
  anyOf: [{ required: ['a'] }, { required: ['b'] }],
};
const isOneObject = (schema: Sent): void => {
  for (const name of ['anyOf', 'oneOf', 'allOf']) expect(schema).not.toHaveProperty(name);
  expect(schema).toMatchObject({ type: 'object', properties: either.properties });
};

const long = 'mcp__ymir-privileged__get_failed_pipeline_jobs_from_merge_request_x';
const isShort =
  (nameOf: (sent: Sent) => string): Check =>
  (sent) =>
    expect(nameOf(sent)).toMatch(/^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/);
const jpg = 'image/jpg';
const whole: Check = (_, raw) => {
  expect(raw).not.toMatch(/\\ud83d/i);
  expect(raw).toContain('\\ufffd');
};

export const kinds: Readonly<Record<string, RequestKind>> = {
  'ids of calls that another provider made': {
    asked: withCalls('call_abc123', 'x'.repeat(70), 'functions.f:0'),
    sent: everyForm(3),
  },
  'one id for several calls': { asked: withCalls('call_0', 'call_0', 'call_0'), sent: everyForm(3) },
  'ids that Mistral refuses': {
    asked: withCalls('call_abc123', 'abcDEF123', 'x'.repeat(70)),
    dialect: { tool_call_ids: 'nine_alphanumerics' },
    sent: {
      openai: (sent, raw) => {
        paired('openai', /^[a-zA-Z0-9]{9}$/, 3)(sent, raw);
        expect(raw).toContain('abcDEF123');
      },
      anthropic: cannot('Mistral has OpenAI’s shape'),
      google: cannot('Mistral has OpenAI’s shape'),
      bedrock: cannot('Mistral has OpenAI’s shape'),
    },
  },
  'the reasoning of a provider of OpenRouter’s shape': {
    asked: thinking({ reasoning: 't', reasoning_details: details }),
    dialect: { reasoning_field: 'reasoning_details' },
    sent: {
      openai: ({ messages }) => expect(messages[1]).toMatchObject({ reasoning: 't', reasoning_details: details }),
      anthropic: ofAnother,
      google: ({ contents }) => expect(JSON.stringify(contents)).toContain('c2ln'),
      bedrock: ofAnother,
    },
  },
  'reasoning that a provider requires beside calls': {
    asked: thinking({ reasoning: 't' }),
    dialect: { reasoning_field: 'reasoning_content' },
    sent: {
      openai: ({ messages }) => expect(messages[1].reasoning_content).toBe('t'),
      anthropic: cannot('it takes signed thoughts only, which `reasoning_details` hold'),
      google: cannot('it takes signatures only, which `reasoning_details` hold'),
      bedrock: cannot('it takes signed thoughts only, which `reasoning_details` hold'),
    },
  },
  'half an emoji': {
    asked: withText('cut \ud83d'),
    sent: { openai: whole, anthropic: whole, google: whole, bedrock: whole },
  },
  'half an emoji in the arguments of a call': {
    asked: {
      chat: () =>
        chat({ tools: [tool('f').chat] }, [
          {
            role: 'assistant',
            tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":"\\ud83d"}' } }],
          },
          { role: 'tool', tool_call_id: 'c1', content: 'r' },
        ]),
      messages: () =>
        read(
          asMessages(
            false,
            [
              { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'f', input: { a: '\ud83d' } }] },
              { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'r' }] },
            ],
            { tools: [tool('f').messages] },
          ).body,
        ),
      responses: () =>
        read(
          asResponses(
            false,
            [
              { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{"a":"\\ud83d"}' },
              { type: 'function_call_output', call_id: 'c1', output: 'r' },
            ],
            { tools: [tool('f').responses] },
          ).body,
        ),
    },
    sent: { openai: whole, anthropic: whole, google: whole, bedrock: whole },
  },
  'image/jpg': {
    asked: withImage(jpg),
    sent: {
      openai: (_, raw) => expect(raw).toContain('data:image/jpeg;'),
      anthropic: (_, raw) => expect(raw).toContain('"media_type":"image/jpeg"'),
      google: (_, raw) => expect(raw).toContain('"mimeType":"image/jpeg"'),
      bedrock: (_, raw) => expect(raw).toContain('"format":"jpeg"'),
    },
  },
  'image/bmp': {
    asked: withImage('image/bmp'),
    sent: {
      openai: (_, raw) => expect(raw).toContain('data:image/bmp;'),
      anthropic: ({ unsupported }) => expect(unsupported).toMatch(/jpeg, png, gif or webp.*image\/bmp/),
      google: ({ unsupported }) => expect(unsupported).toMatch(/heic or heif.*image\/bmp/),
      bedrock: ({ unsupported }) => expect(unsupported).toMatch(/jpeg, png, gif or webp.*image\/bmp/),
    },
  },
  'image/heic': {
    asked: withImage('image/heic'),
    sent: {
      openai: (_, raw) => expect(raw).toContain('data:image/heic;'),
      anthropic: ({ unsupported }) => expect(unsupported).toContain('image/heic'),
      google: (_, raw) => expect(raw).toContain('"mimeType":"image/heic"'),
      bedrock: ({ unsupported }) => expect(unsupported).toContain('image/heic'),
    },
  },
  'a name of more than 64 characters': {
    asked: { ...withTool(long), chat: cannot('a chat’s own client reads the answer, so its names stay') },
    sent: {
      openai: isShort(({ tools }) => tools[0].function.name),
      anthropic: isShort(({ tools }) => tools[0].name),
      google: isShort(({ tools }) => tools[0].functionDeclarations[0].name),
      bedrock: isShort(({ toolConfig }) => toolConfig.tools[0].toolSpec.name),
    },
  },
  '`anyOf` at the top of a tool’s schema': {
    asked: withTool('f', either),
    sent: {
      openai: cannot('most servers of its shape take it, and the registry does not tell which refuse it'),
      anthropic: ({ tools }) => isOneObject(tools[0].input_schema),
      google: cannot('`parametersJsonSchema` takes it'),
      bedrock: ({ toolConfig }) => isOneObject(toolConfig.tools[0].toolSpec.inputSchema.json),
    },
  },
  'a stop sequence of white space': {
    asked: {
      chat: () => chat({ stop: ['\n\n', 'END'] }),
      messages: () => read(asMessages(false, [], { stop_sequences: ['\n\n', 'END'] }).body),
      responses: cannot('it has no stop sequences'),
    },
    sent: {
      openai: ({ stop }) => expect(stop).toEqual(['\n\n', 'END']),
      anthropic: ({ stop_sequences: stop }) => expect(stop).toEqual(['END']),
      google: ({ generationConfig }) => expect(generationConfig.stopSequences).toEqual(['\n\n', 'END']),
      bedrock: ({ inferenceConfig }) => expect(inferenceConfig.stopSequences).toEqual(['END']),
    },
  },
  'an e-mail address in `user`': {
    asked: {
      chat: () => chat({ user: 'ann@example.com' }),
      messages: cannot('`metadata` is not passed on'),
      responses: cannot('`user` is not passed on'),
    },
    sent: {
      openai: ({ user }) => expect(user).toBe('ann@example.com'),
      anthropic: (_, raw) => expect(raw).not.toContain('ann@'),
      google: (_, raw) => expect(raw).not.toContain('ann@'),
      bedrock: (_, raw) => expect(raw).not.toContain('ann@'),
    },
  },
};

import { crc32 } from 'node:zlib';
import * as z from 'zod';
import { type Asked, type AskedTurn, type Dialect, emptyTurn, one, type Says, words } from './dialect.ts';

const cachePoint = z.strictObject({ cachePoint: z.strictObject({ type: z.literal('default') }) });
const text = z.strictObject({ text: z.string().min(1) });
const id = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/);
const image = z.strictObject({
  image: z.strictObject({
    format: z.enum(['png', 'jpeg', 'gif', 'webp']),
    source: z.strictObject({ bytes: z.base64() }),
  }),
});
const toolUse = z.strictObject({
  toolUse: z.strictObject({ toolUseId: id, name: z.string(), input: z.looseObject({}) }),
});
const toolResult = z.strictObject({ toolResult: z.strictObject({ toolUseId: id, content: z.array(text) }) });
const reasoningContent = z.strictObject({
  reasoningContent: z.union([
    z.strictObject({ reasoningText: z.strictObject({ text: z.string(), signature: z.string() }) }),
    z.strictObject({ redactedContent: z.base64() }),
  ]),
});
const empty = z.strictObject({});

/**
 * The fields of `Converse` that we send, from
 * https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html.
 */
const requestSchema = z.strictObject({
  system: z.array(z.union([text, cachePoint])).optional(),
  messages: z
    .array(
      z.discriminatedUnion('role', [
        z.strictObject({
          role: z.literal('user'),
          content: z.array(z.union([text, image, toolResult, cachePoint])).min(1),
        }),
        z.strictObject({
          role: z.literal('assistant'),
          content: z.array(z.union([text, toolUse, reasoningContent, cachePoint])).min(1),
        }),
      ]),
    )
    .min(1),
  inferenceConfig: z.strictObject({
    maxTokens: z.int().min(1),
    temperature: z.number().min(0).max(1).optional(),
    topP: z.number().min(0).max(1).optional(),
    stopSequences: z.array(z.string()).optional(),
  }),
  toolConfig: z
    .strictObject({
      tools: z
        .array(
          z.union([
            z.strictObject({
              toolSpec: z.strictObject({
                name: z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/),
                description: z.string().min(1).optional(),
                inputSchema: z.strictObject({ json: z.looseObject({}) }),
                strict: z.literal(true).optional(),
              }),
            }),
            cachePoint,
          ]),
        )
        .min(1),
      toolChoice: z
        .union([
          z.strictObject({ auto: empty }),
          z.strictObject({ any: empty }),
          z.strictObject({ tool: z.strictObject({ name: z.string() }) }),
        ])
        .optional(),
    })
    .optional(),
  outputConfig: z
    .strictObject({
      textFormat: z.strictObject({
        type: z.literal('json_schema'),
        structure: z.strictObject({
          jsonSchema: z.strictObject({ schema: z.string(), name: z.string(), description: z.string().optional() }),
        }),
      }),
    })
    .optional(),
  additionalModelRequestFields: z.looseObject({}).optional(),
});
type Body = z.infer<typeof requestSchema>;

function turnOf({ role, content }: Body['messages'][number]): AskedTurn {
  const turn = emptyTurn();
  for (const block of content) {
    if ('text' in block) turn.text += block.text;
    else if ('image' in block) turn.images.push(`image/${block.image.format}`);
    else if ('toolUse' in block) turn.calls.push({ name: block.toolUse.name, args: block.toolUse.input });
    else if ('toolResult' in block) turn.results.push(block.toolResult.content.map((part) => part.text).join(''));
    else if ('reasoningContent' in block) {
      const thought = block.reasoningContent;
      turn.signatures.push('reasoningText' in thought ? thought.reasoningText.signature : thought.redactedContent);
    }
  }
  return { side: role === 'user' ? 'user' : 'model', ...turn };
}

/** Checks the rules of the API that the schema cannot express. */
function checkBody({ messages, toolConfig }: Body): void {
  for (const [index, { role, content }] of messages.entries()) {
    if ((index % 2 === 0) !== (role === 'user')) throw new Error('the sides must alternate, the user first');
    const answered = content.flatMap((block) => ('toolResult' in block ? [block.toolResult.toolUseId] : []));
    const asked =
      messages[index - 1]?.content.flatMap((block) => ('toolUse' in block ? [block.toolUse.toolUseId] : [])) ?? [];
    if (JSON.stringify(answered) !== JSON.stringify(role === 'user' ? asked : []))
      throw new Error('each toolUse needs its result next');
    if (answered.length > 0 && toolConfig === undefined) throw new Error('toolConfig must be defined');
  }
}

const usageOf = ({ usage: { fresh, cached = 0, written = 0, output, reasoning = 0 } }: Says): object => ({
  inputTokens: fresh,
  outputTokens: output + reasoning,
  totalTokens: fresh + cached + written + output + reasoning,
  cacheReadInputTokens: cached,
  cacheWriteInputTokens: written,
});

const stopOf = ({ finish = 'stop', calls = [] }: Says): string => {
  if (finish === 'refusal') return 'guardrail_intervened';
  return finish === 'length' ? 'max_tokens' : calls.length > 0 ? 'tool_use' : 'end_turn';
};

function pieces({ reasoning, text: said, calls = [] }: Says): Buffer[] {
  const frames: Buffer[] = [];
  let contentBlockIndex = 0;
  const delta = (piece: object): void =>
    void frames.push(bedrockEvent('contentBlockDelta', { contentBlockIndex, delta: piece }));
  const stop = (): void => {
    frames.push(bedrockEvent('contentBlockStop', { contentBlockIndex }));
    contentBlockIndex += 1;
  };
  if (reasoning !== undefined) {
    for (const word of words(reasoning.text)) delta({ reasoningContent: { text: word } });
    delta({ reasoningContent: { signature: reasoning.signature } });
    stop();
  }
  if (said !== undefined) {
    for (const word of words(said)) delta({ text: word });
    stop();
  }
  for (const [index, { name, args }] of calls.entries()) {
    const start = { toolUse: { toolUseId: `tooluse_${index}`, name } };
    frames.push(bedrockEvent('contentBlockStart', { contentBlockIndex, start }));
    delta({ toolUse: { input: JSON.stringify(args) } });
    stop();
  }
  return frames;
}

const path = /^\/model\/([^/]+)\/(converse|converse-stream)$/;

export const bedrockDialect: Dialect = {
  adapter: 'bedrock',
  basePath: '',
  streamType: 'application/vnd.amazon.eventstream',
  modelOf: ({ path: asked }) => decodeURIComponent(path.exec(asked)?.[1] ?? ''),
  asked({ path: asked, headers, text: raw }): Asked {
    const [, encoded, method] = path.exec(asked) ?? [];
    if (encoded === undefined) throw new Error(`no such path: ${asked}`);
    const body = requestSchema.parse(JSON.parse(raw));
    checkBody(body);
    const choice = body.toolConfig?.toolChoice ?? { auto: {} };
    const schema = body.outputConfig?.textFormat.structure.jsonSchema.schema;
    return {
      model: decodeURIComponent(encoded),
      stream: method === 'converse-stream',
      key: one(headers, 'authorization')?.replace('Bearer ', ''),
      system: (body.system ?? []).flatMap((block) => ('text' in block ? [block.text] : [])).join('\n'),
      turns: body.messages.map(turnOf),
      tools: (body.toolConfig?.tools ?? []).flatMap((tool) => ('toolSpec' in tool ? [tool.toolSpec.name] : [])),
      toolChoice: 'tool' in choice ? choice.tool.name : 'any' in choice ? 'required' : 'auto',
      schema: schema === undefined ? undefined : JSON.parse(schema),
      maxTokens: body.inferenceConfig.maxTokens,
      temperature: body.inferenceConfig.temperature,
      stop: body.inferenceConfig.stopSequences ?? [],
    };
  },
  whole(says) {
    const { reasoning, text: said, calls = [] } = says;
    const content = [
      ...(reasoning === undefined ? [] : [{ reasoningContent: { reasoningText: reasoning } }]),
      ...(said === undefined ? [] : [{ text: said }]),
      ...calls.map(({ name, args }, index) => ({ toolUse: { toolUseId: `tooluse_${index}`, name, input: args } })),
    ];
    const output = { message: { role: 'assistant', content } };
    return { output, stopReason: stopOf(says), usage: usageOf(says), metrics: { latencyMs: 1 }, trace: 'LEAK' };
  },
  stream: (says) => ({
    head: [bedrockEvent('messageStart', { role: 'assistant' })],
    pieces: pieces(says),
    tail: [
      bedrockEvent('messageStop', { stopReason: stopOf(says) }),
      bedrockEvent('metadata', { usage: usageOf(says), metrics: { latencyMs: 1 } }),
    ],
  }),
  error: (_status, message) => ({ message }),
  refusal: {
    status: 400,
    body: { message: 'The model returned the following errors: Output blocked by content filtering policy LEAK' },
  },
  streamError: (message) => bedrockException('internalServerException', message),
};

/** Returns a message in the binary framing of AWS streams, as Amazon documents it (`vnd.amazon.eventstream`). */
function eventStreamMessage(headers: Readonly<Record<string, string>>, payload: unknown): Buffer {
  const body = Buffer.from(JSON.stringify(payload));
  const named = Buffer.concat(Object.entries(headers).map(([name, value]) => header(name, value)));
  const prelude = Buffer.alloc(12);
  prelude.writeUInt32BE(12 + named.length + body.length + 4, 0);
  prelude.writeUInt32BE(named.length, 4);
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8);
  const message = Buffer.concat([prelude, named, body]);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(message), 0);
  return Buffer.concat([message, checksum]);
}

function header(name: string, value: string): Buffer {
  const text = Buffer.from(value);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(text.length, 0);
  return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), Buffer.from([7]), length, text]);
}

export const bedrockEvent = (type: string, payload: object): Buffer =>
  eventStreamMessage(
    { ':event-type': type, ':content-type': 'application/json', ':message-type': 'event' },
    // Bedrock pads its events, so that their lengths do not reveal the tokens.
    { ...payload, p: 'abcdefghijk'.slice(0, 1 + (JSON.stringify(payload).length % 11)) },
  );

const bedrockException = (type: string, message: string): Buffer =>
  eventStreamMessage(
    { ':exception-type': type, ':content-type': 'application/json', ':message-type': 'exception' },
    { message },
  );

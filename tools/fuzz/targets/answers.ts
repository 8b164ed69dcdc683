import { isUtf8 } from 'node:buffer';
import { type Adapter, type AnswerReading, loadAdapter } from '@sotto/providers';
import type { AdapterName } from '@sotto/router';
import { chatChunkSchema, embeddingsRequestSchema } from '@sotto/wire';
import { BulkyJson } from '../../../packages/providers/src/bulky-json.ts';
import { message } from '../../../packages/providers/src/testing/event-stream-bytes.ts';
import { event, frame, ours, parseFrames, runStream } from '../../../packages/providers/src/testing/fixtures.ts';
import { readSlowly } from '../../../packages/providers/src/testing/slow-stream.ts';
import { recorded } from '../engine/recorded.ts';
import { bytesOf, type FuzzTarget, jsonBytes, promise } from '../engine/target.ts';

const openAi = recorded(/^own-(?!anthropic|google|bedrock|cohere)/);
const anthropic = recorded(/^own-anthropic/);
const google = recorded(/^own-google/);
const bedrock = recorded(/^own-bedrock/);
const cohere = recorded(/^own-cohere/);

const openAiWords = [
  ...['choices', 'delta', 'content', 'reasoning_content', 'reasoning', 'reasoning_details', 'refusal', 'tool_calls'],
  ...['function', 'arguments', 'finish_reason', 'stop', 'length', 'error', 'usage', 'prompt_tokens', 'index', 'role'],
  ...['completion_tokens_details', 'cached_tokens', 'obfuscation', 'content_filter', 'code', 'SottoProbe7f3a9c'],
];
const anthropicWords = [
  ...['message_start', 'content_block_start', 'content_block_delta', 'content_block_stop', 'message_delta'],
  ...['message_stop', 'input_json_delta', 'thinking_delta', 'signature_delta', 'redacted_thinking', 'tool_use'],
  ...['stop_reason', 'end_turn', 'max_tokens', 'refusal', 'overloaded_error', 'usage', 'index', 'partial_json'],
];
const googleWords = [
  ...['candidates', 'content', 'parts', 'text', 'thought', 'functionCall', 'args', 'name', 'finishReason', 'SAFETY'],
  ...['promptFeedback', 'blockReason', 'usageMetadata', 'thoughtSignature', 'MAX_TOKENS', 'embeddings', 'values'],
];
const bedrockWords = [
  ...['messageStart', 'contentBlockStart', 'contentBlockDelta', 'contentBlockStop', 'messageStop', 'metadata'],
  ...['toolUse', 'input', 'reasoningContent', 'redactedContent', 'stopReason', 'usage', 'contentBlockIndex'],
];

const framed = (payloads: readonly string[]): Buffer =>
  bytesOf(payloads.map((payload) => `data: ${payload}\n\n`).join(''));

/** Where an input is cut in two, so that every split is tried over the many. */
const cutOf = (input: Buffer): number => input.reduce((sum, byte) => (sum * 31 + byte) >>> 0, 7) % (input.length + 1);

/** What a reader makes of a stream in these pieces. */
function readStream(adapter: Adapter, pieces: readonly Buffer[], stripReasoning: boolean) {
  const reader = adapter.openChatStream({ identity: ours, stripReasoning });
  let sent = '';
  for (const piece of pieces) sent += reader.push(piece.toString('latin1'));
  sent += reader.end();
  const { failure, producedBytes, isComplete, reported, reportedAtBytes, events } = reader;
  return {
    sent,
    state: JSON.stringify({ failure, producedBytes, isComplete, reported, reportedAtBytes, events }),
    reader,
  };
}

const framesIn = (sent: string) => parseFrames(Buffer.from(sent, 'latin1').toString('utf8'));

const chunkIsOurs = (chunk: { id: string; created: number; model: string }): boolean =>
  chatChunkSchema.safeParse(chunk).success &&
  `${chunk.id} ${chunk.created} ${chunk.model}` === `${ours.id} ${ours.created} ${ours.model}`;

/**
 * What comes out are frames that the strictest client takes, under our names, with counts that are counts; and the same
 * stream in another split says the same.
 */
function sameInEverySplit(adapter: Adapter, input: Buffer): void {
  const strip = (input[0] ?? 0) % 2 === 0;
  const whole = readStream(adapter, [input], strip);
  const chunks = framesIn(whole.sent);
  for (const chunk of chunks) {
    promise(chunkIsOurs(chunk), `a chunk that is not ours: ${JSON.stringify(chunk).slice(0, 300)}`);
  }
  const { producedBytes, reportedAtBytes, events, reported } = whole.reader;
  for (const count of [producedBytes, reportedAtBytes, events, ...Object.values(reported?.usage ?? {})]) {
    promise(typeof count !== 'number' || (Number.isSafeInteger(count) && count >= 0), `a count of ${String(count)}`);
  }
  const at = cutOf(input);
  const split = readStream(adapter, [input.subarray(0, at), input.subarray(at)], strip);
  promise(whole.state === split.state, `cut at ${at} it is ${split.state}, whole ${whole.state}`);
  // The same text may be escaped in another way, where it was copied.
  if (whole.sent !== split.sent) same(framesIn(split.sent), chunks, `chunks, cut at ${at}`);
}

function wholeAnswer(reading: AnswerReading<unknown>): void {
  if (!reading.ok) return;
  JSON.stringify(reading.answer);
  promise(
    Number.isSafeInteger(reading.producedBytes) && reading.producedBytes >= 0,
    `produced ${reading.producedBytes}`,
  );
  for (const count of Object.values(reading.reported?.usage ?? {})) {
    promise(typeof count !== 'number' || (Number.isSafeInteger(count) && count >= 0), `a count of ${String(count)}`);
  }
}

const bedrockFrames = (input: Buffer): Buffer =>
  Buffer.concat(
    input
      .toString('utf8')
      .split('\n')
      .flatMap((line) => {
        const [, type = 'chunk', payload = line] = /^\{"(\w{1,40})":(.*)\}$/s.exec(line) ?? [];
        const kind = /exception$/i.test(type)
          ? { ':message-type': 'exception', ':exception-type': type }
          : { ':message-type': 'event', ':event-type': type };
        return [message(kind, payload)];
      }),
  );

/** Every reader of what providers answer. */
export async function answerTargets(): Promise<FuzzTarget[]> {
  const load = (name: AdapterName): Promise<Adapter> => loadAdapter(name);
  const adapters = {
    openai: await load('openai'),
    anthropic: await load('anthropic'),
    google: await load('google'),
    bedrock: await load('bedrock'),
    azure: await load('azure'),
    cohere: await load('cohere'),
  };
  const options = { identity: ours, stripReasoning: false };
  const words = {
    openai: openAiWords,
    azure: openAiWords,
    cohere: openAiWords,
    anthropic: anthropicWords,
    google: googleWords,
    bedrock: bedrockWords,
  };
  const whole = {
    openai: openAi.whole,
    azure: openAi.whole,
    cohere: cohere.whole,
    anthropic: anthropic.whole,
    google: google.whole,
    bedrock: bedrock.whole,
  };
  const names = Object.keys(adapters) as AdapterName[];
  return [
    {
      name: 'openai-stream',
      grammar: 'events',
      share: 10,
      words: openAiWords,
      seeds: openAi.streams.map((payloads) => framed([...payloads, '[DONE]'])),
      read: (input) => sameInEverySplit(adapters.openai, input),
    },
    {
      name: 'openai-fast-path',
      grammar: 'events',
      share: 10,
      words: openAiWords,
      seeds: [...openAi.streams.map((payloads) => framed([...payloads, '[DONE]'])), repetitive()],
      read: asTheSlowPath,
    },
    {
      name: 'anthropic-stream',
      grammar: 'events',
      share: 6,
      words: anthropicWords,
      seeds: anthropic.streams.map((payloads) =>
        bytesOf(
          payloads.map((payload) => `event: ${/"type":"(\w+)"/.exec(payload)?.[1]}\ndata: ${payload}\n\n`).join(''),
        ),
      ),
      read: (input) => sameInEverySplit(adapters.anthropic, input),
    },
    {
      name: 'google-stream',
      grammar: 'events',
      share: 6,
      words: googleWords,
      seeds: google.streams.map((payloads) => bytesOf(payloads.map((payload) => `data: ${payload}\r\n\r\n`).join(''))),
      read: (input) => sameInEverySplit(adapters.google, input),
    },
    {
      name: 'bedrock-stream',
      grammar: 'events',
      share: 6,
      words: bedrockWords,
      seeds: bedrock.streams.map((payloads) => bytesOf(payloads.join('\n'))),
      read: (input) => sameInEverySplit(adapters.bedrock, bedrockFrames(input)),
    },
    {
      name: 'bedrock-framing',
      grammar: 'bytes',
      share: 4,
      seeds: bedrock.streams.map((payloads) => bedrockFrames(bytesOf(payloads.slice(0, 4).join('\n')))),
      read: (input) => sameInEverySplit(adapters.bedrock, input),
    },
    ...names.map(
      (name): FuzzTarget => ({
        name: `${name}-answer`,
        grammar: 'json',
        share: 2,
        words: words[name],
        seeds: whole[name].length > 0 ? whole[name] : [bytesOf('{}')],
        read: (input) => {
          wholeAnswer(adapters[name].readChat(input, options));
          for (const status of [400, 429, 500]) adapters[name].classifyFailure(status, input);
        },
      }),
    ),
    ...names.map(
      (name): FuzzTarget => ({
        name: `${name}-embeddings`,
        grammar: 'json',
        share: 2,
        words: [
          'data',
          'embedding',
          'index',
          'object',
          'usage',
          'prompt_tokens',
          'embeddings',
          'values',
          'float',
          'error',
        ],
        seeds: embeddingAnswers,
        read: (input) => readEmbeddings(adapters[name], input),
      }),
    ),
    {
      name: 'openai-images',
      grammar: 'json',
      share: 2,
      words: ['data', 'b64_json', 'url', 'revised_prompt', 'error', 'output_format', 'iVBORw0KGgo', '/9j/', 'UklGR'],
      seeds: [
        jsonBytes({
          created: 1,
          data: [{ b64_json: Buffer.from('\x89PNG\r\n\x1a\n'.repeat(40), 'latin1').toString('base64') }],
          output_format: 'png',
        }),
        jsonBytes({ data: [{ url: 'https://x.example/y.png' }] }),
        jsonBytes({ error: { message: 'x', code: 'content_policy_violation' } }),
      ],
      read: (input) => {
        const reader = adapters.openai.images?.openReader();
        const at = cutOf(input);
        reader?.push(input.subarray(0, at));
        reader?.push(input.subarray(at));
        const reading = reader?.end();
        if (reading?.ok !== true) return;
        const base64 = Buffer.concat([...reading.answer.base64]).toString('latin1');
        promise(/^[A-Za-z0-9+/]*={0,2}$/.test(base64), 'an image in something else than base64');
        promise(/^[\w.+-]+\/[\w.+-]+$/.test(reading.answer.mimeType), `a type of ${reading.answer.mimeType}`);
      },
    },
    {
      name: 'bulky-json',
      grammar: 'json',
      share: 3,
      seeds: [
        jsonBytes({ a: ['x'.repeat(200), [1, 2.5, -3e4, 0.1]], b: { c: 'QUJD'.repeat(80) } }),
        jsonBytes([[0.1, 0.2], 'é"\\']),
      ],
      read: (input) => {
        const bulk: unknown[] = [];
        const reader = new BulkyJson((piece) => bulk.push(piece) - 1);
        const at = cutOf(input);
        reader.push(input.subarray(0, at));
        reader.push(input.subarray(at));
      },
    },
  ];
}

const embeddingAnswers = [
  jsonBytes({
    object: 'list',
    data: [
      { object: 'embedding', index: 0, embedding: [0.5, -0.25, 1e-9] },
      { index: 1, embedding: [1, 2, 3] },
    ],
    usage: { prompt_tokens: 4, total_tokens: 4 },
  }),
  jsonBytes({ data: [{ index: 0, embedding: Buffer.from(new Float32Array([1, 2]).buffer).toString('base64') }] }),
  jsonBytes({ embeddings: [{ values: [0.1, 0.2] }, { values: [0.3, 0.4] }] }),
  ...cohere.whole,
];

const questions = [
  embeddingsRequestSchema.parse({ model: 'a/b', input: ['one', 'two'] }),
  embeddingsRequestSchema.parse({ model: 'a/b', input: 'one', encoding_format: 'base64' }),
];

function readEmbeddings(adapter: Adapter, input: Buffer): void {
  for (const question of questions) {
    const reader = adapter.openEmbeddings(question);
    const at = cutOf(input);
    reader.push(input.subarray(0, at));
    reader.push(input.subarray(at));
    const reading = reader.end();
    if (!reading.ok) continue;
    const asked = Array.isArray(question.input) ? question.input.length : 1;
    promise(reading.answer.vectors.length === asked, 'another number of vectors than of inputs');
    for (const vector of reading.answer.vectors) {
      const written: unknown = JSON.parse(Buffer.concat([...vector]).toString('utf8'));
      const isNumbers = Array.isArray(written) && written.every((each) => typeof each === 'number');
      promise(isNumbers || typeof written === 'string', 'a vector that is none');
    }
    wholeAnswer({ ...reading, answer: null });
  }
}

/** Many events of one envelope, which is what the fast path learns from. */
function repetitive(): Buffer {
  const texts = ['a', 'é', '\\n', ' "q"', '{', '\u2028', '🦔', ''];
  return bytesOf(
    [...texts, ...texts].map((content) => frame(event({ content }))).join('') +
      frame(event({}, 'stop')) +
      frame('[DONE]'),
  );
}

/** The reader that copies by template must say what the one says that parses everything. */
function asTheSlowPath(input: Buffer): void {
  // What is no UTF-8 is copied as it came, and replaced where it is parsed.
  if (!isUtf8(input)) return;
  const stripReasoning = (input[1] ?? 0) % 2 === 0;
  const at = cutOf(input);
  const { reader, chunks } = runStream([input.subarray(0, at), input.subarray(at)], { stripReasoning });
  const slow = readSlowly(input, { stripReasoning });
  same(chunks, slow.chunks, 'chunks');
  const { failure, isComplete, isTerminated, hasOutput, reported, events } = reader;
  same(
    { failure, isComplete, isTerminated, hasOutput, reported, events },
    {
      failure: slow.failure,
      isComplete: slow.isComplete,
      isTerminated: slow.isTerminated,
      hasOutput: slow.hasOutput,
      reported: slow.reported,
      events: slow.events,
    },
    'state',
  );
  // Half a pair has no bytes of its own to be counted.
  if (/\\ud[89a-f]/i.test(input.toString('latin1'))) return;
  same([reader.producedBytes, reader.reportedAtBytes], [slow.producedBytes, slow.reportedAtBytes], 'bytes');
}

function same(found: unknown, wanted: unknown, what: string): void {
  const [a, b] = [JSON.stringify(found), JSON.stringify(wanted)];
  promise(a === b, `${what}: ${a.slice(0, 3000)}, and not ${b.slice(0, 3000)}`);
}

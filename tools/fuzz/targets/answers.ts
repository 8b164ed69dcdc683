import { isUtf8 } from 'node:buffer';
import { type Adapter, type AnswerReading, loadAdapter } from '@sotto/providers';
import {
  BulkyJson,
  event,
  frame,
  message,
  ours,
  ownRecordings,
  parseFrames,
  type RecordedApi,
  readSlowly,
  runStream,
} from '@sotto/providers/testing';
import type { AdapterName } from '@sotto/router';
import { chatChunkSchema, embeddingsRequestSchema } from '@sotto/wire';
import { bytesOf, type FuzzTarget, jsonBytes, promise } from '../engine/target.ts';

/** Our own recordings of one API: whole bodies, and streams as their payloads. */
function recorded(api: RecordedApi): { readonly whole: readonly Buffer[]; readonly streams: readonly string[][] } {
  const recordings = ownRecordings(api);
  return {
    whole: recordings.map(({ whole }) => Buffer.from(whole)),
    streams: recordings.filter(({ events }) => events.length > 0).map(({ events }) => shortened(events)),
  };
}

/** Keeps the beginning and the end. The middle is repetitive, and short inputs are read faster. */
const shortened = (payloads: readonly string[]): string[] =>
  payloads.length <= 12 ? [...payloads] : [...payloads.slice(0, 7), ...payloads.slice(-5)];

const openAi = recorded('openai');
const anthropic = recorded('anthropic');
const google = recorded('google');
const bedrock = recorded('bedrock');
const cohere = recorded('cohere');

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

/** Chooses where to cut an input in two. Over many inputs, every split is tried. */
const cutOf = (input: Buffer): number => input.reduce((sum, byte) => (sum * 31 + byte) >>> 0, 7) % (input.length + 1);

function pushInTwo(reader: { push(bytes: Buffer): unknown } | undefined, input: Buffer): void {
  const at = cutOf(input);
  reader?.push(input.subarray(0, at));
  reader?.push(input.subarray(at));
}

/** Returns the reader's result for a stream in these pieces. */
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
 * Checks that the output consists of frames that the strictest client accepts, with our names and valid counts. The
 * same stream in another split must give the same result.
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
  // Copied text may contain the same characters with other escapes.
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

/** All readers of providers' answers. */
export async function answerTargets(): Promise<FuzzTarget[]> {
  const options = { identity: ours, stripReasoning: false };
  const apis = {
    openai: { adapter: await loadAdapter('openai'), words: openAiWords, whole: openAi.whole },
    azure: { adapter: await loadAdapter('azure'), words: openAiWords, whole: openAi.whole },
    cohere: { adapter: await loadAdapter('cohere'), words: openAiWords, whole: cohere.whole },
    anthropic: { adapter: await loadAdapter('anthropic'), words: anthropicWords, whole: anthropic.whole },
    google: { adapter: await loadAdapter('google'), words: googleWords, whole: google.whole },
    bedrock: { adapter: await loadAdapter('bedrock'), words: bedrockWords, whole: bedrock.whole },
  } satisfies Record<AdapterName, unknown>;
  return [
    {
      name: 'openai-stream',
      grammar: 'events',
      share: 10,
      words: openAiWords,
      seeds: openAi.streams.map((payloads) => framed([...payloads, '[DONE]'])),
      read: (input) => sameInEverySplit(apis.openai.adapter, input),
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
      read: (input) => sameInEverySplit(apis.anthropic.adapter, input),
    },
    {
      name: 'google-stream',
      grammar: 'events',
      share: 6,
      words: googleWords,
      seeds: google.streams.map((payloads) => bytesOf(payloads.map((payload) => `data: ${payload}\r\n\r\n`).join(''))),
      read: (input) => sameInEverySplit(apis.google.adapter, input),
    },
    {
      name: 'bedrock-stream',
      grammar: 'events',
      share: 6,
      words: bedrockWords,
      seeds: bedrock.streams.map((payloads) => bytesOf(payloads.join('\n'))),
      read: (input) => sameInEverySplit(apis.bedrock.adapter, bedrockFrames(input)),
    },
    {
      name: 'bedrock-framing',
      grammar: 'bytes',
      share: 4,
      seeds: bedrock.streams.map((payloads) => bedrockFrames(bytesOf(payloads.slice(0, 4).join('\n')))),
      read: (input) => sameInEverySplit(apis.bedrock.adapter, input),
    },
    ...Object.entries(apis).map(
      ([name, { adapter, words, whole }]): FuzzTarget => ({
        name: `${name}-answer`,
        grammar: 'json',
        share: 2,
        words,
        seeds: whole.length > 0 ? whole : [bytesOf('{}')],
        read: (input) => {
          wholeAnswer(adapter.readChat(input, options));
          for (const status of [400, 429, 500]) adapter.classifyFailure(status, input);
        },
      }),
    ),
    ...Object.entries(apis).map(
      ([name, { adapter }]): FuzzTarget => ({
        name: `${name}-embeddings`,
        grammar: 'json',
        share: 2,
        words: 'data embedding index object usage prompt_tokens embeddings values float error'.split(' '),
        seeds: embeddingAnswers,
        read: (input) => readEmbeddings(adapter, input),
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
        const reader = apis.openai.adapter.images?.openReader();
        pushInTwo(reader, input);
        const reading = reader?.end();
        if (reading?.ok !== true) return;
        const base64 = Buffer.concat([...reading.answer.base64]).toString('latin1');
        promise(/^[A-Za-z0-9+/]*={0,2}$/.test(base64), 'an image that is not base64');
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
        pushInTwo(new BulkyJson((piece) => bulk.push(piece) - 1), input);
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
    pushInTwo(reader, input);
    const reading = reader.end();
    if (!reading.ok) continue;
    const asked = Array.isArray(question.input) ? question.input.length : 1;
    promise(reading.answer.vectors.length === asked, 'a number of vectors that differs from the number of inputs');
    for (const vector of reading.answer.vectors) {
      const written: unknown = JSON.parse(Buffer.concat([...vector]).toString('utf8'));
      const isNumbers = Array.isArray(written) && written.every((each) => typeof each === 'number');
      promise(isNumbers || typeof written === 'string', 'an invalid vector');
    }
    wholeAnswer({ ...reading, answer: null });
  }
}

/** Many events with the same envelope, which the fast path learns from. */
function repetitive(): Buffer {
  const texts = ['a', 'é', '\\n', ' "q"', '{', '\u2028', '🦔', ''];
  return bytesOf(
    [...texts, ...texts].map((content) => frame(event({ content }))).join('') +
      frame(event({}, 'stop')) +
      frame('[DONE]'),
  );
}

type Read = Pick<
  ReturnType<typeof readSlowly>,
  'failure' | 'isComplete' | 'isTerminated' | 'hasOutput' | 'reported' | 'events'
>;
const stateOf = ({ failure, isComplete, isTerminated, hasOutput, reported, events }: Read): object => ({
  ...{ failure, isComplete, isTerminated, hasOutput, reported, events },
});

/** The reader that copies by template must return the same as the one that parses everything. */
function asTheSlowPath(input: Buffer): void {
  // Invalid UTF-8 is copied unchanged, but the parser replaces it.
  if (!isUtf8(input)) return;
  const stripReasoning = (input[1] ?? 0) % 2 === 0;
  const at = cutOf(input);
  const { reader, chunks } = runStream([input.subarray(0, at), input.subarray(at)], { stripReasoning });
  const slow = readSlowly(input, { stripReasoning });
  same(chunks, slow.chunks, 'chunks');
  same(stateOf(reader), stateOf(slow), 'state');
  // Half of a surrogate pair has no bytes to count.
  if (/\\ud[89a-f]/i.test(input.toString('latin1'))) return;
  same([reader.producedBytes, reader.reportedAtBytes], [slow.producedBytes, slow.reportedAtBytes], 'bytes');
}

function same(found: unknown, wanted: unknown, what: string): void {
  const [a, b] = [JSON.stringify(found), JSON.stringify(wanted)];
  promise(a === b, `${what}: ${a.slice(0, 3000)}, and not ${b.slice(0, 3000)}`);
}

import {
  type AnswerChunk,
  ChatStreamReader,
  KeptAnswers,
  type Models,
  type Translation,
  translateMessages,
  translateResponses,
} from '@sotto/dialects';
import { percentile } from '../cpu.ts';

const models: Models = { resolve: (name) => name, find: () => undefined };
const tools = 500;
/** About 200,000 tokens of 4 bytes, in the results of all tools. */
const result = 'const answer = 42; // and so on\n'.repeat(50);

const messagesBody = (stream: boolean, results = tools): string =>
  JSON.stringify({
    model: 'acme/small',
    max_tokens: 1000,
    stream,
    messages: [
      { role: 'user', content: 'Fix it.' },
      ...Array.from({ length: results }, (_, i) => [
        {
          role: 'assistant',
          content: [{ type: 'tool_use', id: `call_${i}`, name: 'read', input: { path: `${i}.ts` } }],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: `call_${i}`, content: result }] },
      ]).flat(),
    ],
  });

const responsesBody = (stream: boolean, results = tools): string =>
  JSON.stringify({
    model: 'acme/small',
    stream,
    input: [
      { role: 'user', content: 'Fix it.' },
      ...Array.from({ length: results }, (_, i) => [
        { type: 'function_call', call_id: `call_${i}`, name: 'read', arguments: `{"path":"${i}.ts"}` },
        { type: 'function_call_output', call_id: `call_${i}`, output: result },
      ]).flat(),
    ],
  });

const dialects: readonly [string, (stream: boolean, results?: number) => string, (body: string) => Translation][] = [
  ['Messages', messagesBody, (body) => translateMessages(JSON.parse(body), models)],
  [
    'Responses',
    responsesBody,
    (body) => translateResponses(JSON.parse(body), models, { isCodex: true, kept: new KeptAnswers() }),
  ],
];

/** Milliseconds of CPU that a call takes, so that a busy machine does not count. */
function cpuMs(run: () => unknown): number {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** Prints what the translation itself costs: of a long conversation, and of each chunk of an answer. */
export function measureTranslation(rounds: number): void {
  for (const [name, bodyOf, translate] of dialects) {
    const body = bodyOf(false);
    const taken = Array.from({ length: rounds }, () => cpuMs(() => JSON.stringify(translate(body).body)));
    console.log(
      `${name}: a conversation of ${(body.length / 4e3).toFixed(0)},000 tokens with ${tools} tool results: ` +
        `p50 ${percentile(taken, 50).toFixed(1)} ms of CPU, p99 ${percentile(taken, 99).toFixed(1)} ms`,
    );
    const { stream } = translate(bodyOf(true, 1));
    console.log(`${name}: each chunk: ${microsecondsPerChunk(stream).toFixed(1)} µs of CPU, its parsing included`);
  }
}

const chunks = 20_000;

function microsecondsPerChunk(stream: Translation['stream']): number {
  const event = {
    id: 'chatcmpl-1',
    created: 1,
    model: 'acme/small',
    choices: [{ index: 0, delta: { content: ' word' }, finish_reason: null }],
  };
  const bytes = Buffer.from(`data: ${JSON.stringify(event)}\n\n`);
  const run = (): void => {
    const writer = stream();
    let size = 0;
    const reader = new ChatStreamReader({
      chunk(chunk: AnswerChunk) {
        size += writer.chunk(chunk).length;
      },
    });
    for (let i = 0; i < chunks; i += 1) reader.push(bytes);
    if (size === 0) throw new Error('the writer wrote nothing');
  };
  run();
  return (cpuMs(run) * 1000) / chunks;
}

import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * The benchmark's provider, which does as little work as possible. The model's name selects the answer: `json`,
 * `vectors-N` (N vectors), `single-N` (N events, one per write), `burst-N` (N events, twenty per write), `hold` (one
 * event, then silence), `fail` (500).
 */
const event = (content: string): string =>
  `data: {"id":"chatcmpl-provider","object":"chat.completion.chunk","created":1700000000,"model":"bench-model","system_fingerprint":"fp_bench","choices":[{"index":0,"delta":{"content":"${content}"},"logprobs":null,"finish_reason":null}]}\n\n`;
const first =
  'data: {"id":"chatcmpl-provider","object":"chat.completion.chunk","created":1700000000,"model":"bench-model","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}\n\n';
const last =
  'data: {"id":"chatcmpl-provider","object":"chat.completion.chunk","created":1700000000,"model":"bench-model","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n' +
  'data: {"id":"chatcmpl-provider","object":"chat.completion.chunk","created":1700000000,"model":"bench-model","choices":[],"usage":{"prompt_tokens":40,"completion_tokens":200,"total_tokens":240}}\n\n' +
  'data: [DONE]\n\n';
const words = [' the', ' quick', ' brown', ' fox', ' jumps', ' over', ' a', ' lazy', ' dog', '.'];
const wholeAnswer = Buffer.from(
  JSON.stringify({
    id: 'chatcmpl-provider',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'bench-model',
    choices: [{ index: 0, message: { role: 'assistant', content: words.join('').repeat(8) }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 40, completion_tokens: 80, total_tokens: 120 },
  }),
);

const known = new Map<number, Buffer>();

/** N vectors of 256 numbers. */
function vectorsOf(count: number): Buffer {
  const embedding = Array.from({ length: 256 }, (_, at) => Math.sin(at));
  const data = Array.from({ length: count }, (_, index) => ({ object: 'embedding', index, embedding }));
  const usage = { prompt_tokens: 4 * count, total_tokens: 4 * count };
  const body = known.get(count) ?? Buffer.from(JSON.stringify({ object: 'list', model: 'bench-model', data, usage }));
  known.set(count, body);
  return body;
}

const isStreamed = /^(?:single|burst|hold)/;

const server = createServer((request, response) => {
  const pieces: Buffer[] = [];
  request.on('data', (piece: Buffer) => pieces.push(piece));
  request.on('end', () => {
    const body = Buffer.concat(pieces);
    const model = modelOf(body);
    // A contender that chooses the model may request a whole answer from any model.
    answer(isStreamed.test(model) && !body.includes('"stream":true') ? 'json' : model, response);
  });
});

/** Reads the model's name without parsing the body. */
function modelOf(body: Buffer): string {
  const at = body.indexOf('"model":"');
  return at === -1 ? 'json' : body.toString('latin1', at + 9, body.indexOf('"', at + 9));
}

function answer(model: string, response: ServerResponse): void {
  const [kind, count] = model.split('-');
  if (kind === 'json') {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': wholeAnswer.length });
    response.end(wholeAnswer);
    return;
  }
  if (kind === 'fail') {
    response.writeHead(500, { 'content-type': 'application/json' });
    response.end('{"error":{"message":"no"}}');
    return;
  }
  if (kind === 'vectors') {
    const body = vectorsOf(Number(count));
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
    response.end(body);
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(first);
  if (kind === 'hold') {
    response.write(event(' held'));
    return;
  }
  const perWrite = kind === 'burst' ? 20 : 1;
  let left = Number(count);
  const next = (): void => {
    if (response.destroyed) return;
    let piece = '';
    for (let i = 0; i < perWrite && left > 0; i += 1, left -= 1) piece += event(words[left % words.length] ?? '');
    response.write(piece);
    if (left > 0) setImmediate(next);
    else response.end(last);
  };
  setImmediate(next);
}

server.keepAliveTimeout = 120_000;
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));

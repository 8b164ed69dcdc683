import { operationPaths } from '@sotto/wire';
import { beforeEach, describe, expect, it } from 'vitest';
import { maxAnswerBytes } from '../bounded-body.ts';
import type { ContentAnswer } from '../gateway/platform.ts';
import type { Exchange } from '../private/private-exchange.ts';
import { proveToolCalls } from '../proof/prove-tool-calls.ts';
import { redactChats } from '../redaction/redact-exchange.ts';
import { rewritten } from './rewritten-answer.ts';
import { RunMeter } from './run-meter.ts';
import { makeDialects } from './serve-dialects.ts';

const model = 'acme/small';
const pieceBytes = 1024 * 1024;
/** White space: JSON may begin with it, and an event may be as long. */
const spaces = new Uint8Array(pieceBytes).fill(32);
/** An event after a long comment, which is quick to read. */
const eventWith = (delta: object): Uint8Array =>
  Buffer.from(`:${'x'.repeat(pieceBytes)}\n\ndata: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`);
const text = eventWith({ content: 'x' });
const toolCall = eventWith({ tool_calls: [{ index: 0, function: { arguments: 'x' } }] });

/** A service whose answers do not end. Reading on beyond the bound fails. */
class Endless implements Exchange {
  stopped = 0;
  readonly #type: string;
  readonly #status: number;
  readonly #piece: Uint8Array;

  constructor(type: string, piece: Uint8Array, status = 200) {
    this.#type = type;
    this.#status = status;
    this.#piece = piece;
  }

  async ask({ path }: { readonly path: string }): Promise<ContentAnswer> {
    if (path === '/v1/models') return rewritten({ status: 503, headers: [] }, this.#pieces(0));
    return rewritten({ status: this.#status, headers: [['content-type', this.#type]] }, this.#pieces());
  }

  async *#pieces(most = maxAnswerBytes / pieceBytes + 2): AsyncGenerator<Uint8Array> {
    try {
      for (let at = 0; at < most; at += 1) yield this.#piece;
      if (most > 0) throw new Error('it was read beyond the bound');
    } finally {
      this.stopped += 1;
    }
  }
}

const json = 'application/json';
const stream = 'text/event-stream';
const { signal } = new AbortController();
const asked = (path: string, body: object) => ({
  ...{ method: 'POST', path, header: () => undefined, signal },
  body: JSON.stringify({ model, max_tokens: 10, ...body }),
});

/** The end of an answer, with its status. */
async function endOf({ status, body }: ContentAnswer): Promise<string> {
  let end = '';
  for await (const piece of body) end = (end + Buffer.from(piece.subarray(-4096)).toString()).slice(-4096);
  return `${status} ${end}`;
}

describe('an answer without an end', () => {
  let notes: string[];
  beforeEach(() => {
    notes = [];
  });
  const dialects = (exchange: Exchange) =>
    makeDialects({ exchange, models: { rules: [], fallback: undefined }, onNote: (text) => notes.push(text) });

  const messages = [{ role: 'user', content: 'Hello' }];
  const contents = [{ role: 'user', parts: [{ text: 'Hello' }] }];
  const inGemini = `/v1beta/models/${model}`;
  it.each<[string, string, object, RegExp]>([
    ['Messages', '/v1/messages', { messages }, /^424 {"type":"error","error":{.*"message":"answer_too_large: /],
    ['Responses', '/v1/responses', { input: 'Hello' }, /^424 {"error":{"type":"answer_too_large",.*128 MiB/],
    ['a compaction', '/v1/responses/compact', { input: 'Hello' }, /^424 {"error":{"type":"answer_too_large",/],
    ['Gemini', `${inGemini}:generateContent`, { contents }, /^424 {"error":{"code":424,"message":"answer_too_large: /],
  ])('is given up in %s, whole or refused, with a reason in its words', async (_, path, body, expected) => {
    for (const status of [200, 500]) {
      const service = new Endless(json, spaces, status);
      expect(await endOf(await dialects(service)(asked(path, body)))).toMatch(expected);
    }
  });

  it.each<[string, string, object, RegExp]>([
    [
      'Messages',
      '/v1/messages',
      { messages, stream: true },
      /event: error\ndata: {.*"answer_too_large: The answer is /,
    ],
    ['Responses', '/v1/responses', { input: 'Hello', stream: true }, /event: response.failed\ndata: {.*128 MiB/],
    ['Gemini', `${inGemini}:streamGenerateContent?alt=sse`, { contents }, /{"error":{.*"answer_too_large: /],
  ])('is given up in a stream of %s, with a reason in its words', async (_, path, body, expected) => {
    expect(await endOf(await dialects(new Endless(stream, text))(asked(path, body)))).toMatch(expected);
  });

  const redacted = (exchange: Exchange): Exchange =>
    redactChats(exchange, { known: [{ kind: 'WORD', value: 'Hello' }], note: () => undefined });
  const proven = (exchange: Exchange): Exchange =>
    proveToolCalls(exchange, {
      session: {
        verified: async () => ({}) as never,
        send: () => expect.unreachable('an answer that never ended has no receipt'),
      },
    });
  it.each<[string, (exchange: Exchange) => Exchange, Uint8Array]>([
    ['redaction', redacted, spaces],
    ['the proof of tool calls', proven, toolCall],
  ])('is given up by %s with an error in its place', async (_, around, piece) => {
    const ask = async (service: Exchange, isStream: boolean): Promise<string> =>
      endOf(await around(service).ask(asked(operationPaths.chat, { messages, stream: isStream })));
    expect(await ask(new Endless(json, spaces), false)).toMatch(/^424 {"error":{.*"type":"answer_too_large"/);
    expect(await ask(new Endless(stream, piece), true)).toMatch(/data: {"error":{.*"type":"answer_too_large".*\n\n$/);
  });

  it('is not held by the meter, which counts it as of unknown cost', async () => {
    const service = new Endless(json, spaces);
    const meter = new RunMeter(service);
    await expect(endOf(await meter.ask(asked(operationPaths.chat, { messages })))).rejects.toThrow('beyond the bound');
    expect(meter.totals).toMatchObject({ requests: 1, unstated: 1, cost: 0n });
  });

  it('tells the service to stop', async () => {
    const service = new Endless(json, spaces);
    await endOf(await dialects(service)(asked('/v1/messages', { messages })));
    // One is the list of models.
    expect(service.stopped).toBe(2);
  });
});

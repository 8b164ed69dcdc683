import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runSotto, type SottoRun } from '../../kit/run-sotto.ts';
import { apiKey, CommandStage, model } from './stages.ts';
import { echo, json, refusal } from './stand-in.ts';

const stage = new CommandStage();
const token = 'sotto_local_token-of-the-test';

type Event = { readonly type: string; readonly response?: { readonly id: string }; readonly [field: string]: unknown };

/** A socket to the proxy, as Codex opens one. */
class Socket {
  readonly events: Event[] = [];
  readonly #socket: WebSocket;
  readonly #opened: Promise<unknown>;
  readonly closed: Promise<number>;
  #heard = (): void => undefined;

  constructor(address: string, headers: Record<string, string> = { authorization: `Bearer ${token}` }) {
    // Node's WebSocket takes headers, other than browsers'.
    this.#socket = new WebSocket(address, { headers } as unknown as string[]);
    this.#opened = new Promise((resolve) => this.#socket.addEventListener('open', resolve, { once: true }));
    this.closed = new Promise((resolve) =>
      this.#socket.addEventListener('close', ({ code }) => resolve(code), { once: true }),
    );
    this.#socket.addEventListener('error', () => undefined);
    this.#socket.addEventListener('message', ({ data }) => {
      this.events.push(JSON.parse(String(data)) as Event);
      this.#heard();
    });
  }

  async send(message: unknown): Promise<void> {
    await this.#opened;
    this.#socket.send(typeof message === 'string' ? message : JSON.stringify(message));
  }

  /** Asks for a response, and resolves to its last event. */
  async ask(more: object): Promise<Event> {
    this.events.splice(0);
    await this.send({ type: 'response.create', model, store: false, ...more });
    return this.last();
  }

  /** Resolves to the event that ends a response. */
  async last(): Promise<Event> {
    for (;;) {
      const event = this.events.find(({ type }) => /^(error|response\.(completed|failed|incomplete))$/.test(type));
      if (event !== undefined) return event;
      await new Promise<void>((resolve) => {
        this.#heard = resolve;
      });
    }
  }

  close(): void {
    this.#socket.close();
  }
}

describe('the Responses API over a WebSocket', () => {
  let proxy: SottoRun;
  let address: string;
  beforeAll(async () => {
    stage.service.onControl((_, response) =>
      json(response, 200, {
        ...{
          object: 'list',
          data: [{ id: model, object: 'model', model_type: 'text', name: model }],
          ticket: 'ticket',
        },
        expires_at: new Date(Date.now() + 300_000).toISOString(),
      }),
    );
    const environment = { INFERENCE_KEY: apiKey, SOTTO_LOCAL_TOKEN: token };
    proxy = runSotto(['proxy', '--port', '0', ...stage.atService()], environment);
    const [, origin = ''] = await proxy.outMatches(/^http:\/\/(127\.0\.0\.1:\d+\/v1)\n/);
    address = `ws://${origin}/responses`;
    stage.service.onBroker(echo);
  });
  afterAll(async () => {
    proxy.child.kill('SIGKILL');
    await proxy.ended;
  });
  const sent = () => stage.service.broker.map(({ text }) => JSON.parse(text) as { messages: unknown });
  const user = (content: string) => ({ type: 'message', role: 'user', content });

  it('answers one message after the other, and remembers what came before', async () => {
    const socket = new Socket(address);
    // Codex begins with a request that only prepares the conversation. It costs nothing.
    const prepared = await socket.ask({ generate: false, input: [user('CONTENT-MARKER')] });
    expect(prepared).toMatchObject({ type: 'response.completed', response: { output: [] } });
    expect(sent()).toEqual([]);
    const first = await socket.ask({ previous_response_id: prepared.response?.id, input: [user('One.')] });
    expect(first).toMatchObject({ response: { output: [{ content: [{ text: 'You said: One.' }] }] } });
    expect(socket.events.map(({ type }) => type)).toContain('response.output_text.delta');
    await socket.ask({ previous_response_id: first.response?.id, input: [user('Two.')] });
    expect(sent().at(-1)?.messages).toEqual([
      { role: 'user', content: 'CONTENT-MARKER' },
      { role: 'user', content: 'One.' },
      { role: 'assistant', content: 'You said: One.' },
      { role: 'user', content: 'Two.' },
    ]);
    socket.close();
    expect(JSON.stringify(stage.service.control)).not.toContain('CONTENT-MARKER');
    expect(JSON.stringify(stage.service.broker)).not.toContain(apiKey);
    expect(JSON.stringify([...stage.service.control, ...stage.service.broker])).not.toContain(token);
  });

  it('answers messages that arrive at once in their order', async () => {
    const socket = new Socket(address);
    for (const text of ['One.', 'Two.']) await socket.send({ type: 'response.create', model, input: text });
    await socket.last();
    await expect.poll(() => socket.events.filter(({ type }) => type === 'response.completed')).toHaveLength(2);
    expect(sent().map(({ messages }) => messages)).toEqual([
      [{ role: 'user', content: 'One.' }],
      [{ role: 'user', content: 'Two.' }],
    ]);
    socket.close();
  });

  it('reports refusals as an event with their status, and stays open', async () => {
    const socket = new Socket(address);
    stage.service.onBroker((_, response) => json(response.setHeader('retry-after', '7'), 429, refusal('rate_limited')));
    expect(await socket.ask({ input: 'hi' })).toMatchObject({
      ...{ type: 'error', status: 429, headers: { 'retry-after': '7' } },
      error: { code: 'rate_limit_exceeded' },
    });
    stage.service.onBroker(echo);
    const unknown = await socket.ask({ input: 'hi', previous_response_id: 'resp_of_yesterday' });
    expect(unknown).toMatchObject({ type: 'error', status: 400, error: { code: 'previous_response_not_found' } });
    for (const message of ['{', { type: 'response.cancel' }, { type: 'response.create', stream_id: 's' }]) {
      socket.events.splice(0);
      await socket.send(message);
      expect(await socket.last()).toMatchObject({
        status: 400,
        error: { message: expect.stringMatching(/response\.create/) },
      });
    }
    expect(await socket.ask({ input: 'hi' })).toMatchObject({ type: 'response.completed' });
    socket.close();
  });

  it('tells the service when the tool leaves', async () => {
    const socket = new Socket(address);
    const left = new Promise<void>((resolve) => {
      stage.service.onBroker((_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
        response.once('close', resolve);
        socket.close();
      });
    });
    await socket.send({ type: 'response.create', model, input: 'on and on' });
    await left;
    stage.service.onBroker(echo);
  });

  it.each<[string, Record<string, string>, string]>([
    ['a program without the token', {}, ''],
    ['a web page, also with the token', { authorization: `Bearer ${token}`, origin: 'https://evil.example' }, ''],
    ['another path', { authorization: `Bearer ${token}` }, '/others'],
  ])('refuses %s', async (_, headers, path) => {
    const socket = new Socket(address + path, headers);
    expect(await socket.closed).not.toBe(1000);
    expect(socket.events).toEqual([]);
  });

  it('ends its sockets when the proxy ends', async () => {
    const socket = new Socket(address);
    await socket.ask({ input: 'hi' });
    proxy.child.kill('SIGINT');
    expect(await socket.closed).toBe(1001);
    expect(await proxy.ended).toBe(0);
  });
});

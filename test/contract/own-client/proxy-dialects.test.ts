import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runSotto, type SottoRun } from '../../kit/run-sotto.ts';
import { apiKey, CommandStage, messages, model } from './stages.ts';
import { echo, json, refusal, type Seen } from './stand-in.ts';

const stage = new CommandStage();
const claudeCode = { 'user-agent': 'claude-cli/2.1.328 (external, cli)', 'anthropic-version': '2023-06-01' };
const geminiCli = { 'user-agent': 'GeminiCLI/0.61.0/acme/small (linux; x64; terminal)' };
const codex = { 'user-agent': 'codex_exec/0.169.0', originator: 'codex_exec' };

const chunk = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'chatcmpl-1', created: 1, model, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const entry = (id: string, more: object = {}): object => ({
  id,
  object: 'model',
  model_type: 'text',
  name: id,
  ...more,
});

describe('the dialects of sotto proxy', () => {
  let proxy: SottoRun;
  let baseUrl: string;
  beforeAll(async () => {
    stage.service.onControl((_, response) =>
      json(response, 200, {
        object: 'list',
        data: [entry(model, { max_output_tokens: 500 }), entry('acme/embed', { model_type: 'embedding' })],
        ticket: 'ticket',
        expires_at: new Date(Date.now() + 300_000).toISOString(),
      }),
    );
    const naming = ['--map', `claude-*=${model}`, '--model', 'acme/fallback'];
    proxy = runSotto(['proxy', '--port', '0', '--open', ...naming, ...stage.atService()], { INFERENCE_KEY: apiKey });
    [, baseUrl = ''] = await proxy.outMatches(/^(http:\/\/127\.0\.0\.1:\d+\/v1)\n/);
    stage.service.onBroker(echo);
    // The proxy reads the list once and keeps it.
    await post('/messages', { messages });
  });
  afterAll(async () => {
    proxy.child.kill('SIGKILL');
    await proxy.ended;
  });

  const post = (path: string, body: object, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${baseUrl}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model, max_tokens: 100, ...body }),
    });
  const google = (method: string, body: object, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${baseUrl.replace(/\/v1$/, '')}/v1beta/models/${model}:${method}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  const contents = [{ role: 'user', parts: [{ text: 'CONTENT-MARKER' }] }];
  const chat = ({ text }: Seen = { path: '', headers: {}, text: '{}' }) => JSON.parse(text) as Record<string, unknown>;

  it('translates into the private flow: the key reaches control alone, the content the broker alone', async () => {
    const answer = await post(
      '/messages?beta=true',
      { messages },
      { ...claudeCode, 'x-api-key': 'sk-ant-of-the-tool' },
    );
    expect(await answer.json()).toMatchObject({ type: 'message', content: [{ text: 'You said: CONTENT-MARKER' }] });
    const { control, broker } = stage.service;
    expect(JSON.stringify(control)).not.toContain('CONTENT-MARKER');
    expect(JSON.stringify(broker)).not.toContain(apiKey);
    expect(JSON.stringify([...control, ...broker])).not.toMatch(/sk-ant-of-the-tool|claude-cli/);
    expect(broker.map(({ path }) => path)).toEqual(['/v1/chat/completions']);
  });

  it('asks for the model that a name stands for, and for no more than it can give', async () => {
    await post('/messages', { model: 'claude-opus-4-6', messages, max_tokens: 32_000 });
    await post('/responses', { model: 'gpt-5', input: 'hi' });
    await post('/chat/completions', { model: 'gpt-5', messages });
    expect(stage.service.broker.map(chat)).toMatchObject([
      { model, max_tokens: 500 },
      { model: 'acme/fallback' },
      { model: 'acme/fallback', messages },
    ]);
  });

  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
  ])('reads a body that a tool compressed with %s', async (encoding, compress) => {
    const body = compress(Buffer.from(JSON.stringify({ model, max_tokens: 100, messages })));
    const headers = { 'content-type': 'application/json', 'content-encoding': encoding };
    const answer = await fetch(`${baseUrl}/messages`, { method: 'POST', headers, body });
    expect(await answer.json()).toMatchObject({ content: [{ text: 'You said: CONTENT-MARKER' }] });
  });

  it.each([
    ['snappy', 415, /compressed with `snappy`.*gzip, deflate, br/],
    ['gzip', 400, /not valid gzip data/],
  ])('says what is wrong with a body that is not the %s that it claims', async (encoding, status, says) => {
    const answer = await post('/messages', { messages }, { 'content-encoding': encoding });
    expect(answer.status).toBe(status);
    expect(await answer.text()).toMatch(says);
  });

  it('passes on each piece of a stream as it arrives, and keeps the connection alive', async () => {
    let next = (): void => undefined;
    stage.service.onBroker((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const steps = [
        chunk({ content: 'first' }),
        ': waiting\n\n',
        chunk({ content: 'second' }, 'stop'),
        'data: [DONE]\n\n',
      ];
      next = () => {
        const step = steps.shift();
        if (step === undefined) response.end();
        else response.write(step);
      };
      next();
    });
    const { body } = await post('/messages', { messages, stream: true });
    const pieces: string[] = [];
    for await (const piece of body ?? []) {
      // The service sends the next piece only after this one has arrived here.
      pieces.push(Buffer.from(piece).toString());
      next();
    }
    expect(pieces.map((piece) => [...piece.matchAll(/^event: (\w+)/gm)].map(([, name]) => name))).toEqual([
      ['message_start', 'content_block_start', 'content_block_delta'],
      ['ping'],
      ['content_block_delta', 'content_block_stop'],
      ['message_delta', 'message_stop'],
    ]);
  });

  it('tells the service when a tool leaves', async () => {
    const closed = new Promise<void>((resolve) => {
      stage.service.onBroker((_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(chunk({ content: 'on and on' }));
        response.once('close', resolve);
      });
    });
    const leaving = new AbortController();
    const answer = await fetch(`${baseUrl}/responses`, {
      method: 'POST',
      body: JSON.stringify({ model, input: 'hi', stream: true }),
      signal: leaving.signal,
    });
    for await (const _ of answer.body ?? []) break;
    leaving.abort();
    await closed;
  });

  it('does not buy a second answer for Claude Code, which asks again for a whole one after a stream broke off', async () => {
    stage.service.onBroker((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(chunk({ content: 'cut' }), () => response.destroy());
    });
    const ask = (more: object, headers: Record<string, string> = claudeCode) =>
      post('/messages', { messages: [{ role: 'user', content: 'cut short' }], ...more }, headers);
    expect(await (await ask({ stream: true })).text()).toMatch(/event: error\ndata: .*answer_lost/);
    stage.service.onBroker(echo);
    const again = await ask({ max_tokens: 64 });
    expect([again.status, again.headers.get('x-should-retry'), await again.json()]).toMatchObject([
      424,
      'false',
      { error: { code: 'retry_refused' } },
    ]);
    expect(stage.service.broker).toHaveLength(1);
    // Another question is another conversation, and a person may repeat a question with a program that does not retry.
    expect((await ask({ messages })).status).toBe(200);
    expect((await ask({}, {})).status).toBe(200);
  });

  it('ends a stream that broke off so that Codex does not run the turn again', async () => {
    stage.service.onBroker((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(chunk({ content: 'cut' }), () => response.destroy());
    });
    const text = await (await post('/responses', { input: 'cut short by Codex', stream: true }, codex)).text();
    expect(text).toMatch(/event: response\.failed\ndata: .*"code":"invalid_prompt","message":"answer_lost: /);
  });

  it.each([
    ['/messages', { messages }, { type: 'error', error: { type: 'api_error', code: 'answer_lost' } }],
    ['/responses', { input: 'hi' }, { error: { code: 'answer_lost' } }],
  ])(
    'reports an answer that was lost in the shape of %s, with a status that no program retries',
    async (path, body, error) => {
      stage.service.onBroker((_, response) => response.destroy());
      const answer = await post(path, body);
      expect([answer.status, answer.headers.get('x-should-retry')]).toEqual([424, 'false']);
      expect(await answer.json()).toMatchObject(error);
      stage.service.onBroker((_, response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
        response.write('{"id":', () => response.destroy());
      });
      expect(await (await post(path, body)).json()).toMatchObject(error);
    },
  );

  it('tells Codex by a stream what it must not repeat', async () => {
    stage.service.onBroker((_, response) => json(response, 402, refusal('insufficient_balance')));
    const answer = await post('/responses', { input: 'dear', stream: true }, codex);
    expect(answer.status).toBe(200);
    expect(await answer.text()).toMatch(/event: response\.failed\n.*insufficient_quota/);
    expect((await post('/responses', { input: 'dear', stream: true })).status).toBe(402);
  });

  it('serves Google’s API: an answer, both forms of a stream, counts, and its own refusals', async () => {
    const said = { candidates: [{ content: { parts: [{ text: 'You said: CONTENT-MARKER' }] } }] };
    expect(await (await google('generateContent', { contents })).json()).toMatchObject(said);
    expect(chat(stage.service.broker.at(-1))).toMatchObject({ model, messages });
    stage.service.onBroker((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`${chunk({ content: 'Hi.' }, 'stop')}data: [DONE]\n\n`);
    });
    const events = await google('streamGenerateContent?alt=sse', { contents });
    expect(events.headers.get('content-type')).toBe('text/event-stream');
    expect(await events.text()).toMatch(
      /^data: \{"candidates":\[\{"content":\{"role":"model","parts":\[\{"text":"Hi\."\}/,
    );
    const list = await google('streamGenerateContent', { contents });
    expect(list.headers.get('content-type')).toBe('application/json');
    expect(await list.json()).toMatchObject([{}, { candidates: [{ finishReason: 'STOP' }] }]);
    stage.service.onBroker(echo);
    expect(await (await google('countTokens', { contents })).json()).toEqual({ totalTokens: 8 });
    for (const [method, body, status] of [
      ['embedContent', { content: {} }, 404],
      ['generateContent', { contents: [] }, 400],
    ] as const) {
      const answer = await google(method, body);
      expect([answer.status, await answer.json()]).toMatchObject([status, { error: { code: status } }]);
    }
  });

  it('does not buy a second answer for Gemini CLI, which asks again after a stream broke off', async () => {
    stage.service.onBroker((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(chunk({ content: 'cut' }), () => response.destroy());
    });
    const cut = { contents: [{ parts: [{ text: 'cut short by Gemini' }] }] };
    expect(await (await google('streamGenerateContent?alt=sse', cut, geminiCli)).text()).toContain('answer_lost: ');
    stage.service.onBroker(echo);
    const again = await google('streamGenerateContent?alt=sse', cut, geminiCli);
    expect([again.status, await again.json()]).toMatchObject([
      424,
      { error: { code: 424, message: expect.stringMatching(/^retry_refused: /) } },
    ]);
    expect(stage.service.broker).toHaveLength(1);
  });

  it('says that the model called a tool with no object, where a dialect has no other arguments', async () => {
    stage.service.onBroker((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const call = { index: 0, id: 'c', function: { name: 'read', arguments: '[' } };
      response.end(`${chunk({ tool_calls: [call] }, 'tool_calls')}data: [DONE]\n\n`);
    });
    const text = await (await google('streamGenerateContent?alt=sse', { contents })).text();
    expect(text).toContain('The model called `read` with arguments that are no JSON object.');
  });

  it('reports its own refusals in the shape of the dialect', async () => {
    const url = `${baseUrl}/messages`;
    const broken = await fetch(url, { method: 'POST', body: '{' });
    const page = await fetch(url, { method: 'POST', headers: { origin: 'https://evil.example' }, body: '{}' });
    expect([broken.status, await broken.json()]).toMatchObject([
      400,
      { type: 'error', error: { type: 'invalid_request_error' } },
    ]);
    expect([page.status, await page.json()]).toMatchObject([
      403,
      { type: 'error', error: { type: 'permission_error' } },
    ]);
    expect(stage.service.broker).toEqual([]);
  });

  it('lists the models for each kind of tool', async () => {
    const list = async (path: string, headers: Record<string, string> = {}) =>
      (await fetch(`${baseUrl}${path}`, { headers })).json() as Promise<{ data: { id: string }[]; models?: unknown }>;
    const ids = ({ data }: { data: { id: string }[] }): string[] => data.map(({ id }) => id);
    const discovered = await list('/models?limit=1000', { ...claudeCode, 'user-agent': 'claude-code/2.1.328' });
    expect(ids(discovered)).toEqual([`anthropic/${model}`]);
    await post('/messages', { model: `anthropic/${model}`, messages });
    expect(chat(stage.service.broker.at(-1)).model).toBe(model);
    // Codex requires `models` beside `data`. An entry there would replace its own instructions.
    expect(await list('/models?client_version=0.169.0', codex)).toMatchObject({ data: [{ id: model }], models: [] });
    const googles = async (path: string) => (await fetch(`${baseUrl}beta${path}`)).json();
    const described = { name: `models/${model}`, outputTokenLimit: 500 };
    expect(await googles('/models?pageSize=50')).toMatchObject({ models: [described] });
    expect(await googles(`/models/${model}`)).toMatchObject(described);
    expect(await googles('/files')).toMatchObject({ error: { code: 404, status: 'NOT_FOUND' } });
    const plain = await list('/models');
    expect(ids(plain)).toEqual([model]);
    expect(plain.models).toBeUndefined();
  });

  it('notes what it leaves out, once and without content', async () => {
    const tools = [
      { type: 'web_search_20250305', name: 'web_search' },
      { name: 'read', input_schema: { type: 'object' } },
    ];
    for (const _ of [1, 2]) await post('/messages', { messages, tools });
    expect(proxy.err().match(/Left out .*/g)).toEqual(['Left out tools that only Anthropic can run: web_search.']);
    expect(proxy.err()).not.toContain('CONTENT-MARKER');
  });
});

it('a rule of another form ends the command before it starts', async () => {
  const run = runSotto(['proxy', '--map', 'claude', ...stage.atService()], { INFERENCE_KEY: apiKey });
  expect(await run.ended).toBe(2);
  expect(run.err()).toMatch(/--map must be of the form NAME=creator\/model; got "claude"/);
});

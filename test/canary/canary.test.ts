import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  ask,
  bearer,
  type Called,
  type CallOptions,
  type Credential,
  call,
  errorOf,
  type Flow,
  mint,
} from '../kit/call.ts';
import { startTestPostgres, type TestPostgres } from '../kit/postgres.ts';
import { type FakeProvider, type ProviderHandler, startProvider } from '../kit/provider.ts';
import { redisSkipReason, startTestRedis, type TestRedis } from '../kit/redis.ts';
import { type Service, startService, type TestAccount, until } from '../kit/service.ts';
import { noteSkip } from '../kit/skips.ts';
import { usageRows, withRedis } from '../money/world.ts';
import {
  disguises,
  found,
  hashes,
  listenToRedis,
  type RedisEar,
  readSinks,
  type SinkName,
  type Sinks,
} from './sinks.ts';

/** Letters that no JSON, URL or log line changes, and that stand nowhere by chance. */
const marker = (name: string): string => `canary${name}${randomBytes(9).toString('hex')}`;

const contentNames = [
  'Prompt',
  'System',
  'Developer',
  'PastAnswer',
  'PastToolArguments',
  'ToolResult',
  'ToolDescription',
  'ToolSchema',
  'Schema',
  'Stop',
  'User',
  'Name',
  'Image',
  'Parameter',
  'UnknownField',
  'Embedding',
  'Picture',
  'Speech',
  'Malformed',
  'QueryString',
  'UserAgent',
  'Header',
  'Path',
  'Model',
] as const;
const providerNames = [
  'Answer',
  'Painted',
  'Spoken',
  'Reasoning',
  'ToolArguments',
  'Refusal',
  'ErrorMessage',
  'ErrorCode',
  'ErrorParam',
  'ErrorText',
  'MidStream',
  'ProviderId',
  'ProviderHeader',
] as const;

const content = Object.fromEntries(contentNames.map((name) => [name, marker(name)])) as Record<
  (typeof contentNames)[number],
  string
>;
const said = Object.fromEntries(providerNames.map((name) => [name, marker(name)])) as Record<
  (typeof providerNames)[number],
  string
>;
const email = `${marker('Email').toLowerCase()}@example.test`;

let redis: TestRedis | undefined;
let postgres: TestPostgres;
let provider: FakeProvider;
let second: FakeProvider;
let service: Service;
let account: TestAccount;
let pauper: TestAccount;
let limited: TestAccount;
let ear: RedisEar;
const tickets: string[] = [];
const answers: Called[] = [];

beforeAll(async () => {
  redis = await startTestRedis();
  if (redis === undefined) return noteSkip('the canary', redisSkipReason);
  postgres = await startTestPostgres();
  [provider, second] = await Promise.all([startProvider(), startProvider()]);
  const entry = (id: string, { baseUrl }: FakeProvider): object => ({
    id,
    name: id,
    adapter: 'openai',
    base_url: baseUrl,
    privacy_class: 'private',
    timeouts: { connect_ms: 500, first_byte_ms: 300, idle_ms: 400, total_ms: 1500 },
  });
  const route = (id: string): object => ({
    provider: id,
    upstream_model: 'own',
    privacy_class: 'private',
    pricing: { input: 1, output: 2 },
    capabilities: {
      tools: true,
      vision: true,
      structured_output: true,
      reasoning: { efforts: ['low'], can_disable: true },
    },
  });
  ear = await listenToRedis(redis.url);
  service = await startService({
    planes: 'two',
    databaseUrl: await postgres.createDatabase(),
    redisUrl: redis.url,
    registry: JSON.stringify({ providers: [entry('alpha', provider), entry('beta', second)] }),
    catalog: JSON.stringify({
      models: [
        { id: 'm/one', model_type: 'text', context_length: 30_000, max_output_tokens: 500, routes: [route('alpha')] },
        {
          id: 'm/two',
          model_type: 'text',
          context_length: 30_000,
          max_output_tokens: 500,
          routes: [route('alpha'), route('beta')],
        },
        { id: 'm/embed', model_type: 'embedding', context_length: 8000, routes: [route('alpha')] },
        { id: 'm/paint', model_type: 'image', routes: [{ ...route('alpha'), pricing: { image: 0.01 } }] },
        { id: 'm/voice', model_type: 'tts', routes: [{ ...route('alpha'), pricing: { input_characters: 10 } }] },
      ],
    }),
    environment: { LOG_LEVEL: 'trace', IMAGE_GENERATION: 'on', SPEECH_SYNTHESIS: 'on' },
  });
  const { controlUrl, pool } = service;
  const person = { email, password: 'a-long-password', name: marker('PersonName') };
  expect((await call(`${controlUrl}/auth/sign-up/email`, {}, person)).status).toBe(200);
  [account, pauper, limited] = await Promise.all([
    service.createAccount(),
    service.createAccount({ usd: 0.0000001 }),
    service.createAccount(),
  ]);
  await pool.query('update api_keys set limit_requests = 1, generation = generation + 1 where account_id = $1', [
    limited.accountId,
  ]);
  await until(async () => {
    const { rowCount } = await pool.query('select 1 from api_keys where projected_generation < generation');
    return rowCount === 0;
  }, 'the limit is projected');
}, 120_000);
afterAll(async () => {
  ear?.close();
  await service?.stop();
  await provider?.stop();
  await second?.stop();
  await redis?.stop();
  await postgres?.stop();
});

const sinks = (): Promise<Sinks> =>
  readSinks(service, {
    ear,
    errors: answers.flatMap(({ status, text, headers, complete }) =>
      status !== 200 || !complete ? [`${JSON.stringify(headers)}\n${text}`] : [JSON.stringify(headers)],
    ),
  });
const forms = (texts: Readonly<Record<string, string>>): Record<string, string[]> =>
  Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, disguises(text)]));

const textTool = {
  type: 'function',
  function: {
    name: 'look_up',
    description: `looks up ${content.ToolDescription}`,
    parameters: {
      type: 'object',
      properties: { [content.ToolSchema]: { type: 'string', enum: [content.ToolSchema] } },
    },
  },
};

/** A request with a marker wherever one can be. */
const fullBody = (more: object = {}): { readonly model: string } & Record<string, unknown> => ({
  model: 'm/two',
  messages: [
    { role: 'system', content: `Be ${content.System}.` },
    { role: 'developer', content: content.Developer },
    // As an error's stack would have it, should anyone look for a place there.
    {
      role: 'user',
      content: `Say ${content.Prompt}\n    at ${content.Prompt} (${content.Prompt}:1:1)`,
      name: content.Name.slice(0, 64),
    },
    {
      role: 'assistant',
      content: content.PastAnswer,
      tool_calls: [
        {
          id: 'call_1',
          type: 'function',
          function: { name: 'look_up', arguments: `{"q":"${content.PastToolArguments}"}` },
        },
      ],
    },
    { role: 'tool', tool_call_id: 'call_1', content: content.ToolResult },
    {
      role: 'user',
      content: [
        { type: 'text', text: content.Prompt },
        { type: 'image_url', image_url: { url: `data:image/png;base64,${content.Image}` } },
      ],
    },
  ],
  tools: [textTool],
  stop: [content.Stop],
  user: content.User,
  max_completion_tokens: 200,
  response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { title: content.Schema } } },
  alpha_parameters: { note: content.Parameter },
  metadata: { note: content.UnknownField },
  [content.UnknownField]: content.UnknownField,
  ...more,
});

const own = { id: said.ProviderId, created: 1, model: said.ProviderId, system_fingerprint: said.ProviderId };
const secretHeaders = {
  'x-request-id': said.ProviderHeader,
  'set-cookie': said.ProviderHeader,
  'x-note': said.ProviderHeader,
};
const usage = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30, note: said.ProviderId };
const toolCalls = [
  {
    index: 0,
    id: 'call_2',
    type: 'function',
    function: { name: 'look_up', arguments: `{"q":"${said.ToolArguments}"}` },
  },
];
const frame = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
const delta = (piece: object, finish: string | null = null): string =>
  frame({ ...own, object: 'chat.completion.chunk', choices: [{ index: 0, delta: piece, finish_reason: finish }] });

const painted = Buffer.from(`a picture of ${said.Painted}`).toString('base64');

const answersWell: ProviderHandler = (request, response) => {
  if (request.path.endsWith('/speech')) {
    response.writeHead(200, { 'content-type': 'audio/mpeg', ...secretHeaders });
    response.end(said.Spoken);
  } else if (request.path.endsWith('/images/generations')) {
    response.writeHead(200, { 'content-type': 'application/json', ...secretHeaders });
    const image = { b64_json: painted, revised_prompt: said.ErrorText };
    response.end(JSON.stringify({ ...own, data: [image], usage }));
  } else if (request.path.endsWith('/embeddings')) {
    response.writeHead(200, { 'content-type': 'application/json', ...secretHeaders });
    response.end(JSON.stringify({ ...own, object: 'list', data: [{ index: 0, embedding: [0.25] }], usage }));
  } else if (request.body.stream === true) {
    response.writeHead(200, { 'content-type': 'text/event-stream', ...secretHeaders });
    response.write(delta({ role: 'assistant', reasoning_content: said.Reasoning }));
    for (let piece = 0; piece < 5; piece += 1) response.write(delta({ content: ` ${said.Answer}` }));
    response.write(delta({ refusal: said.Refusal }));
    response.write(delta({ tool_calls: toolCalls }, 'tool_calls'));
    response.write(frame({ ...own, choices: [], usage }));
    response.end('data: [DONE]\n\n');
  } else {
    response.writeHead(200, { 'content-type': 'application/json', ...secretHeaders });
    const message = {
      role: 'assistant',
      content: said.Answer,
      reasoning_content: said.Reasoning,
      refusal: said.Refusal,
      tool_calls: toolCalls,
    };
    response.end(JSON.stringify({ ...own, choices: [{ index: 0, message, finish_reason: 'tool_calls' }], usage }));
  }
};

const echo = {
  message: `${said.ErrorMessage}: you sent ${content.Prompt}`,
  code: said.ErrorCode,
  type: said.ErrorCode,
  param: said.ErrorParam,
};

const sayFailure =
  (status: number, type = 'application/json', body = JSON.stringify({ error: echo })): ProviderHandler =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': type, 'retry-after': said.ProviderHeader, ...secretHeaders });
    response.end(body);
  };

/** A stream that begins and goes wrong. */
const breakStream =
  (last: string): ProviderHandler =>
  (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', ...secretHeaders });
    response.write(delta({ content: said.Answer }));
    response.write(last, () => response.socket?.destroySoon());
  };

/** The ways in which a provider can fail, each with what it got and what it thinks about it in its answer. */
const failures: readonly (readonly [string, ProviderHandler])[] = [
  ...[400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 500, 503].map(
    (status) => [`status ${status}`, sayFailure(status)] as const,
  ),
  ['a page of HTML', sayFailure(502, 'text/html', `<h1>${said.ErrorText} ${content.Prompt}</h1>`)],
  [
    'a refusal of the content',
    sayFailure(400, 'application/json', JSON.stringify({ error: { ...echo, code: 'content_filter' } })),
  ],
  ['a long story', sayFailure(400, 'text/plain', said.ErrorText.repeat(5000))],
  ['an error under status 200', sayFailure(200)],
  ['no JSON under status 200', sayFailure(200, 'application/json', `{"choices": [${said.ErrorText}`)],
  ['another type of content', sayFailure(200, said.ErrorText, said.ErrorText)],
  [
    'a redirect',
    (_request, response) => {
      response.writeHead(307, { location: `/${said.ErrorText}` }).end(said.ErrorText);
    },
  ],
  ['an error event at first', sayFailure(200, 'text/event-stream', frame({ error: echo }))],
  ['a line that is no event', sayFailure(200, 'text/event-stream', `{"error":{"message":"${said.ErrorText}"}}\n\n`)],
  ['an error event in the middle', breakStream(frame({ error: { ...echo, message: said.MidStream } }))],
  ['no JSON in the middle', breakStream(`data: {"choices": [${said.MidStream}\n\n`)],
  ['a break in the middle', breakStream('')],
  ['a reset', (_request, response) => void response.socket?.resetAndDestroy()],
  ['silence', () => {}],
];

/** Sends a request and keeps what came back. */
async function keep(calling: Promise<Called>): Promise<Called> {
  const called = await calling;
  answers.push(called);
  return called;
}

/** As `ask`, and the ticket is remembered. */
async function askKept(
  flow: Flow,
  body: { readonly model: string } & Record<string, unknown>,
  options: CallOptions = {},
  by = account,
): Promise<Called> {
  if (flow === 'compat') return keep(ask(service, by.inferenceKey, flow, body, options));
  const ticket = await buy({ model: body.model }, by);
  if (ticket === undefined) throw new Error('no ticket');
  return keep(
    call(`${service.baseUrl}${options.path ?? '/chat/completions'}`, { 'x-router-ticket': ticket }, body, options),
  );
}

const media = {
  '/images/generations': { model: 'm/paint', prompt: `Paint ${content.Picture}`, user: content.User },
  '/audio/speech': { model: 'm/voice', input: `Say ${content.Speech}`, instructions: content.UnknownField },
} as const;
const mediaPaths = ['/images/generations', '/audio/speech'] as const;

/** Asks for an image or for speech, with a ticket bought for it. */
async function askMedia(path: (typeof mediaPaths)[number], options: CallOptions = {}): Promise<Called> {
  const body = media[path];
  const length = 'input' in body ? { input_chars: body.input.length } : {};
  const ticket = await buy({ model: body.model, ...length });
  if (ticket === undefined) throw new Error('no ticket');
  return keep(call(`${service.baseUrl}${path}`, { 'x-router-ticket': ticket }, body, options));
}

async function buy(request: object, by = account): Promise<string | undefined> {
  const minted = await mint(service, by.inferenceKey, request);
  if (minted.status !== 200) {
    answers.push(minted);
    return undefined;
  }
  const { ticket } = JSON.parse(minted.text) as { ticket: string };
  tickets.push(ticket);
  return ticket;
}

const flows: readonly Flow[] = ['compat', 'ticket'];
const chat = (): string => `${service.baseUrl}/chat/completions`;
const onAll = (handler: ProviderHandler): void => {
  provider.answer(handler);
  second.answer(handler);
};

describe('no sink of the service', () => {
  it('is searched in vain: what is planted in it is found', async (context) => {
    if (redis === undefined) return context.skip('no Redis');
    const planted = marker('Planted');
    const id = randomBytes(16)
      .toString('hex')
      .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
    const payload = Buffer.from(`...${planted}...`).toString('base64');
    await service.pool.query(
      "insert into rejected_settlements (id, shard, stream_id, reason, payload) values ($1, 0, '', 'bad_mac', $2)",
      [id, payload],
    );
    const kinds = ['string', 'hash', 'list', 'set', 'zset', 'stream'];
    await withRedis(redis.url, async (connection) => {
      await connection.set('planted:string', planted);
      await connection.hset('planted:hash', { [planted]: 'x' });
      await connection.rpush('planted:list', `a ${planted} b`);
      await connection.sadd('planted:set', planted);
      await connection.zadd('planted:zset', 1, planted);
      await connection.xadd('planted:stream', '*', 'p', planted);
    });
    // Each kind of value on its own, in what lies there now.
    const dumped = (await sinks()).redis.split(ear.heard())[0] ?? '';
    for (const kind of kinds) {
      const from = dumped.indexOf(`planted:${kind}\n`);
      expect(dumped.slice(from, dumped.indexOf('\n', from + 20) + 200), kind).toContain(planted);
    }
    await withRedis(redis.url, (connection) => connection.del(kinds.map((kind) => `planted:${kind}`)));

    // Of logs: the id of a request, which both planes write.
    onAll(answersWell);
    const served = await askKept('compat', fullBody());
    expect(served.status, served.text).toBe(200);
    const listed = await call(`${service.controlUrl}/inference/tickets`, {}, {});
    answers.push(listed);
    const idOf = (called: Called): string => String(called.headers['x-request-id']);
    await until(
      () => service.logs().includes(idOf(served)) && service.logs().includes(idOf(listed)),
      'logs are written',
    );
    const { brokerLog, controlLog, postgres: rows, redis: stored, errors } = await sinks();
    const text = { it: disguises(planted) };
    expect(found(rows, text)).toHaveLength(1);
    // The commands that are gone from it are remembered.
    expect(found(stored, text)).toHaveLength(1);
    expect(found(brokerLog, { it: [idOf(served)] })).toHaveLength(1);
    expect(found(controlLog, { it: [idOf(listed)] })).toHaveLength(1);
    expect(found(errors, { it: [idOf(listed)] })).toHaveLength(1);
    expect(found(stored, { settlements: ['"kind":"charge"'], scripts: ['XADD', 'xadd'] })).toHaveLength(2);
    await service.pool.query('delete from rejected_settlements where id = $1', [id]);
  });

  describe('holds content', () => {
    it.each(flows)('after answers of every kind (%s)', async (flow) => {
      onAll(answersWell);
      const before = await usageRows(service, account);
      const good = [
        await askKept(flow, fullBody()),
        await askKept(flow, fullBody({ stream: true, stream_options: { include_usage: true } })),
        await askKept(
          flow,
          { model: 'm/embed', input: [content.Embedding], user: content.User },
          { path: '/embeddings' },
        ),
      ];
      for (const { complete, text } of good) {
        expect(complete, text).toBe(true);
        // The provider's own ids and headers are not for clients.
        expect(text).not.toContain(said.ProviderId);
      }
      expect(good[0]?.text).toContain(said.Answer);
      expect(good[1]?.text).toContain(said.ToolArguments);
      // One that leaves in the middle.
      onAll((_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(delta({ content: said.Answer }));
      });
      await askKept(flow, fullBody({ stream: true }), { leaveWhen: (text) => text.includes(said.Answer) });
      await until(async () => (await usageRows(service, account)).length >= before.length + 4, 'all is booked');
      await expectNoContent();
    });

    it('after images and speech', async () => {
      onAll(answersWell);
      const before = await usageRows(service, account);
      const [image, speech] = [await askMedia('/images/generations'), await askMedia('/audio/speech')];
      expect(image.text).toContain(painted);
      expect(image.text).not.toContain(said.ErrorText);
      expect(speech).toMatchObject({ status: 200, text: said.Spoken, ended: 'answered' });
      expect(JSON.stringify([image.headers, speech.headers])).not.toContain(said.ProviderHeader);
      // One that leaves in the middle, one that is broken off, and one whose ticket is for another text.
      onAll((_request, response) => {
        response.writeHead(200, { 'content-type': 'audio/mpeg' });
        response.write(said.Spoken);
      });
      await askMedia('/audio/speech', { leaveWhen: (text) => text.includes(said.Spoken) });
      expect((await askMedia('/audio/speech')).ended).toBe('broken');
      const other = { 'x-router-ticket': (await buy({ model: 'm/voice', input_chars: 1 })) ?? '' };
      const differs = await keep(call(`${service.baseUrl}/audio/speech`, other, media['/audio/speech']));
      expect(errorOf(differs)?.type).toBe('ticket_media_mismatch');
      await until(async () => (await usageRows(service, account)).length >= before.length + 4, 'all is booked');
      await expectNoContent();
    });

    it.each(failures)('after a provider failed by %s', async (_name, failure) => {
      onAll(failure);
      await Promise.all(
        flows.flatMap((flow) =>
          ['m/one', 'm/two'].flatMap((model) => [
            askKept(flow, fullBody({ model })),
            askKept(flow, fullBody({ model, stream: true })),
          ]),
        ),
      );
      const input = { model: 'm/embed', input: content.Embedding };
      await keep(ask(service, account.inferenceKey, 'compat', input, { path: '/embeddings' }));
      await Promise.all(mediaPaths.map((path) => askMedia(path)));
      // What the provider said went to nobody but in an answer.
      const bodies = answers.filter(({ complete }) => !complete).map(({ text }) => text);
      const { Answer: _, Painted: __, Spoken: ___, ...notForClients } = said;
      expect(found(bodies.join('\n'), forms(notForClients))).toEqual([]);
    });

    it('after requests that are refused', async () => {
      onAll(answersWell);
      const key = bearer(account.inferenceKey);
      const { Malformed: bad } = content;
      const raw = (text: string, credential: Credential = key): Promise<Called> =>
        keep(call(chat(), credential, {}, { raw: text }));
      const refusals: Promise<Called>[] = [];
      for (const credential of [key, { 'x-router-ticket': (await buy({ model: 'm/one' })) ?? '' }]) {
        refusals.push(
          raw(`{"model": "m/one", "messages": [{"role": "user", "content": "${bad}`, credential),
          raw(`${bad}`, credential),
          raw(`{"model": "m/one", "messages": [], "${bad}": tru${bad}}`, credential),
          raw(`"${bad}"`, credential),
          raw(`["${bad}"]`, credential),
          raw(`{"model": "m/one", "messages": "${bad}"}`, credential),
          raw(`{"model": "m/one", "messages": [{"role": "${bad}", "content": "${bad}"}]}`, credential),
          raw(`{"model": "m/one", "messages": [{"role": "user", "content": [{"type": "${bad}"}]}]}`, credential),
          raw(
            `{"model": "m/one", "messages": [{"role": "user", "content": "x"}], "temperature": "${bad}"}`,
            credential,
          ),
          raw(
            `{"model": "m/one", "messages": [{"role": "user", "content": "x"}], "tools": [{"type": "${bad}"}]}`,
            credential,
          ),
          raw(
            `{"model": "m/one", "messages": [{"role": "user", "content": "x"}], "alpha_parameters": "${bad}"}`,
            credential,
          ),
          raw(
            `{"model": "m/one", "messages": [{"role": "user", "content": "x"}], "provider": {"${bad}": 1}}`,
            credential,
          ),
          raw(
            `{"model": "m/one", "messages": [{"role": "user", "content": "x"}], "provider": {"only": ["${bad}!"]}}`,
            credential,
          ),
          raw(
            `{"model": "m/one", "messages": [{"role": "user", "content": "${bad}"}], "tools": [${'{"a":['.repeat(5000)}`,
            credential,
          ),
          raw(
            `{"model": "m/one", "messages": [{"role": "user", "content": "${bad} ${'x'.repeat(200_000)}"}]}`,
            credential,
          ),
          raw(`{"model": "${content.Model}", "messages": [{"role": "user", "content": "${bad}"}]}`, credential),
        );
      }
      const strangers: readonly Credential[] = [
        {},
        bearer(`sotto_inf_${bad}`),
        bearer(bad),
        bearer(account.managementKey),
        { authorization: `Basic ${bad}` },
        { 'x-router-ticket': `sotto_tkt_${bad}` },
        { 'x-router-ticket': bad },
      ];
      for (const stranger of strangers) refusals.push(keep(call(chat(), stranger, fullBody())));
      for (const flow of flows) {
        refusals.push(
          keep(ask(service, pauper.inferenceKey, flow, fullBody())),
          keep(ask(service, limited.inferenceKey, flow, fullBody())),
        );
      }
      refusals.push(
        keep(call(`${chat()}?q=${content.QueryString}`, key, fullBody({ n: 2 }))),
        keep(call(`${chat()}/${content.Path}?q=${content.QueryString}`, key, fullBody())),
        keep(call(`${service.controlUrl}/${content.Path}?q=${content.QueryString}`, key, fullBody())),
        keep(call(`${service.controlUrl}/inference/tickets?q=${content.QueryString}`, key, fullBody())),
        keep(call(`${service.controlUrl}/inference/tickets`, key, {}, { raw: `{"model": "${bad}` })),
        keep(call(`${service.controlUrl}/chat/completions`, key, fullBody())),
        keep(
          call(
            chat(),
            {
              ...key,
              'user-agent': content.UserAgent,
              'x-title': content.Header,
              'http-referer': content.Header,
              cookie: content.Header,
              'x-forwarded-for': content.Header,
            },
            fullBody({ n: 2 }),
          ),
        ),
        keep(call(`${service.baseUrl}/embeddings`, key, { model: 'm/embed', input: { [bad]: bad } })),
        keep(call(`${service.baseUrl}/embeddings`, key, { model: 'm/one', input: bad })),
        keep(call(`${service.baseUrl}/images/generations`, key, { prompt: bad })),
      );
      // Tickets for something else, and one twice.
      const bought = async (request: object, body: object): Promise<Called> =>
        keep(call(chat(), { 'x-router-ticket': (await buy(request)) ?? '' }, body));
      refusals.push(
        bought({ model: 'm/one' }, fullBody()),
        bought({ model: 'm/two', reasoning_effort: 'low' }, fullBody()),
        bought({ model: 'm/two', provider: { only: ['alpha'] } }, fullBody()),
      );
      const twice = { 'x-router-ticket': (await buy({ model: 'm/two' })) ?? '' };
      await keep(call(chat(), twice, fullBody()));
      refusals.push(keep(call(chat(), twice, fullBody())));
      const seen = new Set((await Promise.all(refusals)).map((called) => `${called.status} ${errorOf(called)?.type}`));
      for (const kind of [
        '400 invalid_request',
        '401 invalid_api_key',
        '401 invalid_ticket',
        '401 ticket_required',
        '402 insufficient_balance',
        '403 insufficient_scope',
        '404 model_not_found',
        '409 ticket_model_mismatch',
        '409 ticket_reasoning_mismatch',
        '409 ticket_provider_policy_mismatch',
        '429 rate_limited',
      ]) {
        expect([...seen]).toContain(kind);
      }
      // Not even an error's body holds what was not to be read.
      const { UnknownField: _, ...rest } = content;
      const bodies = answers
        .filter(({ status }) => status !== 200)
        .map(({ text, headers }) => text + JSON.stringify(headers));
      const quoted = found(
        bodies.join('\n'),
        forms({
          Prompt: rest.Prompt,
          System: rest.System,
          ToolResult: rest.ToolResult,
          User: rest.User,
          Embedding: rest.Embedding,
        }),
      );
      expect(quoted).toEqual([]);
    });

    it('after what is not even HTTP', async () => {
      for (const url of [service.baseUrl, service.controlUrl]) {
        const port = Number(new URL(url).port);
        for (const bytes of [
          `GET /${content.Path} HTTP/1.1\r\nbad header ${content.Header}\r\n\r\n`,
          `${content.Path}\r\n\r\n`,
          `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 1${content.Header}\r\n\r\n`,
          `GET /v1/models HTTP/1.1\r\nhost: x\r\nx-long: ${content.Header.repeat(5000)}\r\n\r\n`,
          `GET http://${content.Path}/%zz?${content.QueryString} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`,
        ]) {
          await new Promise<void>((resolve) => {
            const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
            let text = '';
            socket.on('data', (piece) => {
              text += piece.toString();
            });
            socket.on('error', () => {});
            socket.once('close', () => {
              expect(found(text, { Header: [content.Header], Path: [content.Path] })).toEqual([]);
              resolve();
            });
          });
        }
      }
    });

    it('in the end', async () => {
      expect(provider.seen.length).toBeGreaterThan(100);
      await expectNoContent();
      // The search had what to search in.
      const { brokerLog, controlLog, postgres: rows, redis: stored, errors } = await sinks();
      for (const sink of [brokerLog, controlLog, rows, stored, errors]) expect(sink.length).toBeGreaterThan(5000);
    });
  });

  it('holds a key or a ticket; no log holds their hash, and Postgres no ticket’s', async () => {
    const all = await sinks();
    const keys = [account, pauper, limited].flatMap(({ inferenceKey, managementKey }) => [inferenceKey, managementKey]);
    expect(tickets.length).toBeGreaterThan(20);
    const parts = (secrets: readonly string[]): Record<string, string[]> =>
      Object.fromEntries(
        // Whole, or without its prefix and the last characters that people tell keys apart by.
        secrets.map((secret) => [secret, [secret, ...disguises(secret.slice(10, 60))]]),
      );
    const hashed = (secrets: readonly string[]): Record<string, string[]> =>
      Object.fromEntries(secrets.map((secret) => [secret, hashes(secret)]));
    for (const name of Object.keys(all) as SinkName[]) {
      expect(found(all[name], parts([...keys, ...tickets])), name).toEqual([]);
    }
    for (const name of ['brokerLog', 'controlLog', 'errors'] as const) {
      expect(found(all[name], hashed([...keys, ...tickets])), name).toEqual([]);
    }
    expect(found(all.postgres, hashed(tickets))).toEqual([]);
    // They are where they must be, in that form.
    expect(found(all.postgres, hashed(keys))).toHaveLength(keys.length);
    expect(found(all.redis, hashed(tickets)).length).toBeGreaterThan(20);
  });

  it('of the broker, or Redis, knows who anybody is', async () => {
    const { pool } = service;
    const { rows } = await pool.query<{ id: string }>(
      `select id::text from accounts union select id::text from workspaces union select id::text from api_keys
       union select id from auth_user union select user_id from accounts where user_id is not null`,
    );
    expect(rows.length).toBeGreaterThan(10);
    const people: Record<string, string[]> = {
      email: disguises(email),
      'email, in capitals': disguises(email.toUpperCase()),
    };
    for (const { id } of rows)
      people[id] = [
        id,
        id.replaceAll('-', ''),
        Buffer.from(id.replaceAll('-', ''), 'hex').toString('base64').replace(/=+$/, ''),
        Buffer.from(id.replaceAll('-', ''), 'hex').toString('base64url'),
      ].filter((form) => form.length > 8);
    const { brokerLog, redis: stored, postgres: table } = await sinks();
    expect(found(table, { email: [email] })).toHaveLength(1);
    expect(found(stored, people)).toEqual([]);
    expect(found(brokerLog, people)).toEqual([]);
    // Nor does the broker's log say whose wallet it was, or which hold.
    const wallets = await pool.query<{ id: string }>(
      'select wallet_id as id from accounts union select id from settlements',
    );
    expect(found(brokerLog, Object.fromEntries(wallets.rows.map(({ id }) => [id, [id]])))).toEqual([]);
  });

  it('joins what must not be joined: request and completion ids stay with their client', async () => {
    const { postgres: rows, redis: stored } = await sinks();
    const ids: Record<string, string[]> = {};
    for (const { headers, text } of answers) {
      const requestId = headers['x-request-id'];
      if (typeof requestId === 'string') ids[requestId] = [requestId];
      for (const [id] of text.matchAll(/chatcmpl-[\w-]+/g)) ids[id] = [id, id.slice('chatcmpl-'.length)];
    }
    expect(Object.keys(ids).length).toBeGreaterThan(200);
    expect(found(stored, ids)).toEqual([]);
    expect(found(rows, ids)).toEqual([]);
    const upstream = [...provider.seen, ...second.seen].map(
      ({ headers, text }) => `${JSON.stringify(headers)}\n${text}`,
    );
    expect(found(upstream.join('\n'), ids)).toEqual([]);
    expect(
      found(
        upstream.join('\n'),
        forms({ UserAgent: content.UserAgent, Header: content.Header, UnknownField: content.UnknownField }),
      ),
    ).toEqual([]);
  });
});

it('the broker has no database, no key to account references and no secret of sessions', async (context) => {
  if (redis === undefined) return context.skip('no Redis');
  const environment = (await readFile(`/proc/${service.broker.pid}/environ`, 'utf8')).split('\0');
  const names = environment.map((entry) => entry.split('=')[0]);
  expect(names).toContain('TICKET_SEALING_KEY');
  for (const name of ['DATABASE_URL', 'ACCOUNT_REF_KEY', 'SESSION_SECRET']) expect(names).not.toContain(name);
  expect(environment.join('\n')).not.toContain('postgres');
});

async function expectNoContent(): Promise<void> {
  const { errors: _, ...others } = await sinks();
  for (const [name, sink] of Object.entries(others)) {
    expect(found(sink, forms({ ...content, ...said })), name).toEqual([]);
  }
}

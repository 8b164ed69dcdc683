import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { ClientError, createPrivateFetch, type PrivateFetchOptions } from '@sotto/client';
import { generateText } from 'ai';
import OpenAI from 'openai';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { until } from '../../kit/service.ts';
import { completion, echo, json, refusal, type StandInService, startStandIn } from './stand-in.ts';

const apiKey = 'sotto_inf_secret';
const model = 'acme/small';
const marker = 'CONTENT-MARKER';
const messages = [{ role: 'user' as const, content: marker }];

let service: StandInService;
const made: { close(): void }[] = [];
afterEach(async () => {
  for (const each of made.splice(0)) each.close();
  await service.stop();
});

function privately(options: Partial<PrivateFetchOptions> & { selfSigned?: boolean } = {}) {
  const { controlUrl, baseUrl } = service;
  const fetch = createPrivateFetch({
    apiKey,
    controlOrigin: controlUrl,
    baseOrigin: baseUrl,
    allowSimulated: true,
    ...options,
  });
  made.push(fetch);
  // With the retries that the SDK makes by default.
  return {
    fetch,
    openai: new OpenAI({ apiKey: 'the key of the SDK', baseURL: baseUrl, fetch, organization: 'org-me' }),
  };
}

const failureOf = (answer: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> =>
  answer.then(
    () => expect.unreachable('it did not fail'),
    (error) => error,
  );
const questions = (): unknown[] => service.control.map(({ text }) => JSON.parse(text));

describe('privateFetch', () => {
  beforeEach(async () => {
    service = await startStandIn();
    service.onBroker(echo);
  });

  it('sends the key to the control origin alone, and the content to the confidential origin alone', async () => {
    const { openai } = privately();
    const answer = await openai.chat.completions.create({ model, messages });
    expect(answer.choices[0]?.message.content).toBe(`You said: ${marker}`);
    const stream = await openai.chat.completions.create({ model, messages, stream: true });
    let text = '';
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
    expect(text).toBe(`You said: ${marker}`);
    expect(JSON.stringify(service.control)).not.toContain(marker);
    expect(service.control.every(({ headers }) => headers.authorization === `Bearer ${apiKey}`)).toBe(true);
    expect(service.broker.map(({ headers }) => Object.keys(headers).sort())).toEqual(
      Array(2).fill(['accept', 'connection', 'content-length', 'content-type', 'host', 'x-router-ticket']),
    );
    expect(JSON.stringify(service.broker)).not.toMatch(/sotto_inf_secret|key of the SDK|org-me/);
  });

  it('asks for a ticket with what binds it, and nothing else of the body', async () => {
    const { openai, fetch } = privately({ ticketsAhead: 0 });
    service.onBroker((_, response) => json(response, 200, completion('yes')));
    const post = (path: string, body: object) =>
      fetch(`${service.baseUrl}${path}`, { method: 'POST', body: JSON.stringify(body) });
    const provider = { only: ['acme'], minimum_privacy: 'private' };
    await openai.chat.completions.create({
      model,
      messages,
      reasoning_effort: 'low',
      user: marker,
      ...({ provider, models: [model, 'acme/other'] } as object),
    });
    await post('/embeddings', { model: 'acme/embed', input: marker, user: marker, dimensions: 3 });
    await post('/images/generations', {
      model: 'acme/paint',
      prompt: marker,
      size: '512x512',
      response_format: 'b64_json',
      n: 1,
    });
    await post('/audio/speech', {
      model: 'acme/voice',
      input: 'naïve 👍',
      voice: 'alto',
      response_format: 'mp3',
      provider: null,
    });
    expect(questions()).toEqual([
      { operation: 'chat', model, provider, models: [model, 'acme/other'], reasoning_effort: 'low' },
      { operation: 'embeddings', model: 'acme/embed' },
      { operation: 'image', model: 'acme/paint', size: '512x512', response_format: 'b64_json' },
      {
        operation: 'speech',
        model: 'acme/voice',
        voice: 'alto',
        response_format: 'mp3',
        input_chars: 'naïve 👍'.length,
      },
    ]);
  });

  it.each<[string, object, string]>([
    ['an unknown field of the policy', { model, messages, provider: { note: marker } }, 'provider'],
    ['a model that is no text', { model: { marker }, messages }, 'model'],
    ['a reasoning selection with more in it', { model, messages, reasoning: { effort: marker } }, 'reasoning.effort'],
  ])('refuses %s here, and says so as the service would', async (_, body, param) => {
    const { openai } = privately();
    const error = await failureOf(openai.post('/chat/completions', { body }));
    expect(error).toBeInstanceOf(OpenAI.BadRequestError);
    expect(error).toMatchObject({ type: 'invalid_request', param });
    expect([...service.control, ...service.broker]).toEqual([]);
  });

  it('keeps tickets ready, apart for each kind of request, and gives none out twice', async () => {
    const { openai } = privately({ ticketsAhead: 2 });
    const chat = (more: object = {}) => openai.chat.completions.create({ model, messages, ...more });
    await chat();
    await until(async () => service.tickets.length === 3, 'two tickets wait', 5000);
    await chat({ reasoning_effort: 'low' });
    await until(async () => service.tickets.length === 6, 'two more wait', 5000);
    const before = service.control.length;
    await Promise.all([chat(), chat(), chat({ reasoning_effort: 'low' })]);
    const used = service.broker.map(({ headers }) => headers['x-router-ticket']);
    expect(new Set(used).size).toBe(used.length);
    const boundTo = (ticket: unknown) =>
      questions()[service.tickets.indexOf(String(ticket))] as { reasoning_effort?: string };
    for (const { headers, text } of service.broker) {
      const { reasoning_effort } = JSON.parse(text) as { reasoning_effort?: string };
      expect(boundTo(headers['x-router-ticket']).reasoning_effort).toBe(reasoning_effort);
    }
    await until(async () => service.control.length === before + 3, 'the pools are full again', 5000);
  });

  it('does not use a ticket that is about to end', async () => {
    let now = Date.now();
    const { openai } = privately({ ticketsAhead: 1, now: () => now, maxAgeMs: 3_600_000 });
    await openai.chat.completions.create({ model, messages });
    await until(async () => service.tickets.length === 2, 'one waits', 5000);
    now += 290_000;
    await openai.chat.completions.create({ model, messages });
    expect(service.broker[1]?.headers['x-router-ticket']).toBe('ticket-3');
  });

  it('tries once more with a fresh ticket where a kept one is refused, and once only', async () => {
    const { openai } = privately({ ticketsAhead: 1 });
    await openai.chat.completions.create({ model, messages });
    await until(async () => service.tickets.length === 2, 'one waits', 5000);
    const dead = new Set(['ticket-2']);
    service.onBroker((seen, response, request) =>
      dead.has(String(seen.headers['x-router-ticket']))
        ? json(response, 401, refusal('invalid_ticket'))
        : echo(seen, response, request),
    );
    await openai.chat.completions.create({ model, messages });
    expect(service.broker).toHaveLength(3);
    service.onBroker((_, response) => json(response, 401, refusal('invalid_ticket')));
    const error = await failureOf(openai.chat.completions.create({ model, messages }));
    expect(error).toMatchObject({ status: 401, type: 'invalid_ticket' });
    expect(service.broker.length).toBeLessThanOrEqual(5);
  });

  it.each([
    [402, 'insufficient_balance', OpenAI.APIError],
    [401, 'unauthenticated', OpenAI.AuthenticationError],
    [404, 'model_not_found', OpenAI.NotFoundError],
    [403, 'no_provider_route_meets_privacy', OpenAI.PermissionDeniedError],
  ])('hands on what the control origin refuses with: %d %s', async (status, type, kind) => {
    service.onControl((_, response) => json(response, status, refusal(type)));
    const error = await failureOf(privately().openai.chat.completions.create({ model, messages }));
    expect(error).toBeInstanceOf(kind);
    expect(error).toMatchObject({ status, type, message: expect.stringContaining(`It is ${type}.`) });
    expect(service.broker).toEqual([]);
  });

  it('sends nothing in clear where only encrypted requests would be served', async () => {
    service.onControl((_, response) =>
      json(response, 200, {
        ticket: 't',
        privacy_class: 'e2ee',
        expires_at: new Date(Date.now() + 300_000).toISOString(),
      }),
    );
    const { openai } = privately();
    const pinned = await failureOf(
      openai.chat.completions.create({ model, messages, ...({ provider: 'vault' } as object) }),
    );
    expect(pinned).toMatchObject({ status: 403, type: 'no_provider_route_meets_privacy' });
    const embedding = { model, input: marker, ...({ provider: { minimum_privacy: 'e2ee' } } as object) };
    expect(await failureOf(openai.embeddings.create(embedding))).toMatchObject({
      status: 400,
      type: 'e2ee_request_unsupported',
    });
    expect(service.broker).toEqual([]);
  });

  it('lists the models from the control origin, and offers nothing else', async () => {
    const { openai, fetch } = privately();
    const ids: string[] = [];
    for await (const { id } of openai.models.list()) ids.push(id);
    expect(ids).toEqual([model]);
    for (const url of [
      `${service.baseUrl}/responses`,
      `${service.controlUrl}/chat/completions`,
      'https://example.com/v1/models',
    ]) {
      expect((await fetch(url, { method: 'POST', body: '{}' })).status, url).toBe(404);
    }
    expect(service.broker).toEqual([]);
    expect(service.control).toHaveLength(1);
  });

  it('follows no redirect: neither with the key nor with the content', async () => {
    service.onBroker((_, response) => response.writeHead(307, { location: `${service.controlUrl}/models` }).end());
    const { fetch } = privately({ ticketsAhead: 0 });
    const body = JSON.stringify({ model, messages });
    expect((await fetch(`${service.baseUrl}/chat/completions`, { method: 'POST', body })).status).toBe(307);
    service.onControl((_, response) => response.writeHead(307, { location: `${service.baseUrl}/elsewhere` }).end());
    await expect(fetch(`${service.baseUrl}/chat/completions`, { method: 'POST', body })).rejects.toMatchObject({
      code: 'control_unreachable',
    });
    expect(service.broker).toHaveLength(1);
  });

  it.each(['embeddings', 'images/generations', 'audio/speech'])(
    'sends no %s that only an enclave may read',
    async (path) => {
      const { fetch } = privately();
      const text = { input: marker, prompt: marker };
      const body = JSON.stringify({ model, ...text, provider: { minimum_privacy: 'e2ee' } });
      const answer = await fetch(`${service.baseUrl}/${path}`, { method: 'POST', body });
      expect([answer.status, await answer.json()]).toMatchObject([
        400,
        { error: { type: 'e2ee_request_unsupported' } },
      ]);
      expect([...service.control, ...service.broker]).toEqual([]);
    },
  );

  it('refuses a ticket that would bring a header along', async () => {
    service.onControl((_, response) =>
      json(response, 200, {
        ticket: 'a\r\nauthorization: x',
        privacy_class: 'private',
        expires_at: new Date().toISOString(),
      }),
    );
    const { fetch } = privately();
    const asked = fetch(`${service.baseUrl}/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ model, messages }),
    });
    await expect(asked).rejects.toMatchObject({ code: 'inference_ticket_failed' });
  });
});

describe('content that has left', () => {
  beforeEach(async () => {
    service = await startStandIn();
  });

  it('is not sent again by the SDK when the connection breaks', async () => {
    service.onBroker((_, response) => response.destroy());
    const error = await failureOf(privately().openai.chat.completions.create({ model, messages }));
    expect(error).toMatchObject({ status: 424, type: 'answer_lost' });
    expect(error.headers?.get('x-should-retry')).toBe('false');
    expect(service.broker).toHaveLength(1);
  });

  it('is not sent again by an SDK that knows no `x-should-retry`, either', async () => {
    service.onBroker((_, response) => response.destroy());
    const provider = createOpenAICompatible({ name: 'sotto', baseURL: service.baseUrl, fetch: privately().fetch });
    await expect(generateText({ model: provider(model), prompt: marker })).rejects.toThrow();
    expect(service.broker).toHaveLength(1);
  });

  it('is not sent again by the SDK when its own time limit ends the first try', async () => {
    service.onBroker(() => undefined);
    const { openai } = privately();
    const error = await failureOf(openai.chat.completions.create({ model, messages }, { timeout: 300 }));
    expect(error).toMatchObject({ status: 409, type: 'retry_refused' });
    expect(service.broker).toHaveLength(1);
    // Who asks anew, asks anew.
    service.onBroker(echo);
    await openai.chat.completions.create({ model, messages });
    expect(service.broker).toHaveLength(2);
  });

  it('may be sent again where the service says that nothing was bought', async () => {
    let calls = 0;
    service.onBroker((_, response) => {
      calls += 1;
      if (calls === 1) json(response, 429, refusal('rate_limited'), { 'retry-after': '1', 'x-should-retry': 'false' });
      else json(response, 200, completion('yes'));
    });
    await privately().openai.chat.completions.create({ model, messages });
    expect(service.broker).toHaveLength(2);
    expect(new Set(service.broker.map(({ headers }) => headers['x-router-ticket'])).size).toBe(2);
  });

  it('ends with an error where its stream breaks off', async () => {
    service.onBroker((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {"choices":[{"index":0,"delta":{"content":"half"}}]}\n\n', () => response.destroy());
    });
    const stream = await privately().openai.chat.completions.create({ model, messages, stream: true });
    const read = async () => {
      for await (const _ of stream);
    };
    await expect(read()).rejects.toThrow();
    expect(service.broker).toHaveLength(1);
  });

  it('is left by a signal, and its connection closes', async () => {
    const closed = new Promise<void>((resolve) => {
      service.onBroker((_, response) => response.once('close', resolve));
    });
    const leaving = new AbortController();
    const asked = privately().openai.chat.completions.create({ model, messages }, { signal: leaving.signal });
    asked.catch(() => undefined);
    await until(async () => service.broker.length === 1, 'it was sent', 5000);
    leaving.abort();
    await expect(asked).rejects.toBeInstanceOf(OpenAI.APIUserAbortError);
    await closed;
  });
});

describe('over TLS', () => {
  beforeEach(async () => {
    service = await startStandIn({ tls: true });
    // A connection for each request.
    service.onBroker((seen, response, request) => echo(seen, response.setHeader('connection', 'close'), request));
  });
  const chat = (fetch: ReturnType<typeof createPrivateFetch>) =>
    fetch(`${service.baseUrl}/chat/completions`, { method: 'POST', body: JSON.stringify({ model, messages }) });

  it('sends content over connections to the named key, and no other bytes before they are verified', async () => {
    const { fetch } = privately({ selfSigned: true });
    expect((await chat(fetch)).status).toBe(200);
    const verified = await fetch.verified();
    expect(verified.checks).toContainEqual({ name: 'gateway.tls_key', outcome: 'passed' });
    expect(verified.tlsKeySeen).toBe(true);
  });

  it('takes no certificate that nobody vouches for, unless told to', async () => {
    await expect(chat(privately().fetch)).rejects.toMatchObject({
      code: 'attestation_unavailable',
      message: expect.stringMatching(/SELF_SIGNED/),
    });
    expect(service.broker).toEqual([]);
  });

  it('refuses evidence that names another key than that of its own connection', async () => {
    service.states({ spkiSha256: ['ab'.repeat(32)] });
    await expect(chat(privately({ selfSigned: true }).fetch)).rejects.toMatchObject({
      code: 'attestation_untrusted',
      message: expect.stringContaining('gateway.tls_key'),
    });
    expect(service.broker).toEqual([]);
  });

  it('verifies again once when the service has changed its key, and goes on', async () => {
    const { fetch } = privately({ selfSigned: true });
    await (await chat(fetch)).text();
    await service.changeKey({ named: true });
    expect((await chat(fetch)).status).toBe(200);
    expect(service.evidenceCalls()).toBe(2);
    expect(service.broker).toHaveLength(2);
  });

  it('takes a request that meets the end of a verification for one that was not sent', async () => {
    let now = Date.now();
    // Each look at the clock is later: of many at once, some find the verification in force and some do not.
    const later = (): number => {
      now += 1;
      return now;
    };
    const { fetch } = privately({ selfSigned: true, now: later, maxAgeMs: 5 });
    const answers = await Promise.all(Array.from({ length: 60 }, () => chat(fetch)));
    expect(answers.map(({ status }) => status)).toEqual(Array(60).fill(200));
  });

  it('sends nothing over a connection to another key, and tells of the mismatch', async () => {
    const { fetch } = privately({ selfSigned: true });
    await (await chat(fetch)).text();
    await service.changeKey({ named: false });
    const failure = await chat(fetch).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ClientError);
    expect(failure).toMatchObject({ code: 'connection_not_verified' });
    expect(service.broker).toHaveLength(1);
  });

  it('resumes no session: each connection proves its key', async () => {
    const { fetch } = privately({ selfSigned: true, ticketsAhead: 0 });
    await Promise.all([chat(fetch), chat(fetch), chat(fetch)]);
    expect(service.handshakes()).toBe(4);
  });
});

it('speaks plain http with this machine only', async () => {
  service = await startStandIn();
  for (const options of [
    { baseOrigin: 'http://example.com/v1' },
    { controlOrigin: 'http://example.com' },
    { baseOrigin: 'https://a/b' },
    // One place would get the key and the content.
    { controlOrigin: service.baseOrigin },
    { controlOrigin: service.baseOrigin.replace('127.0.0.1', 'localhost') },
    { controlOrigin: 'https://a.test', baseOrigin: 'https://a.test.' },
  ]) {
    expect(() => privately(options)).toThrow(expect.objectContaining({ code: 'origin_invalid' }));
  }
});

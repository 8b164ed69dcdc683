import { setTimeout } from 'node:timers/promises';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText } from 'ai';
import OpenAI from 'openai';
import { beforeEach, describe, expect, it } from 'vitest';
import { until } from '../../kit/service.ts';
import { apiKey, marker, messages, model, PrivateClients } from './stages.ts';
import { completion, echo, json, refusal } from './stand-in.ts';

const clients = new PrivateClients();

const failureOf = (answer: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> =>
  answer.then(
    () => expect.unreachable('it did not fail'),
    (error) => error,
  );
const questions = (): { readonly count?: number; readonly reasoning_effort?: string }[] =>
  clients.service.control.map(({ text }) => JSON.parse(text));

describe('privateFetch', () => {
  beforeEach(async () => {
    await clients.start();
    clients.service.onBroker(echo);
  });

  it('sends the key to the control origin alone, and the content to the confidential origin alone', async () => {
    const { openai } = clients.privately();
    const answer = await openai.chat.completions.create({ model, messages });
    expect(answer.choices[0]?.message.content).toBe(`You said: ${marker}`);
    const stream = await openai.chat.completions.create({ model, messages, stream: true });
    let text = '';
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
    expect(text).toBe(`You said: ${marker}`);
    expect(JSON.stringify(clients.service.control)).not.toContain(marker);
    expect(clients.service.control.every(({ headers }) => headers.authorization === `Bearer ${apiKey}`)).toBe(true);
    expect(clients.service.broker.map(({ headers }) => Object.keys(headers).sort())).toEqual(
      Array(2).fill(['accept', 'connection', 'content-length', 'content-type', 'host', 'x-router-ticket']),
    );
    expect(JSON.stringify(clients.service.broker)).not.toMatch(/sotto_inf_secret|key of the SDK|org-me/);
  });

  it('requests a ticket with the fields that bind it, and no other field of the body', async () => {
    const { openai, fetch } = clients.privately({ ticketsAhead: 0 });
    clients.service.onBroker((_, response) => json(response, 200, completion('yes')));
    const post = (path: string, body: object) =>
      fetch(`${clients.service.baseUrl}${path}`, { method: 'POST', body: JSON.stringify(body) });
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
    ['an unknown field of the policy', { model, messages, provider: { note: marker } }, 'provider.note'],
    ['a model that is no text', { model: { marker }, messages }, 'model'],
    ['a reasoning selection with more in it', { model, messages, reasoning: { effort: marker } }, 'reasoning.effort'],
  ])('rejects %s in the client, with the error that the service would return', async (_, body, param) => {
    const { openai } = clients.privately();
    const error = await failureOf(openai.post('/chat/completions', { body }));
    expect(error).toBeInstanceOf(OpenAI.BadRequestError);
    expect(error).toMatchObject({ type: 'invalid_request', param });
    expect([...clients.service.control, ...clients.service.broker]).toEqual([]);
  });

  it('keeps tickets ready, separately for each kind of request, and uses none twice', async () => {
    const { openai } = clients.refilledByHand({ ticketsAhead: 2 });
    const chat = (more: object = {}) => openai.chat.completions.create({ model, messages, ...more });
    await chat();
    await chat({ reasoning_effort: 'low' });
    await clients.refill();
    expect(clients.service.tickets).toHaveLength(6);
    // One request for the first ticket of each kind, and one that fills its pool.
    expect(questions().map(({ count }) => count)).toEqual([undefined, undefined, 2, 2]);
    await Promise.all([chat(), chat(), chat({ reasoning_effort: 'low' })]);
    const used = clients.service.broker.map(({ headers }) => headers['x-router-ticket']);
    expect(new Set(used).size).toBe(used.length);
    const bindings = questions().flatMap((asked) => Array.from({ length: asked.count ?? 1 }, () => asked));
    const boundTo = (ticket: unknown) => bindings[clients.service.tickets.indexOf(String(ticket))];
    for (const { headers, text } of clients.service.broker) {
      const { reasoning_effort } = JSON.parse(text) as { reasoning_effort?: string };
      expect(boundTo(headers['x-router-ticket'])?.reasoning_effort).toBe(reasoning_effort);
    }
    // Nothing that control sees follows a request at once.
    expect(questions()).toHaveLength(4);
    await clients.refill();
    expect(clients.service.tickets).toHaveLength(9);
  });

  it('tries once more, and only once, with a fresh ticket if a kept one is rejected', async () => {
    const { openai } = clients.refilledByHand({ ticketsAhead: 1 });
    await openai.chat.completions.create({ model, messages });
    await clients.refill();
    expect(clients.service.tickets).toHaveLength(2);
    const dead = new Set(['ticket-2']);
    clients.service.onBroker((seen, response, request) =>
      dead.has(String(seen.headers['x-router-ticket']))
        ? json(response, 401, refusal('invalid_ticket'))
        : echo(seen, response, request),
    );
    await openai.chat.completions.create({ model, messages });
    expect(clients.service.broker).toHaveLength(3);
    clients.service.onBroker((_, response) => json(response, 401, refusal('invalid_ticket')));
    const error = await failureOf(openai.chat.completions.create({ model, messages }));
    expect(error).toMatchObject({ status: 401, type: 'invalid_ticket' });
    expect(clients.service.broker.length).toBeLessThanOrEqual(5);
  });

  it.each([
    [402, 'insufficient_balance', OpenAI.APIError],
    [401, 'unauthenticated', OpenAI.AuthenticationError],
    [404, 'model_not_found', OpenAI.NotFoundError],
    [403, 'no_provider_route_meets_privacy', OpenAI.PermissionDeniedError],
  ])('passes on the error of the control origin: %d %s', async (status, type, kind) => {
    clients.service.onControl((_, response) => json(response, status, refusal(type)));
    const error = await failureOf(clients.privately().openai.chat.completions.create({ model, messages }));
    expect(error).toBeInstanceOf(kind);
    expect(error).toMatchObject({ status, type, message: expect.stringContaining(`It is ${type}.`) });
    expect(clients.service.broker).toEqual([]);
  });

  it('sends nothing in clear if the service accepts only encrypted requests', async () => {
    clients.service.onControl((_, response) =>
      json(response, 200, {
        ticket: 't',
        privacy_class: 'e2ee',
        expires_at: new Date(Date.now() + 300_000).toISOString(),
      }),
    );
    const { openai } = clients.privately();
    const pinned = await failureOf(
      openai.chat.completions.create({ model, messages, ...({ provider: 'vault' } as object) }),
    );
    expect(pinned).toMatchObject({ status: 403, type: 'no_provider_route_meets_privacy' });
    const embedding = { model, input: marker, ...({ provider: { minimum_privacy: 'e2ee' } } as object) };
    expect(await failureOf(openai.embeddings.create(embedding))).toMatchObject({
      status: 400,
      type: 'e2ee_request_unsupported',
    });
    expect(clients.service.broker).toEqual([]);
  });

  it('lists the models from the control origin, and supports no other call', async () => {
    const { openai, fetch } = clients.privately();
    const ids: string[] = [];
    for await (const { id } of openai.models.list()) ids.push(id);
    expect(ids).toEqual([model]);
    for (const url of [
      `${clients.service.baseUrl}/responses`,
      `${clients.service.controlUrl}/chat/completions`,
      'https://example.com/v1/models',
    ]) {
      expect((await fetch(url, { method: 'POST', body: '{}' })).status, url).toBe(404);
    }
    expect(clients.service.broker).toEqual([]);
    expect(clients.service.control).toHaveLength(1);
  });

  it('follows no redirect and passes none on: neither with the key nor with the content', async () => {
    clients.service.onBroker((_, response) =>
      response.writeHead(307, { location: `${clients.service.controlUrl}/models` }).end(),
    );
    const { fetch } = clients.privately({ ticketsAhead: 0 });
    const answer = await clients.chat(fetch);
    expect([answer.status, answer.headers.get('location')]).toEqual([424, null]);
    expect(await answer.json()).toMatchObject({ error: { type: 'answer_redirected' } });
    clients.service.onControl((_, response) =>
      response.writeHead(307, { location: `${clients.service.baseUrl}/elsewhere` }).end(),
    );
    await expect(clients.chat(fetch)).rejects.toMatchObject({ code: 'control_unreachable' });
    expect(clients.service.broker).toHaveLength(1);
  });

  it.each(['embeddings', 'images/generations', 'audio/speech'])(
    'does not send %s, which only an enclave may read',
    async (path) => {
      const { fetch } = clients.privately();
      const text = { input: marker, prompt: marker };
      const body = JSON.stringify({ model, ...text, provider: { minimum_privacy: 'e2ee' } });
      const answer = await fetch(`${clients.service.baseUrl}/${path}`, { method: 'POST', body });
      expect([answer.status, await answer.json()]).toMatchObject([
        400,
        { error: { type: 'e2ee_request_unsupported' } },
      ]);
      expect([...clients.service.control, ...clients.service.broker]).toEqual([]);
    },
  );

  it('rejects a ticket that would inject a header', async () => {
    clients.service.onControl((_, response) =>
      json(response, 200, {
        ticket: 'a\r\nauthorization: x',
        privacy_class: 'private',
        expires_at: new Date().toISOString(),
      }),
    );
    const { fetch } = clients.privately();
    await expect(clients.chat(fetch)).rejects.toMatchObject({ code: 'inference_ticket_failed' });
  });

  it('throws the reason of a caller that leaves while its ticket arrives', async () => {
    clients.service.onControl((_, response) => response.writeHead(200).write('{'));
    const { fetch } = clients.privately({ ticketsAhead: 0 });
    const leaving = new AbortController();
    const body = JSON.stringify({ model, messages });
    const asked = fetch(`${clients.service.baseUrl}/chat/completions`, {
      method: 'POST',
      body,
      signal: leaving.signal,
    });
    await until(async () => clients.service.control.length === 1, 'the ticket was asked for', 5000);
    // Nothing shows when the client has read the head of the answer.
    await setTimeout(250);
    leaving.abort();
    await expect(asked).rejects.toMatchObject({ name: 'AbortError' });
  });
});

describe('content that has left', () => {
  beforeEach(async () => {
    await clients.start();
  });

  it('is not sent again by the SDK when the connection breaks', async () => {
    clients.service.onBroker((_, response) => response.destroy());
    const error = await failureOf(clients.privately().openai.chat.completions.create({ model, messages }));
    expect(error).toMatchObject({ status: 424, type: 'answer_lost' });
    expect(error.headers?.get('x-should-retry')).toBe('false');
    expect(clients.service.broker).toHaveLength(1);
  });

  it('is not sent again by an SDK that ignores `x-should-retry`, either', async () => {
    clients.service.onBroker((_, response) => response.destroy());
    const provider = createOpenAICompatible({
      name: 'sotto',
      baseURL: clients.service.baseUrl,
      fetch: clients.privately().fetch,
    });
    await expect(generateText({ model: provider(model), prompt: marker })).rejects.toThrow();
    expect(clients.service.broker).toHaveLength(1);
  });

  it('is not sent again by the SDK when its own time limit ends the first try', async () => {
    clients.service.onBroker(() => undefined);
    const { openai } = clients.privately();
    const error = await failureOf(openai.chat.completions.create({ model, messages }, { timeout: 300 }));
    expect(error).toMatchObject({ status: 409, type: 'retry_refused' });
    expect(clients.service.broker).toHaveLength(1);
    // A new call of the user is a new request.
    clients.service.onBroker(echo);
    await openai.chat.completions.create({ model, messages });
    expect(clients.service.broker).toHaveLength(2);
  });

  it('may be sent again if the service says that nothing was charged', async () => {
    let calls = 0;
    clients.service.onBroker((_, response) => {
      calls += 1;
      if (calls === 1) json(response, 429, refusal('rate_limited'), { 'retry-after': '1', 'x-should-retry': 'false' });
      else json(response, 200, completion('yes'));
    });
    await clients.privately().openai.chat.completions.create({ model, messages });
    expect(clients.service.broker).toHaveLength(2);
    expect(new Set(clients.service.broker.map(({ headers }) => headers['x-router-ticket'])).size).toBe(2);
  });

  it('ends with an error if its stream breaks off', async () => {
    clients.service.onBroker((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {"choices":[{"index":0,"delta":{"content":"half"}}]}\n\n', () => response.destroy());
    });
    const stream = await clients.privately().openai.chat.completions.create({ model, messages, stream: true });
    const read = async () => {
      for await (const _ of stream);
    };
    await expect(read()).rejects.toThrow();
    expect(clients.service.broker).toHaveLength(1);
  });

  it('is cancelled by a signal, and its connection closes', async () => {
    const closed = new Promise<void>((resolve) => {
      clients.service.onBroker((_, response) => response.once('close', resolve));
    });
    const leaving = new AbortController();
    const asked = clients.privately().openai.chat.completions.create({ model, messages }, { signal: leaving.signal });
    asked.catch(() => undefined);
    await until(async () => clients.service.broker.length === 1, 'it was sent', 5000);
    leaving.abort();
    await expect(asked).rejects.toBeInstanceOf(OpenAI.APIUserAbortError);
    await closed;
  });
});

it('speaks plain http with this machine only', async () => {
  await clients.start();
  for (const options of [
    { baseOrigin: 'http://example.com/v1' },
    { controlOrigin: 'http://example.com' },
    { baseOrigin: 'https://a/b' },
    // The two origins must differ. Otherwise one server would get both the key and the content.
    { controlOrigin: clients.service.baseOrigin },
    { controlOrigin: clients.service.baseOrigin.replace('127.0.0.1', 'localhost') },
    { controlOrigin: 'https://a.test', baseOrigin: 'https://a.test.' },
  ]) {
    expect(() => clients.privately(options)).toThrow(expect.objectContaining({ code: 'origin_invalid' }));
  }
});

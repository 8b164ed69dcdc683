import { noteSkip, startOwnRedis, until } from '@sotto/test-servers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../kit/answer.ts';
import { filesOf, providerEntry, routeEntry, textModel } from '../kit/catalog.ts';
import { bearer, ticketHeader } from '../kit/client.ts';
import { expectError } from '../kit/expect-error.ts';
import { startOwnPostgres } from '../kit/postgres.ts';
import { type FakeProvider, startProvider } from '../kit/provider.ts';
import { post } from '../kit/send.ts';
import { type Service, startService, type TestAccount } from '../kit/service.ts';

type PrivacyClass = 'anonymous' | 'private';
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** The catalog in which every route has this class. */
const catalogOf = (privacyClass: PrivacyClass): string => {
  const route = (pricing: object) => routeEntry('alpha', { ...pricing }, { privacy_class: privacyClass });
  return filesOf(
    [],
    [
      textModel('m/one', [route({ input: 1, output: 2 })]),
      textModel('m/two', [route({ input: 1, output: 2 })]),
      { id: 'm/vectors', model_type: 'embedding', routes: [route({ input: 1 })] },
      { id: 'm/image', model_type: 'image', routes: [route({ image: 0.04 })] },
      { id: 'm/speech', model_type: 'tts', routes: [route({ input_characters: 15 })] },
    ],
  ).catalog;
};

const redis = await startOwnRedis({});
if (redis === undefined) noteSkip('the class of a ticket', 'no Redis');

describe.skipIf(redis === undefined)('the class that a ticket states', () => {
  let provider: FakeProvider;
  let service: Service;
  let account: TestAccount;
  const postgres = startOwnPostgres({ durability: 'fast' });

  beforeAll(async () => {
    provider = await startProvider(({ path, body }, response) => {
      const json = (answer: object): void => void response.end(JSON.stringify(answer));
      if (path.endsWith('/speech')) response.writeHead(200, { 'content-type': 'audio/mpeg' }).end('sound');
      else if (path.endsWith('/embeddings'))
        json({ data: [{ index: 0, embedding: [1, 0] }], usage: { prompt_tokens: 1, total_tokens: 1 } });
      else if (path.endsWith('/generations')) json({ data: [{ b64_json: pixel }] });
      else
        json({
          ...{ id: 'x', object: 'chat.completion', created: 1, model: body.model },
          choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
          usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
        });
    });
    service = await startService({
      planes: 'two',
      databaseUrl: await (await postgres).createDatabase(),
      redisUrl: redis?.url ?? '',
      registry: filesOf([providerEntry('alpha', provider.baseUrl)], []).registry,
      catalog: catalogOf('private'),
      environment: { IMAGE_GENERATION: 'on', SPEECH_SYNTHESIS: 'on' },
    });
    account = await service.createAccount();
  });
  afterAll(async () => {
    await service?.stop();
    await provider?.stop();
    await redis?.stop();
    await (await postgres).stop();
  });

  const messages = [{ role: 'user', content: 'Hi' }];
  const present = (ticket: string, path: string, body: object): Promise<Answer> =>
    post(`${service.baseUrl}${path}`, body, ticketHeader(ticket));
  const servedAs = async (): Promise<string | null> =>
    (
      await post(`${service.baseUrl}/chat/completions`, { model: 'm/one', messages }, bearer(account.inferenceKey))
    ).headers.get('x-router-privacy-class');
  /** Puts a catalog in force, and waits until the broker plans with it. */
  async function reload(privacyClass: PrivacyClass): Promise<void> {
    await service.replaceCatalog(catalogOf(privacyClass));
    await until(async () => (await servedAs()) === privacyClass, 'the broker plans with the catalog');
  }

  const chat = { path: '/chat/completions', body: { messages } };
  const requests = {
    'a chat': { ...chat, bound: { model: 'm/one' } },
    'a list of models': { ...chat, bound: { model: 'm/one', models: ['m/two'] } },
    'a pin': { ...chat, bound: { model: 'm/one', provider: 'alpha' } },
    'a price ceiling': { ...chat, bound: { model: 'm/one', provider: { max_price: { input: 5, output: 5 } } } },
    'a minimum of anonymous': { ...chat, bound: { model: 'm/one', provider: { minimum_privacy: 'anonymous' } } },
    embeddings: { path: '/embeddings', bound: { model: 'm/vectors' }, body: { input: 'Hi' } },
    'an image': {
      path: '/images/generations',
      bound: { model: 'm/image' },
      ticket: { operation: 'image' },
      body: { prompt: 'a cat' },
    },
    speech: {
      path: '/audio/speech',
      bound: { model: 'm/speech' },
      ticket: { operation: 'speech', input_chars: 2 },
      body: { input: 'Hi' },
    },
  };

  it('holds although the catalog says less when the ticket is used, and the ticket stays valid', async () => {
    const tickets = new Map<string, string>();
    for (const [name, request] of Object.entries(requests)) {
      const asked = { ...request.bound, ...('ticket' in request ? request.ticket : {}) };
      const minted = await service.mintTicket(account.inferenceKey, asked);
      expect(minted.privacy_class, name).toBe('private');
      tickets.set(name, minted.ticket);
    }
    await reload('anonymous');
    const asked = provider.seen.length;
    for (const [name, { path, bound, body }] of Object.entries(requests)) {
      const answer = await present(tickets.get(name) ?? '', path, { ...bound, ...body });
      expectError(answer, 403, 'no_provider_route_meets_privacy');
      expect(answer.text).toContain('The ticket states `private`');
    }
    expect(provider.seen).toHaveLength(asked);
    await reload('private');
    for (const [name, { path, bound, body }] of Object.entries(requests)) {
      const answer = await present(tickets.get(name) ?? '', path, { ...bound, ...body });
      expect([name, answer.status, answer.headers.get('x-router-privacy-class')]).toEqual([name, 200, 'private']);
    }
  });
});

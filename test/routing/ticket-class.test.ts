import { until } from '@sotto/test-servers';
import { beforeAll, expect, it } from 'vitest';
import type { Answer } from '../kit/answer.ts';
import { bearer, ticketHeader } from '../kit/client.ts';
import { expectError } from '../kit/expect-error.ts';
import type { ProviderHandler } from '../kit/provider.ts';
import { post } from '../kit/send.ts';
import type { TestAccount } from '../kit/service.ts';
import { describeStage } from '../kit/stage/describe-stage.ts';
import { catalogOf } from '../kit/stage/models.ts';
import type { DetailedRoute, StageSpec } from '../kit/stage/spec.ts';

type PrivacyClass = 'anonymous' | 'private';
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** Answers every operation. */
const answers: ProviderHandler = ({ path, body }, response) => {
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
};

/** Models of which every route has this class. */
const specOf = (privacy: PrivacyClass): StageSpec => {
  const routes = (pricing: DetailedRoute['pricing']) => ({ alpha: { privacy, pricing } });
  return {
    providers: { alpha: { answers } },
    models: {
      'm/one': { routes: routes([1, 2]) },
      'm/two': { routes: routes([1, 2]) },
      'm/vectors': { type: 'embedding', routes: routes({ input: 1 }) },
      'm/image': { type: 'image', routes: routes({ image: 0.04 }) },
      'm/speech': { type: 'tts', routes: routes({ input_characters: 15 }) },
    },
    features: ['images', 'speech'],
  };
};

await describeStage(
  'the class that a ticket states',
  specOf('private'),
  (stage) => {
    let account: TestAccount;
    beforeAll(async () => {
      account = await stage.service.createAccount();
    });

    const messages = [{ role: 'user', content: 'Hi' }];
    const present = (ticket: string, path: string, body: object): Promise<Answer> =>
      post(`${stage.service.baseUrl}${path}`, body, ticketHeader(ticket));
    const servedAs = async (): Promise<string | null> =>
      (
        await post(
          `${stage.service.baseUrl}/chat/completions`,
          { model: 'm/one', messages },
          bearer(account.inferenceKey),
        )
      ).headers.get('x-router-privacy-class');
    /** Puts a catalog in force, and waits until the broker plans with it. */
    async function reload(privacyClass: PrivacyClass): Promise<void> {
      await stage.service.replaceCatalog(catalogOf(specOf(privacyClass)));
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
        const minted = await stage.service.mintTicket(account.inferenceKey, asked);
        expect(minted.privacy_class, name).toBe('private');
        tickets.set(name, minted.ticket);
      }
      await reload('anonymous');
      const asked = stage.provider('alpha').seen.length;
      for (const [name, { path, bound, body }] of Object.entries(requests)) {
        const answer = await present(tickets.get(name) ?? '', path, { ...bound, ...body });
        expectError(answer, 403, 'no_provider_route_meets_privacy');
        expect(answer.text).toContain('The ticket states `private`');
      }
      expect(stage.provider('alpha').seen).toHaveLength(asked);
      await reload('private');
      for (const [name, { path, bound, body }] of Object.entries(requests)) {
        const answer = await present(tickets.get(name) ?? '', path, { ...bound, ...body });
        expect([name, answer.status, answer.headers.get('x-router-privacy-class')]).toEqual([name, 200, 'private']);
      }
    });
  },
  { planes: ['two'] },
);

import { capabilitiesAnswerSchema } from '@sotto/contract/control/catalog';
import { beforeAll, describe, expect, it } from 'vitest';
import { bearer, mint } from '../../kit/client.ts';
import type { BytesAnswer } from '../../kit/open-bytes.ts';
import type { TestAccount } from '../../kit/service.ts';
import type { Stage } from '../../kit/stage/stage.ts';
import { errorOf, paths, send } from './ask-media.ts';
import { type Operation, sceneOf } from './spec.ts';

const bodies = {
  image: { prompt: 'a cat', size: '512x512' },
  speech: { input: 'héllo 🎵', voice: 'nova' },
} as const;
/** The input's length in UTF-16 code units: the note symbol counts as two. */
const inputChars = 8;
const settings = { image: { size: '512x512' }, speech: { input_chars: inputChars, voice: 'nova' } } as const;
const operations = ['image', 'speech'] as const satisfies readonly Operation[];

/** Tests which fields a media ticket binds, and which fields a body may have (docs/use/media.md). */
export function ticketsSuite(stage: Stage): void {
  let account: TestAccount;
  beforeAll(async () => {
    account = await stage.service.createAccount({ usd: 100 });
  });
  const minted = async (request: object): Promise<string> =>
    (await stage.service.mintTicket(account.inferenceKey, request)).ticket;
  const present = (path: string, body: object, headers: Record<string, string> = {}): Promise<BytesAnswer> =>
    send(stage.service, body, { path, headers }).answer;
  const withTicket = (operation: Operation, ticket: string, body: object): Promise<BytesAnswer> =>
    present(paths[operation], body, { 'x-router-ticket': ticket });

  it('/capabilities says that both are on', async () => {
    const answer = await fetch(`${stage.service.controlUrl}/capabilities`);
    expect(capabilitiesAnswerSchema.parse(await answer.json())).toMatchObject({
      image_generation: { enabled: true },
      speech_synthesis: { enabled: true },
    });
  });

  describe.each(operations)('a ticket for %s', (operation) => {
    const body = bodies[operation];
    const bound = settings[operation];

    it('buys one request, and takes its operation from the model if the request names none', async () => {
      const { model } = sceneOf(stage, operation);
      for (const named of [{ operation }, {}]) {
        const ticket = await minted({ model, ...named, ...bound });
        const answer = await withTicket(operation, ticket, { model, ...body });
        expect(answer.status, answer.bytes.toString()).toBe(200);
        expect(errorOf(await withTicket(operation, ticket, { model, ...body }))).toEqual([401, 'invalid_ticket']);
      }
    });

    it('binds model and policy', async () => {
      const { model } = sceneOf(stage, operation);
      const ticket = await minted({ model, operation, ...bound, provider: { sort: 'price' } });
      const other = sceneOf(stage, operation).model;
      const policy = { provider: { sort: 'price' } };
      expect(errorOf(await withTicket(operation, ticket, { model: other, ...body, ...policy }))).toEqual([
        409,
        'ticket_model_mismatch',
      ]);
      expect(errorOf(await withTicket(operation, ticket, { model, ...body }))).toEqual([
        409,
        'ticket_provider_policy_mismatch',
      ]);
      expect((await withTicket(operation, ticket, { model, ...body, ...policy })).status).toBe(200);
    });

    it('is for that operation alone', async () => {
      const { model } = sceneOf(stage, operation);
      const ticket = await minted({ model, operation, ...bound });
      const chat = { model, messages: [{ role: 'user', content: 'hi' }] };
      const elsewhere = await present('/chat/completions', chat, { 'x-router-ticket': ticket });
      expect(errorOf(elsewhere)).toEqual([409, 'ticket_model_mismatch']);
      const forChat = await minted({ model: 'text/chat' });
      expect((await withTicket(operation, forChat, { model: 'text/chat', ...body })).status).toBe(409);
      expect((await withTicket(operation, ticket, { model, ...body })).status).toBe(200);
    });

    it('is required: 401 ticket_required without one, and with a key, valid or not', async () => {
      const { model } = sceneOf(stage, operation);
      const ticket = await minted({ model, operation, ...bound });
      for (const headers of [{}, bearer(account.inferenceKey), bearer('sk-nobody')])
        expect(errorOf(await present(paths[operation], { model, ...body }, headers))).toEqual([401, 'ticket_required']);
      // A key beside the ticket selects compatibility mode, and the ticket stays unused.
      const both = { ...bearer(account.inferenceKey), 'x-router-ticket': ticket };
      expect(errorOf(await present(paths[operation], { model, ...body }, both))).toEqual([401, 'ticket_required']);
      expect((await withTicket(operation, ticket, { model, ...body })).status).toBe(200);
    });

    it('has the rate limits and the route in the headers of its answer, and no header of the provider', async () => {
      const { model } = sceneOf(stage, operation);
      const { headers } = await withTicket(operation, await minted({ model, operation, ...bound }), { model, ...body });
      expect(headers).toMatchObject({
        'x-router-selected-model': `alpha/${model}`,
        'x-router-routing': 'exact',
        'x-router-provider': 'alpha',
        'x-router-provider-attempts': '1',
        'x-router-provider-fallback': 'false',
        'x-router-privacy-class': 'private',
        'x-ratelimit-limit-requests': expect.stringMatching(/^\d+$/),
        'x-ratelimit-remaining-tokens': expect.stringMatching(/^\d+$/),
        'cache-control': 'no-store',
        'x-request-id': expect.stringMatching(/\S/),
      });
      expect(JSON.stringify(headers)).not.toContain('own-name');
    });
  });

  it.each<[Operation, object, object]>([
    ['image', { size: '512x512' }, { size: '512x513' }],
    ['image', { size: '512x512' }, {}],
    ['image', {}, { size: '1024x1025' }],
    ['speech', { input_chars: 5 }, { input: 'four' }],
    ['speech', { input_chars: 5 }, { input: 'héllo 🎵' }],
    ['speech', { input_chars: 1 }, { input: '🎵' }],
    ['speech', { input_chars: 5, voice: 'nova' }, { input: 'hello', voice: 'echo' }],
    ['speech', { input_chars: 5, voice: 'nova' }, { input: 'hello' }],
    ['speech', { input_chars: 5 }, { input: 'hello', voice: 'nova' }],
  ])(
    '%s: a ticket for %j and a body with %j differ: 409, and the ticket stays valid',
    async (operation, bound, sent) => {
      const scene = sceneOf(stage, operation);
      const { model } = scene;
      const ticket = await minted({ model, operation, ...bound });
      const base = operation === 'image' ? { model, prompt: 'a cat' } : { model };
      const answer = await withTicket(operation, ticket, { ...base, ...sent });
      expect(errorOf(answer)).toEqual([409, 'ticket_media_mismatch']);
      expect(scene.called).toEqual([]);
      const { input_chars: length, ...rest } = bound as { input_chars?: number };
      const right = { ...base, ...rest, ...(length === undefined ? {} : { input: 'x'.repeat(length) }) };
      expect((await withTicket(operation, ticket, right)).status).toBe(200);
    },
  );

  it.each<[Operation, object, object]>([
    ['image', {}, { size: '1024x1024', response_format: 'b64_json' }],
    ['image', { size: '1024x1024' }, { size: null }],
    ['speech', { input_chars: 2, response_format: 'mp3' }, { input: '🎵', voice: null }],
    ['speech', { input_chars: 20_000 }, { input: '🎵'.repeat(10_000) }],
  ])('%s: an absent field means the default, in ticket %j and body %j alike', async (operation, bound, sent) => {
    const { model } = sceneOf(stage, operation);
    const base = operation === 'image' ? { model, prompt: 'a cat' } : { model };
    const answer = await withTicket(operation, await minted({ model, operation, ...bound }), { ...base, ...sent });
    expect(answer.status, answer.bytes.toString()).toBe(200);
  });

  it.each<[string, object, string]>([
    ['a size that is none', { operation: 'image', size: 'large' }, 'size'],
    ['a size too small', { operation: 'image', size: '127x512' }, 'size'],
    ['a size too large', { operation: 'image', size: '512x2049' }, 'size'],
    ['a size with zeros in front', { operation: 'image', size: '0512x512' }, 'size'],
    ['an image as mp3', { operation: 'image', response_format: 'mp3' }, 'response_format'],
    ['an image as an address', { operation: 'image', response_format: 'url' }, 'response_format'],
    ['an image with a voice', { operation: 'image', voice: 'nova' }, 'voice'],
    ['an image with a length', { operation: 'image', input_chars: 5 }, 'input_chars'],
    ['an image with reasoning', { operation: 'image', reasoning_effort: 'low' }, 'reasoning_effort'],
    ['speech without its length', { operation: 'speech' }, 'input_chars'],
    ['speech of no length', { operation: 'speech', input_chars: 0 }, 'input_chars'],
    ['speech that is too long', { operation: 'speech', input_chars: 20_001 }, 'input_chars'],
    ['half a character', { operation: 'speech', input_chars: 1.5 }, 'input_chars'],
    ['speech as base64', { operation: 'speech', input_chars: 5, response_format: 'b64_json' }, 'response_format'],
    ['speech with a size', { operation: 'speech', input_chars: 5, size: '512x512' }, 'size'],
    ['speech of several models', { operation: 'speech', input_chars: 5, models: ['speech/single-0'] }, 'models'],
    ['a voice without a name', { operation: 'speech', input_chars: 5, voice: '' }, 'voice'],
  ])('%s is 400 when the ticket is bought', async (_, request, param) => {
    const operation = (request as { operation: Operation }).operation;
    const answer = await mint(stage.service, account.inferenceKey, { model: `${operation}/single-0`, ...request });
    expect([answer.status, answer.error]).toMatchObject([400, { type: 'invalid_request', param }]);
  });

  it.each<[string, Operation, object, string]>([
    ['no prompt', 'image', {}, 'prompt'],
    ['an empty prompt', 'image', { prompt: '' }, 'prompt'],
    ['a prompt that is no text', 'image', { prompt: ['a'] }, 'prompt'],
    ['two images', 'image', { prompt: 'a', n: 2 }, 'n'],
    ['a size out of range', 'image', { prompt: 'a', size: '64x64' }, 'size'],
    ['a hosted address', 'image', { prompt: 'a', response_format: 'url' }, 'response_format'],
    ['a stream of images', 'image', { prompt: 'a', stream: true }, 'stream'],
    ['no input', 'speech', {}, 'input'],
    ['an empty input', 'speech', { input: '' }, 'input'],
    ['20,001 characters', 'speech', { input: 'x'.repeat(20_001) }, 'input'],
    ['more UTF-16 code units than a ticket takes', 'speech', { input: '🎵'.repeat(10_001) }, 'input'],
    ['another format', 'speech', { input: 'x', response_format: 'wav' }, 'response_format'],
    ['events instead of audio', 'speech', { input: 'x', stream_format: 'sse' }, 'stream_format'],
    ['a voice that is no text', 'speech', { input: 'x', voice: { id: 'v' } }, 'voice'],
  ])('%s in a body is 400, names the field, and leaves the ticket valid', async (_, operation, sent, param) => {
    const scene = sceneOf(stage, operation);
    const { model } = scene;
    const ticket = await minted({ model, operation, ...(operation === 'speech' ? { input_chars: 1 } : {}) });
    const answer = await withTicket(operation, ticket, { model, ...sent });
    expect(JSON.parse(answer.bytes.toString())).toMatchObject({ error: { type: 'invalid_request', param } });
    expect(answer.status).toBe(400);
    expect(scene.called).toEqual([]);
    const right = operation === 'image' ? { prompt: 'a' } : { input: 'x' };
    expect((await withTicket(operation, ticket, { model, ...right })).status).toBe(200);
  });

  it('a model of another kind cannot buy a media ticket, and the error names its endpoint', async () => {
    const answer = await mint(stage.service, account.inferenceKey, { model: 'text/chat', operation: 'image' });
    expect(answer.error).toMatchObject({ type: 'invalid_request', message: expect.stringContaining('/chat/comp') });
    const chat = await mint(stage.service, account.inferenceKey, { model: 'image-single/m0', operation: 'chat' });
    expect(chat.error?.message).toContain('/images/generations');
  });
}

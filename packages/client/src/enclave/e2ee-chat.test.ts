import type { ProviderVerification } from '@sotto/attestation';
import { errorTable, relayHeaders } from '@sotto/wire';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { standInKinds } from '../e2ee/testing/index.ts';
import { leaksIn, secretChat } from '../e2ee/testing/secret-chat.ts';
import { json, model, standIn } from './testing/stand-in-client.ts';

const policy = { minimum_privacy: 'e2ee' as const };
const question = { model, provider: policy, messages: [{ role: 'user', content: 'Grüße, 世界' }] };
describe.each(standInKinds)('end-to-end-encrypted chat with %s', { timeout: 60_000 }, (kind) => {
  it('is answered like any chat, whole and streamed', async () => {
    const at = standIn(kind);
    const whole = await at.ask(question);
    expect(whole.headers.get('x-router-privacy-class')).toBe('e2ee');
    expect(await whole.json()).toMatchObject({ model, choices: [{ message: { content: 'You said: Grüße, 世界' } }] });
    const streamed = await at.ask({ ...question, stream: true });
    expect(streamed.headers.get('content-type')).toBe('text/event-stream');
    const events = (await streamed.text()).trim().split('\n\n');
    expect(events.pop()).toBe('data: [DONE]');
    const chunks = events.map((event) => JSON.parse(event.slice(6)) as { choices: { delta: { content?: string } }[] });
    expect(chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta.content ?? '')).join('')).toBe(
      'You said: Grüße, 世界',
    );
  });

  it('sends the service the parameters of the ticket and the family of the enclave', async () => {
    const at = standIn(kind);
    await at.ask({
      ...question,
      model: `${model}:nitro`,
      reasoning: { effort: 'low' },
      provider: { ...policy, sort: 'price' },
    });
    const bound = {
      model,
      provider: { only: [kind], allow_fallbacks: false, minimum_privacy: 'e2ee' },
      reasoning_effort: 'low',
    };
    const minted = at.toControl
      .filter(({ path }) => path === '/v1/inference/tickets')
      .map(({ text }) => JSON.parse(text));
    expect(minted).toEqual([{ operation: 'chat', ...bound }]);
    const attested = at.toControl.filter(({ path }) => path === '/v1/inference/attestation-tickets');
    expect(attested.map(({ text }) => JSON.parse(text))).toEqual([{ model, provider: kind }]);
    const [chat] = at.chats();
    const family = kind.split('-')[0] as 'near';
    expect(JSON.parse(chat?.headers['x-router-e2ee'] ?? '')).toEqual({ family, ...bound, stream: kind === 'venice' });
    expect(relayHeaders(family, (name) => chat?.headers[name])).toMatchObject({ ok: true });
  });

  it('verifies an enclave once until its evidence expires, or for each request if a key serves one', async () => {
    let now = Date.now();
    const at = standIn(kind, { now: () => now, maxAgeMs: 3_600_000 });
    for (const _ of [1, 2]) await (await at.ask(question)).json();
    expect(at.attestations()).toHaveLength(kind === 'chutes' ? 2 : 1);
    const nonces = at.attestations().map(({ body }) => body.toString());
    expect(new Set(nonces).size).toBe(nonces.length);
    if (kind === 'chutes') return;
    now += 61_000;
    await (await at.ask(question)).json();
    expect(at.attestations()).toHaveLength(2);
  });

  it('sends no plaintext to the control origin or the broker', async () => {
    const at = standIn(kind);
    await fc.assert(
      fc.asyncProperty(secretChat, async (body) => {
        const answer = await at.ask({ ...body, model, provider: policy });
        // A successful answer contains the enclave's text. A refusal of the client must not quote the request.
        if (answer.status !== 200) expect(leaksIn(await answer.text())).toEqual([]);
        else await answer.arrayBuffer();
      }),
      { numRuns: 25 },
    );
    for (const { path, text } of at.toControl) expect(leaksIn(path + text)).toEqual([]);
    for (const { headers, body } of at.toBroker) {
      expect(leaksIn(JSON.stringify(headers) + body.toString('latin1'))).toEqual([]);
    }
    // If every request were refused, the checks above would prove nothing.
    expect(at.chats().length).toBeGreaterThan(4);
  });
});

describe('end-to-end-encrypted chat', () => {
  const kind = 'near-ed25519';

  it.each([
    ['tools', { tools: [{ type: 'function', function: { name: 'f' } }] }],
    ['an image', { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'x' } }] }] }],
    ['fallback models', { models: [model] }],
  ])('refuses %s before it sends any request', async (_, more) => {
    const at = standIn(kind);
    const answer = await at.ask({ ...question, ...more });
    expect(answer.status).toBe(400);
    expect(answer.headers.get('x-should-retry')).toBe('false');
    expect(await answer.json()).toMatchObject({ error: { type: 'e2ee_request_unsupported' } });
    expect([...at.toControl, ...at.toBroker]).toEqual([]);
  });

  it.each<[string, Partial<ProviderVerification>]>([
    ['is untrusted', { verdict: 'untrusted' }],
    ['was revoked or is out of date', { isCurrent: false }],
    ['has no key', { key: undefined }],
  ])('seals nothing for an enclave that %s', async (_, verified) => {
    const at = standIn(kind);
    at.verifiedAs(verified);
    await expect(at.ask(question)).rejects.toMatchObject({ code: 'attestation_untrusted' });
    expect(at.chats()).toEqual([]);
  });

  it('asks for a receipt with the secret of its caller, and forwards no other header', async () => {
    const at = standIn(kind);
    await at.ask(question, { 'x-router-receipt': 'ab'.repeat(32), authorization: 'Bearer mine', 'x-user': 'ann' });
    const [chat] = at.chats();
    expect(chat?.headers['x-router-receipt']).toBe('ab'.repeat(32));
    expect(JSON.stringify(chat?.headers)).not.toMatch(/mine|ann"/);
  });

  it('rejects evidence for another nonce', async () => {
    const at = standIn(kind);
    at.relays(() => json({ nonce: '0'.repeat(64) }));
    await expect(at.ask(question)).rejects.toMatchObject({ code: 'nonce_mismatch' });
    expect(at.chats()).toEqual([]);
  });

  it('returns refusals of the service in its own words, and verifies again after a failure', async () => {
    const at = standIn(kind);
    await (await at.ask(question)).json();
    const refusal = {
      error: { message: 'x', type: 'provider_fallback_not_supported_for_e2ee', request_id: 'r' },
    } as const;
    at.relays(() => json(refusal, 503, { 'x-should-retry': 'false' }));
    const answer = await at.ask(question);
    const { type } = refusal.error;
    const { message } = errorTable[type];
    expect([answer.status, await answer.json()]).toMatchObject([503, { error: { type, message } }]);
    at.relays((each) => each);
    expect((await at.ask(question)).status).toBe(200);
    expect(at.attestations()).toHaveLength(2);
  });

  it('lets an SDK retry refused evidence: each try has its own ticket', async () => {
    const at = standIn(kind);
    at.relays(() => json({ error: { message: 'x', type: 'service_unavailable' } }, 503, { 'x-should-retry': 'false' }));
    const answer = await at.ask(question);
    expect([answer.status, answer.headers.get('x-should-retry')]).toEqual([503, null]);
    expect(at.chats()).toEqual([]);
  });

  it('reports evidence of the enclave that was lost on the way', async () => {
    const at = standIn(kind);
    at.relays(() => {
      throw new TypeError('terminated');
    });
    await expect(at.ask(question)).rejects.toMatchObject({ code: 'attestation_unavailable' });
    expect(at.chats()).toEqual([]);
  });

  it('verifies again after a reply that it could not open', async () => {
    const at = standIn(kind);
    at.relays((each) => (each.headers.has('x-router-privacy-class') ? json({}) : each));
    expect((await at.ask(question)).status).toBe(424);
    at.relays((each) => each);
    expect((await at.ask(question)).status).toBe(200);
    expect(at.attestations()).toHaveLength(2);
  });

  it('verifies again after a stream that it could not open', async () => {
    const at = standIn(kind);
    at.relays((each) =>
      each.headers.has('x-router-privacy-class')
        ? new Response('data: {"choices":[{"index":0,"delta":{"content":"in clear"}}]}\n\n', { headers: each.headers })
        : each,
    );
    const answer = await at.ask({ ...question, stream: true });
    await expect(answer.text()).rejects.toThrow();
    at.relays((each) => each);
    expect(await (await at.ask({ ...question, stream: true })).text()).toContain('[DONE]');
    expect(at.attestations()).toHaveLength(2);
  });

  it.each([true, false])(
    'does not buy a second answer for an SDK that retries after it broke off: stream %s',
    async (stream) => {
      const at = standIn(kind);
      const broken = (): ReadableStream =>
        new ReadableStream({ pull: (stream) => stream.error(new Error('cut short')) });
      at.relays((each) => (each.headers.has('x-router-privacy-class') ? new Response(broken(), each) : each));
      const ask = (tries: number) =>
        at.exchange.ask({
          method: 'POST',
          path: '/v1/chat/completions',
          header: (name) => (name === 'x-stainless-retry-count' ? String(tries) : undefined),
          body: JSON.stringify({ ...question, stream }),
          signal: new AbortController().signal,
        });
      // The proxy reads pieces.
      const reading = async (): Promise<void> => {
        for await (const _ of (await ask(0)).body);
      };
      if (stream) await expect(reading()).rejects.toThrow('cut short');
      else expect((await ask(0)).status).toBe(424);
      expect(await (await ask(1)).toResponse().json()).toMatchObject({ error: { type: 'retry_refused' } });
      expect(at.chats()).toHaveLength(1);
    },
  );

  it('answers an error without any content if the reply was not encrypted', async () => {
    const at = standIn(kind);
    const clear = {
      id: 'x',
      object: 'chat.completion',
      created: 1,
      model: 'stand-in/model',
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'in clear' } }],
    };
    at.relays((each) => (each.headers.has('x-router-privacy-class') ? json(clear) : each));
    const answer = await at.ask(question);
    expect(answer.headers.get('x-should-retry')).toBe('false');
    expect(await answer.text()).toMatch(/"type":"e2ee_/);
  });

  it('chooses the enclave by the policy, and among several a pinned one', async () => {
    const routes = ['first', 'second/eu', kind].map((provider) => ({ provider, privacy_class: 'e2ee' }));
    const clear = { provider: 'clear', privacy_class: 'private' };
    const chosen = async (asked: object, pins: string[] = [], pinned = model): Promise<unknown> => {
      const providers = Object.fromEntries(
        pins.map((provider) => [provider, { family: 'near' as const, models: { [pinned]: 'up/model' } }]),
      );
      const at = standIn(kind, { pins: { gateway: {}, providers } });
      at.lists([clear, ...routes]);
      const answer = await at.ask({ ...question, provider: { ...policy, ...asked } });
      const attested = at.toControl.find(({ path }) => path === '/v1/inference/attestation-tickets');
      return attested === undefined
        ? ((await answer.json()) as { error: { type: string } }).error.type
        : (JSON.parse(attested.text) as { provider: string }).provider;
    };
    expect(await chosen({})).toBe('first');
    expect(await chosen({}, ['second'])).toBe('second/eu');
    expect(await chosen({}, ['second'], 'another/model')).toBe('first');
    expect(await chosen({ only: ['second'] })).toBe('second/eu');
    expect(await chosen({ ignore: ['first', 'second'] })).toBe(kind);
    expect(await chosen({ order: [kind] }, ['second'])).toBe(kind);
    expect(await chosen({ only: ['clear'] })).toBe('no_provider_route_meets_privacy');
  });
});

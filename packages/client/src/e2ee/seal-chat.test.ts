import { sseKeepAlive } from '@sotto/wire';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { vouchForKey } from './enclave-key.ts';
import { sealChat } from './seal-chat.ts';
import { exchange, openStream, openWhole } from './testing/exchange.ts';
import { type HeardMessage, standInEnclave, standInKinds, standInModel } from './testing/index.ts';

const question = { role: 'user', content: 'Grüße, 世界 👋' };

describe.each(standInKinds)('chat with %s', { timeout: 30_000 }, (kind) => {
  it('is answered whole, under the name that the caller used', async () => {
    const shown = await openWhole(await exchange(standInEnclave(kind), { model: 'acme/small', messages: [question] }));
    expect(shown.model).toBe('acme/small');
    expect(shown.choices).toEqual([
      {
        index: 0,
        message: {
          role: 'assistant',
          content: 'You said: Grüße, 世界 👋',
          refusal: null,
          reasoning: 'Thinking.',
          reasoning_content: 'Thinking.',
        },
        logprobs: null,
        finish_reason: 'stop',
      },
    ]);
    expect(shown.usage).toEqual({ prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 });
  });

  it('is answered as a stream, with usage if the request asks for it', async () => {
    const body = { model: 'acme/small', messages: [question], stream: true };
    const shown = await openStream(await exchange(standInEnclave(kind), body));
    expect(shown.failure).toBeUndefined();
    expect(shown.content).toBe('You said: Grüße, 世界 👋');
    expect(shown.reasoning).toBe('Thinking.');
    expect(shown.text.endsWith('data: [DONE]\n\n')).toBe(true);
    const roles = shown.chunks.map(({ choices: [choice] }) => choice?.delta?.role ?? '');
    expect([roles[0], roles.join('')]).toEqual(['assistant', 'assistant']);
    expect(shown.chunks.some(({ usage }) => usage !== undefined)).toBe(false);
    expect(new Set(shown.chunks.map(({ model }) => model))).toEqual(new Set(['acme/small']));
    const counted = await openStream(
      await exchange(standInEnclave(kind), { ...body, stream_options: { include_usage: true } }),
    );
    expect(counted.chunks.at(-1)?.usage).toMatchObject({ total_tokens: 18 });
  });

  it('opens the same, however the network cuts the stream', async () => {
    const body = { model: 'acme/small', messages: [question], stream: true };
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat()), async (cuts) => {
        const exchanged = await exchange(standInEnclave(kind), body);
        const bytes = Buffer.concat(exchanged.answer.pieces);
        const at = [...new Set(cuts.map((cut) => cut % bytes.length))].sort((a, b) => a - b);
        const pieces = [0, ...at].map((start, i) => bytes.subarray(start, at[i] ?? bytes.length));
        const shown = await openStream(exchanged, pieces);
        expect(shown).toMatchObject({
          failure: undefined,
          content: 'You said: Grüße, 世界 👋',
          reasoning: 'Thinking.',
        });
      }),
      { numRuns: 4 },
    );
    const exchanged = await exchange(standInEnclave(kind), body);
    const single = [...Buffer.concat(exchanged.answer.pieces)].map((byte) => Uint8Array.of(byte));
    expect(await openStream(exchanged, single)).toMatchObject({ failure: undefined, reasoning: 'Thinking.' });
  });

  it('has a comment for a piece that completes no event: programs give up a silent answer', async () => {
    const exchanged = await exchange(standInEnclave(kind), { model: 'm', messages: [question], stream: true });
    const bytes = Buffer.concat(exchanged.answer.pieces);
    const shown = await openStream(exchanged, [bytes.subarray(0, 1), bytes.subarray(1)]);
    expect(shown.failure).toBeUndefined();
    expect(shown.text.startsWith(sseKeepAlive)).toBe(true);
  });

  it('receives every turn of a conversation, sent again under new keys', async () => {
    let heard: readonly HeardMessage[] = [];
    const enclave = standInEnclave(kind, {
      speak: (messages) => {
        heard = messages;
        return { content: ['ok'] };
      },
    });
    const messages = [
      { role: 'system', content: '' },
      { role: 'user', content: '["not", "parts"]' },
      { role: 'assistant', content: 'I answered.', reasoning: 'dropped', refusal: null, annotations: [] },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'one' },
          { type: 'text', text: 'two' },
        ],
      },
    ];
    const first = await exchange(enclave, { model: 'm', messages });
    // Text that looks like a list arrives as one text part. Otherwise the enclave would read it as content parts.
    const asList = (text: string) => (kind === 'tinfoil' || kind === 'chutes' ? text : [{ type: 'text', text }]);
    expect(heard).toEqual([
      { role: 'system', content: '' },
      { role: 'user', content: asList('["not", "parts"]') },
      { role: 'assistant', content: 'I answered.' },
      { role: 'user', content: 'one\ntwo' },
    ]);
    const second = await exchange(enclave, { model: 'm', messages });
    expect(second.answer.status).toBe(200);
    for (const header of ['x-client-pub-key', 'x-venice-tee-client-pub-key', 'ehbp-encapsulated-key', 'x-e2e-nonce']) {
      const value = first.sealed.headers[header];
      if (value !== undefined) expect(second.sealed.headers[header]).not.toBe(value);
    }
    expect(Buffer.from(second.sealed.body)).not.toEqual(Buffer.from(first.sealed.body));
  });

  it('sends the settings and the output limit', async () => {
    const enclave = standInEnclave(kind);
    const key = vouchForKey(enclave.nextKey());
    const sealed = await sealChat(
      key,
      { model: 'm', messages: [question], temperature: 0.5, reasoning: { effort: 'low' }, provider: 'acme' },
      { maxOutputTokens: 512 },
    );
    expect((await enclave.answer({ headers: sealed.headers, body: sealed.body })).status).toBe(200);
    if (kind === 'tinfoil' || kind === 'chutes') return;
    expect(JSON.parse(Buffer.from(sealed.body).toString())).toMatchObject({
      model: standInModel,
      temperature: 0.5,
      reasoning_effort: 'low',
      max_tokens: 512,
    });
  });

  it('is sealed to the one enclave only', async () => {
    const sealed = await sealChat(vouchForKey(standInEnclave(kind).nextKey()), { model: 'm', messages: [question] });
    const other = standInEnclave(kind);
    const headers = { ...sealed.headers };
    // Use the other enclave's headers, so that the request looks as if it were for that one.
    const othersHeaders = (await sealChat(vouchForKey(other.nextKey()), { model: 'm', messages: [question] })).headers;
    for (const name of ['x-model-pub-key', 'x-venice-tee-model-pub-key', 'x-e2e-nonce']) {
      const value = othersHeaders[name];
      if (value !== undefined) headers[name] = value;
    }
    const { status } = await other.answer({ headers, body: sealed.body });
    expect(status).toBe(kind === 'tinfoil' ? 422 : 400);
  });

  it('opens one reply, once', async () => {
    const exchanged = await exchange(standInEnclave(kind), { model: 'm', messages: [question] });
    await openWhole(exchanged);
    await expect(openWhole(exchanged)).rejects.toThrow('once');
    exchanged.sealed.discard();
  });
});

describe('a key', () => {
  const body = { model: 'm', messages: [question] };

  it('is used only if it was vouched for: a bare key and a copy are refused', async () => {
    const bare = standInEnclave('near-ed25519').nextKey();
    // @ts-expect-error: the type alone rejects a key without a verification
    await expect(sealChat(bare, body)).rejects.toMatchObject({ code: 'attestation_untrusted' });
    await expect(sealChat({ ...vouchForKey(bare) }, body)).rejects.toMatchObject({ code: 'attestation_untrusted' });
  });

  it('of Chutes serves one request, and none once its nonce has expired', async () => {
    const enclave = standInEnclave('chutes');
    const key = vouchForKey(enclave.nextKey());
    await sealChat(key, body);
    await expect(sealChat(key, body)).rejects.toMatchObject({ code: 'e2ee_key_used' });
    const late = { now: Date.now() + 60_001 };
    await expect(sealChat(vouchForKey(enclave.nextKey()), body, late)).rejects.toMatchObject({
      code: 'e2ee_key_expired',
    });
  });

  it.each(standInKinds)('of %s is refused if its bytes are not a key', async (kind) => {
    const good = standInEnclave(kind).nextKey();
    // ML-KEM coefficients are below 3329, so 4095 is invalid. On the curves, zero is not a point, or has low order.
    const publicKey = new Uint8Array(good.publicKey.length).fill(kind === 'chutes' ? 255 : 0);
    await expect(sealChat(vouchForKey({ ...good, publicKey }), body)).rejects.toMatchObject({
      code: 'e2ee_key_invalid',
    });
  });
});

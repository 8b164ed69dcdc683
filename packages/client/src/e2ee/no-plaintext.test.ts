import { relayHeaders, relayRules, sealedChatSchema, sealedContentBytes } from '@sotto/wire';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ClientError } from '../errors.ts';
import { vouchForKey } from './enclave-key.ts';
import { sealChat } from './seal-chat.ts';
import { standInEnclave, standInKinds } from './testing/index.ts';
import { leaksIn, secretChat } from './testing/secret-chat.ts';

/** Time in ms. Every message costs a key agreement, and not every curve is native to the platform. */

describe.each(standInKinds)('a sealed request to %s', (kind) => {
  const enclave = standInEnclave(kind);

  it('holds no plaintext, whatever its roles and shape, and passes the relay', async () => {
    let sealedRequests = 0;
    await fc.assert(
      fc.asyncProperty(secretChat, async (body) => {
        let sealed: Awaited<ReturnType<typeof sealChat>>;
        try {
          sealed = await sealChat(vouchForKey(enclave.nextKey()), body);
        } catch (error) {
          expect(error).toBeInstanceOf(ClientError);
          expect(leaksIn(JSON.stringify([(error as ClientError).message, (error as ClientError).param]))).toEqual([]);
          return;
        }
        sealedRequests += 1;
        const wire = JSON.stringify(sealed.headers) + Buffer.from(sealed.body).toString('latin1');
        expect(leaksIn(wire)).toEqual([]);
        const relayed = relayHeaders(sealed.family, (name) => sealed.headers[name]);
        expect(relayed).toMatchObject({ ok: true });
        expect(Object.keys(sealed.headers)).toHaveLength(relayed.ok ? relayed.headers.length / 2 : -1);
        if (!relayed.ok || relayRules[sealed.family].metering !== 'fields') return;
        sealedChatSchema(relayed.variant.fieldOverheadBytes ?? 0).parse(
          JSON.parse(Buffer.from(sealed.body).toString()),
        );
      }),
      { numRuns: 40 },
    );
    // If every request were refused, the checks above would prove nothing.
    expect(sealedRequests).toBeGreaterThan(8);
  });

  it('lets the relay count the bytes of the text without reading it', async () => {
    const rule = relayRules[kind.split('-')[0] as keyof typeof relayRules];
    if (rule.metering !== 'fields') return;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.string({ unit: 'grapheme' }), { minLength: 1, maxLength: 4 }), async (texts) => {
        const plain = texts.map((text) => `t${text}`);
        const messages = plain.map((text) => ({ role: 'user', content: text }));
        const sealed = await sealChat(vouchForKey(enclave.nextKey()), { model: 'm', messages });
        const relayed = relayHeaders(sealed.family, (name) => sealed.headers[name]);
        const overhead = (relayed.ok && relayed.variant.fieldOverheadBytes) || 0;
        const seen = sealedChatSchema(overhead).parse(JSON.parse(Buffer.from(sealed.body).toString()));
        expect(sealedContentBytes(seen, overhead)).toBe(Buffer.byteLength(plain.join('')));
      }),
      { numRuns: 8 },
    );
  });
});

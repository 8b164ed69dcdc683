import type { StandInKind } from '@sotto/client/testing';
import { describe, expect, it } from 'vitest';
import { chargeOf } from '../../kit/books.ts';
import { until } from '../../kit/service.ts';
import { askSealed, open, prepare } from './ask.ts';
import { answerOf, beginSuite, type SealedHandler, type SealedStage } from './world.ts';

const rawText = 'RAW-PROVIDER-ERROR';

const says =
  (status: number, type: string, body: string, headers: Record<string, string> = {}): SealedHandler =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': type, ...headers });
    response.end(body);
  };
const json = 'application/json';
const noFallback: [number, string] = [503, 'provider_fallback_not_supported_for_e2ee'];
const invalid: [number, string] = [400, 'invalid_request'];

const failures: [what: string, does: SealedHandler, expected: [number, string]][] = [
  ['400', says(400, json, `{"error":{"message":"${rawText}"}}`), invalid],
  ['413', says(413, json, rawText), invalid],
  ['422', says(422, json, rawText), invalid],
  ['a refusal of the content', says(400, json, '{"error":{"code":"content_filter"}}'), invalid],
  ['429', says(429, json, rawText, { 'retry-after': '7' }), [429, 'rate_limited']],
  ['a key that it has no more', says(400, json, '{"error":{"type":"e2ee_model_key_mismatch"}}'), noFallback],
  [
    'a configuration that it has no more',
    says(422, 'application/problem+json', '{"type":"urn:ietf:params:ehbp:error:key-config"}'),
    noFallback,
  ],
  ['401', says(401, json, rawText), noFallback],
  ['402', says(402, json, rawText), noFallback],
  ['403', says(403, json, rawText), noFallback],
  ['404', says(404, json, rawText), noFallback],
  ['500', says(500, json, rawText), noFallback],
  ['503', says(503, 'text/html', rawText), noFallback],
  ['a redirect', says(307, json, rawText, { location: '/v1/again' }), noFallback],
  ['an empty answer', says(200, json, ''), noFallback],
  ['a page', says(200, 'text/html', rawText), noFallback],
  ['a type with words in it', says(200, `application/json; note="${rawText}"`, '{}'), noFallback],
  ['a compressed answer', says(200, json, rawText, { 'content-encoding': 'gzip' }), noFallback],
  ['a closed connection', (_request, response) => void response.destroy(), noFallback],
];

/** The broker recognizes these answers only if fields are sealed one by one. */
const inClear: [what: string, does: SealedHandler][] = [
  ['half an answer', says(200, json, '{"choices":[{"mess')],
  ['an error under status 200', says(200, json, `{"error":{"message":"${rawText}"}}`)],
  ['an answer without choices', says(200, json, '{"choices":[]}')],
];

export function failuresSuite(stage: SealedStage): void {
  describe('a provider of a sealed request that fails', () => {
    const account = beginSuite(stage);

    const failsWith = async (
      kind: StandInKind,
      does: SealedHandler,
      stream: boolean,
      [status, type]: [number, string],
    ) => {
      const provider = stage.standIns.provider(kind);
      provider.reset();
      provider.answer(does);
      const charge = await chargeOf(stage.service, account, async () => {
        const { answer } = await askSealed(stage.service, account, provider, { stream });
        expect(answer.status).toBe(status);
        const text = answer.bytes.toString();
        expect(JSON.parse(text)).toMatchObject({ error: { type } });
        expect(text).not.toContain(rawText);
        if (status === 503) expect(answer.headers['x-should-retry']).toBe('false');
        if (status === 429) expect(answer.headers['retry-after']).toBe('7');
      });
      expect(charge).toBe(0n);
      expect(provider.seen).toHaveLength(1);
    };

    it.each(failures)('with %s is the end, and free', async (_, does, expected) => {
      for (const kind of ['near-ed25519', 'tinfoil', 'chutes'] as const) {
        for (const stream of [false, true]) await failsWith(kind, does, stream, expected);
      }
    });

    it.each(inClear)('with %s is the end, and free', async (_, does) => {
      await failsWith('phala-aci-x25519', does, false, noFallback);
    });

    it('answers a streaming request with JSON, which does not count as output', async () => {
      await failsWith('near-ed25519', says(200, json, '{"choices":[{"delta":{}}]}'), true, noFallback);
    });

    it('answers in clear although the scheme marks sealed answers by a header, which does not count as output', async () => {
      await failsWith(
        'tinfoil',
        says(200, json, '{"choices":[{"message":{"content":"in clear"}}]}'),
        false,
        noFallback,
      );
    });

    it('says nothing in time: 503, and no other provider is asked', async () => {
      await failsWith('near-ed25519', () => {}, true, noFallback);
    }, 20_000);

    it.each(['near-ed25519', 'venice', 'tinfoil', 'chutes'] as const)(
      'breaks off a stream of %s: so does the broker, without a message of its own, and the client pays nothing',
      async (kind) => {
        const provider = stage.standIns.provider(kind);
        let breakOff = (): void => {};
        let sent = Buffer.alloc(0);
        provider.answer(async (request, response) => {
          const { status, headers, pieces } = await answerOf(provider.enclave, request);
          response.writeHead(status, headers);
          sent = Buffer.concat(pieces.slice(0, 4));
          response.write(sent);
          breakOff = () => response.destroy();
        });
        const charge = await chargeOf(stage.service, account, async () => {
          const underWay = open(stage.service, await prepare(stage.service, account, provider, { stream: true }));
          await until(() => sent.length > 0 && underWay.received === sent.length, 'all that was sent has come');
          breakOff();
          const answer = await underWay.answer;
          expect(answer.ended).toBe('broken');
          expect(answer.bytes.equals(sent)).toBe(true);
        });
        expect(charge).toBe(0n);
      },
    );

    it('ends a stream of fields without its terminator: so does the broker', async () => {
      const provider = stage.standIns.provider('near-ed25519');
      provider.answer(async (request, response) => {
        const { status, headers, pieces } = await answerOf(provider.enclave, request);
        response.writeHead(status, headers);
        response.end(Buffer.concat(pieces.slice(0, 4)));
      });
      const { answer } = await askSealed(stage.service, account, provider, { stream: true });
      expect(answer.ended).toBe('broken');
    });

    it('closes the provider’s connection at once where the client leaves', async () => {
      const provider = stage.standIns.provider('near-ed25519');
      provider.answer(async (request, response) => {
        const { status, headers, pieces } = await answerOf(provider.enclave, request);
        response.writeHead(status, headers);
        response.write(Buffer.concat(pieces.slice(0, 3)));
        // Pings, so that no limit on silence ends the stream.
        const pings = setInterval(() => response.write(': ping\n\n'), 100);
        response.once('close', () => clearInterval(pings));
      });
      const underWay = open(stage.service, await prepare(stage.service, account, provider, { stream: true }));
      await underWay.started;
      const leftAt = performance.now();
      underWay.leave();
      await provider.seen[0]?.closed;
      // The broker closes it within a few ms. Otherwise the total time limit of 6 s would end it.
      expect(performance.now() - leftAt).toBeLessThan(5000);
    });
  });
}

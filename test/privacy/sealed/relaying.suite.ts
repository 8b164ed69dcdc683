import { type StandInKind, standInKinds } from '@sotto/client/testing';
import { relayRules } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { askSealed, opened, prepare } from './ask.ts';
import { beginSuite, providerKey, type SealedStage } from './world.ts';

const ways: [StandInKind, boolean][] = standInKinds.flatMap((kind) =>
  [false, true].map((stream): [StandInKind, boolean] => [kind, stream]),
);

/** The bytes that the broker relays, and how. */
export function relayingSuite(stage: SealedStage): void {
  describe('sealed chat', () => {
    const account = beginSuite(stage);

    it.each(ways)('speaks over several turns through %s, streamed: %s', async (kind, stream) => {
      const { service, standIns } = stage;
      const provider = standIns.provider(kind);
      const first = { role: 'user', content: 'Tell me of Grüße and 雪.' };
      const one = await askSealed(service, account, provider, { stream, messages: [first] });
      expect(one.answer.status, one.answer.bytes.toString()).toBe(200);
      const said = await opened(one.prepared, one.answer);
      expect(said).toBe(`You said: ${first.content}`);
      const messages = [first, { role: 'assistant', content: said }, { role: 'user', content: 'And then?' }];
      const two = await askSealed(service, account, provider, { stream, messages });
      expect(await opened(two.prepared, two.answer)).toContain('And then?');
    });

    it.each(ways)('forwards the bytes of %s unchanged in both directions, streamed: %s', async (kind, stream) => {
      const provider = stage.standIns.provider(kind);
      const { prepared, answer } = await askSealed(stage.service, account, provider, { stream });
      const [seen, ...more] = provider.seen;
      expect(more).toEqual([]);
      expect(seen?.bytes.equals(prepared.body)).toBe(true);
      expect(answer.bytes.equals(Buffer.concat(seen?.answer?.pieces ?? []))).toBe(true);
    });

    it.each(ways)('tells %s only what its scheme needs to know of the client, streamed: %s', async (kind, stream) => {
      const provider = stage.standIns.provider(kind);
      const { prepared } = await askSealed(stage.service, account, provider, { stream });
      const [seen] = provider.seen;
      const rule = relayRules[provider.family];
      expect(seen?.path).toBe(`/v1${rule.path}`);
      const { host: _, accept: __, ...headers } = seen?.headers ?? {};
      expect(headers).toEqual({
        ...prepared.sealed.headers,
        authorization: `Bearer ${providerKey}`,
        'content-type': rule.contentType,
        'content-length': String(prepared.body.length),
        'accept-encoding': 'identity',
        connection: 'keep-alive',
      });
    });

    it.each(ways)('answers of %s carry the headers of every answer, streamed: %s', async (kind, stream) => {
      const provider = stage.standIns.provider(kind);
      const { answer } = await askSealed(stage.service, account, provider, { stream });
      expect(answer.headers).toMatchObject({
        'x-router-provider': kind,
        'x-router-selected-model': `${kind}/sealed/${kind}`,
        'x-router-privacy-class': 'e2ee',
        'x-router-provider-attempts': '1',
        'x-router-provider-fallback': 'false',
        'x-router-routing': 'exact',
        'x-router-provider-request-id': expect.stringMatching(/^preq_/),
        'x-ratelimit-remaining-requests': expect.any(String),
        'cache-control': 'no-store',
      });
      expect(answer.headers).not.toHaveProperty('x-own-header');
      const own = provider.seen[0]?.answer?.headers ?? {};
      for (const name of ['content-type', ...relayRules[provider.family].responseHeaders]) {
        expect(answer.headers[name]).toBe(own[name]);
      }
    });

    /** An event stream of fields, and the pieces in which the provider writes it. */
    const endings: [string, readonly string[], boolean | 'breaks'][] = [
      ['in one piece with the rest', ['{"choices":[]}\n\ndata: [DONE]\n\n'], true],
      ['in pieces', ['{"choices":[]}\n\nda', 'ta: [DO', 'NE]\n', '\n'], true],
      ['with something after it', ['{"choices":[]}\n\ndata: [DONE]\n\n', ': bye\n\n'], true],
      ['on a connection that stays open', ['{"choices":[]}\n\ndata: [DONE]\n\n'], false],
      ['on a connection that breaks', ['{"choices":[]}\n\ndata: [DONE]\n\n'], 'breaks'],
      ['with other line ends', ['{"choices":[]}\r\n\r\ndata: [DONE]\r\n\r\n'], true],
    ];
    it.each(endings)('forwards the terminator of a stream as it arrives: %s', async (_, pieces, ends) => {
      const provider = stage.standIns.provider('near-ed25519');
      provider.answer(async (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (const piece of ['data: ', ...pieces]) {
          await new Promise((resolve) => response.write(piece, resolve));
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
        if (ends === 'breaks') response.destroy();
        else if (ends) response.end();
      });
      const { answer } = await askSealed(stage.service, account, provider, { stream: true });
      expect(answer.ended).toBe('answered');
      expect(answer.bytes.toString()).toBe(`data: ${pieces.join('')}`);
    });

    it.each(['near-ed25519', 'tinfoil', 'chutes'] as const)(
      'forwards megabytes of %s to a client that reads slowly',
      async (kind) => {
        const { service, standIns } = stage;
        const provider = standIns.provider(kind);
        const { headers, body } = await prepare(service, account, provider, { stream: true });
        const sent = kind === 'tinfoil' ? frames(3_000_000) : Buffer.from(events(3_000_000));
        provider.answer(async (_request, response) => {
          const nonce = kind === 'tinfoil' ? { 'ehbp-response-nonce': 'ab'.repeat(32) } : {};
          response.writeHead(200, { 'content-type': 'text/event-stream', ...nonce });
          response.end(sent);
        });
        const answer = await fetch(`${service.baseUrl}/chat/completions`, {
          method: 'POST',
          headers,
          body: new Uint8Array(body),
        });
        const pieces: Uint8Array[] = [];
        for await (const piece of answer.body ?? []) {
          pieces.push(piece);
          if (pieces.length % 4 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
        }
        expect(Buffer.concat(pieces).equals(sent)).toBe(true);
      },
    );
  });
}

/** An event stream of about this many bytes, with its terminator. */
function events(bytes: number): string {
  const event = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'ab'.repeat(300) } }] })}\n\n`;
  return `${event.repeat(Math.ceil(bytes / event.length))}data: [DONE]\n\n`;
}

/** Frames of about this many bytes, with all byte values. */
function frames(bytes: number): Buffer {
  const frame = Buffer.from(Uint8Array.from({ length: 4 + 1000 }, (_, at) => (at * 31) % 256));
  frame.writeUInt32BE(1000);
  return Buffer.concat(Array.from({ length: Math.ceil(bytes / frame.length) }, () => frame));
}

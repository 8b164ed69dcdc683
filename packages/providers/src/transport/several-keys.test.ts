import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { Heard } from '../testing/heard.ts';
import { KeyRing } from './key-ring.ts';
import { openUpstream, type UpstreamCall } from './upstream.ts';

const keys = ['one', 'two'].map((name) => ({
  variable: name,
  weight: 1,
  headers: ['authorization', `Bearer ${name}`],
}));
const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

/** A provider on loopback that refuses these keys, and a call of it. */
async function calling(refused: readonly string[], onAsked: (call: UpstreamCall, key: string) => void = () => {}) {
  const seen: { readonly key: string; readonly bytes: number }[] = [];
  const closed: Promise<void>[] = [];
  const server = createServer((incoming, response) => {
    closed.push(new Promise((resolve) => response.once('close', () => resolve())));
    response.on('error', () => {});
    let bytes = 0;
    incoming.on('data', (piece: Buffer) => {
      bytes += piece.length;
    });
    incoming.on('end', () => {
      const key = String(incoming.headers.authorization).replace('Bearer ', '');
      seen.push({ key, bytes });
      onAsked(made, key);
      response.writeHead(refused.includes(key) ? 429 : 200).end(`{"by":"${key}"}`);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const ring = new KeyRing(keys, { now: () => 1, random: () => 0, onSetAside: () => {} });
  const upstream = openUpstream({ baseUrl: `http://127.0.0.1:${port}/v1`, headers: ring, connectTimeoutMs: 5000 });
  stops.push(
    () => upstream.close(),
    () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  );
  const heard = new Heard();
  const request = { path: '/chat/completions', body: 'x'.repeat(300_000), accept: 'application/json' };
  const made = upstream.call(request, heard);
  return { heard, seen, closed };
}

describe('a call with several keys', () => {
  it('is sent again with another key, whole, if the provider refuses one', async () => {
    const { heard, seen } = await calling(['one']);
    await heard.over;
    expect(heard.told).toEqual(['response 200', 'bytes', 'end']);
    expect(heard.body).toBe('{"by":"two"}');
    expect(seen.map(({ key, bytes }) => [key, bytes])).toEqual([
      ['one', 300_000],
      ['two', 300_000],
    ]);
  });

  it('reports the last refusal if no key is left, once', async () => {
    const { heard, seen } = await calling(['one', 'two']);
    await heard.over;
    expect(heard.told).toEqual(['response 429', 'bytes', 'end']);
    expect(seen).toHaveLength(2);
  });

  it('that was ended while it is sent again reports nothing', async () => {
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const { heard, closed } = await calling(['one'], (call, key) => {
      if (key !== 'two') return;
      call.abort();
      resolve();
    });
    await ended;
    await closed[1];
    expect(heard.told).toEqual([]);
  });
});

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { tlsExporter, verifyGateway } from '@sotto/attestation';
import { certifyServer, Issuer } from '@sotto/attestation/testing';
import { afterEach, expect, it } from 'vitest';
import { GatewaySession } from '../gateway/gateway-session.ts';
import { simulatedEvidence } from '../gateway/testing/simulated-evidence.ts';
import { shippedPins } from '../pins/client-pins.ts';
import { nodePlatform } from './node-platform.ts';

let stop = async (): Promise<void> => undefined;
afterEach(() => stop());

/** A service that closes its first `closing` connections with the evidence about them, and a session with it. */
async function world(closing: number) {
  const methods = new Map<Socket, string[]>();
  const credentials = await certifyServer(await Issuer.make('an authority'));
  const spkiSha256 = [createHash('sha256').update(credentials.spki).digest('hex')];
  const server = createServer(credentials, async ({ socket, method = '', url = '' }, response) => {
    if (!(socket instanceof TLSSocket)) throw new Error('a request without TLS');
    methods.set(socket, [...(methods.get(socket) ?? []), method]);
    if (method === 'POST') return void response.end('answer');
    if (methods.size <= closing) response.setHeader('connection', 'close');
    const nonce = new URL(url, origin).searchParams.get('nonce') ?? '';
    const exporter = socket.exportKeyingMaterial(tlsExporter.bytes, tlsExporter.label, Buffer.alloc(0));
    response.end(JSON.stringify(await simulatedEvidence(nonce, { origin, spkiSha256, bindsChannels: true }, exporter)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const session = new GatewaySession({
    ...{ platform: nodePlatform({ selfSigned: true }), verifyGateway, origin, pins: shippedPins, now: Date.now },
    ...{ minimumVerdict: 'hardware_verified', allowSimulated: true, maxAgeMs: 60_000, onVerified: () => undefined },
  });
  stop = async () => {
    session.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { session, requests: () => [...methods.values()] };
}

// A broker that shuts down closes connections this way, which says nothing about who answers.
it.each([1, 2])(
  'attests another connection when a service closes the first %i with their evidence',
  async (closing) => {
    const { session, requests } = await world(closing);
    const answer = await session.send({
      path: '/v1/chat/completions',
      headers: {},
      body: 'content',
      signal: undefined,
    });
    expect(await answer.toResponse().text()).toBe('answer');
    expect(requests().at(-1)).toEqual(['GET', 'POST']);
    expect(requests().slice(0, closing)).toEqual(Array(closing).fill(['GET']));
  },
);

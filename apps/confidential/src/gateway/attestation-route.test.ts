import { once } from 'node:events';
import { Agent, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { simulatedProducer } from '@sotto/attestation/producers';
import { AddressLimit, createServer } from '@sotto/server';
import type { FastifyInstance } from 'fastify';
import { afterEach, expect, it } from 'vitest';
import { makeTlsKey } from '../tls/tls-key.ts';
import { serveGatewayAttestation } from './attestation-route.ts';
import { GatewayAttestation } from './gateway-attestation.ts';
import { KeySetKeeper, makeReceiptKey } from './key-set-keeper.ts';

const origin = 'https://broker.example';
let app: FastifyInstance | undefined;
const agents: Agent[] = [];
afterEach(async () => {
  for (const agent of agents.splice(0)) agent.destroy();
  await app?.close();
});

/** Serves evidence over TLS to one request of each address a minute. Returns a new connection. */
async function serve(): Promise<() => (query: string) => Promise<[status: number, isBound: boolean]>> {
  const now = Date.now();
  const key = await makeTlsKey('localhost', { from: now - 60_000, until: now + 3_600_000 });
  const keySets = new KeySetKeeper({
    ...{ origin, receiptKey: makeReceiptKey().named, registryDigest: '00'.repeat(32), now: Date.now },
    tlsKeys: () => ({ spkiSha256: [key.spkiSha256], until: now + 3_600_000 }),
  });
  const attestation = new GatewayAttestation({
    ...{ producer: await simulatedProducer(), keySets, origin, provenance: undefined, onFailed: () => {} },
  });
  const made = createServer({
    ...{ bodyLimit: 1024, maxHeaderBytes: 8192, trustProxy: false, isOpenToPages: () => true },
    ...{ onShed: () => {}, onUnexpected: () => {}, tls: { key: key.keyPem, cert: key.certificatePem } },
  });
  app = made;
  const limit = new AddressLimit({ perMinute: 1, maxAddresses: 10, now: Date.now });
  serveGatewayAttestation(made, { attestation, limit });
  await made.listen({ host: '127.0.0.1', port: 0 });
  const { port } = made.server.address() as AddressInfo;
  return () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });
    agents.push(agent);
    return async (query) => {
      const asked = request({ agent, port, host: '127.0.0.1', path: `/v1/gateway/attestation?${query}` }).end();
      const [answer] = await once(asked, 'response');
      const text = Buffer.concat(await answer.toArray()).toString();
      return [answer.statusCode, JSON.parse(text).channel !== undefined];
    };
  };
}

const nonce = `nonce=${'ab'.repeat(32)}`;
const bound = `${nonce}&binding=channel`;

it('gives each connection evidence about itself, however many share an address, and limits all other evidence', async () => {
  const connection = await serve();
  const [plain, one, other] = [connection(), connection(), connection()];
  expect(await plain(nonce)).toEqual([200, false]);
  expect(await plain(nonce)).toEqual([429, false]);
  for (const each of [one, other]) expect(await each(bound)).toEqual([200, true]);
  // A second time on the same connection.
  expect(await one(bound)).toEqual([429, false]);
  expect(await connection()(bound)).toEqual([200, true]);
});

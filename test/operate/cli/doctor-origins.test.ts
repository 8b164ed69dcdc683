import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { makeTlsKey } from '@sotto/confidential/testing';
import { examineOrigin } from '@sotto/control/testing';
import { freePort } from '@sotto/test-servers';
import { afterEach, expect, it } from 'vitest';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** Serves these statuses by path, with TLS for a name if one is given. Resolves to the port. */
async function serve(statuses: Readonly<Record<string, number>>, tlsName?: string): Promise<number> {
  const handler: RequestListener = ({ url = '' }, response) => {
    response.writeHead(statuses[url.split('?')[0] ?? ''] ?? 404).end();
  };
  const now = Date.now();
  const key = await makeTlsKey(tlsName ?? 'localhost', { from: now - 60_000, until: now + 3_600_000 });
  const server =
    tlsName === undefined
      ? createHttpServer(handler)
      : createHttpsServer({ key: key.keyPem, cert: key.certificatePem }, handler);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

it('asks at another address if the name leads elsewhere, and still under that name', async () => {
  const port = await serve({ '/readyz': 200 });
  const address = { hostname: '127.0.0.1', port };
  expect(await examineOrigin('control', 'http://control.invalid', address)).toEqual({
    verdict: 'ok',
    subject: 'control',
    found: `is ready at http://control.invalid (asked at 127.0.0.1:${port})`,
  });
});

it('accepts a certificate of the broker’s own where the broker gives evidence, and warns of plain SDKs', async () => {
  const port = await serve({ '/readyz': 200, '/v1/gateway/attestation': 200 }, 'localhost');
  const found = await examineOrigin('broker', `https://127.0.0.1:${port}`);
  expect(found).toMatchObject({ verdict: 'warning', found: expect.stringContaining('only verifying clients accept') });
});

it('calls a certificate of the broker’s own wrong where no client can verify it', async () => {
  const port = await serve({ '/readyz': 200 }, 'localhost');
  expect(await examineOrigin('broker', `https://127.0.0.1:${port}`)).toMatchObject({
    verdict: 'wrong',
    found: expect.stringContaining('no evidence: no client accepts it'),
    advice: expect.stringContaining('docker compose logs certificate'),
  });
  const unready = await serve({ '/readyz': 503, '/v1/gateway/attestation': 200 }, 'localhost');
  expect(await examineOrigin('broker', `https://127.0.0.1:${unready}`)).toMatchObject({
    verdict: 'wrong',
    found: expect.stringContaining('is not ready'),
  });
});

it.each([
  ['a name without an address', async () => 'https://sotto.invalid', /has no address here: add it to DNS/],
  ['a closed port', async () => `http://127.0.0.1:${await freePort()}`, /its port is published, and CONTROL_ORIGIN/],
  ['no TLS', async () => `https://127.0.0.1:${await serve({})}`, /does not answer TLS/],
  ['a certificate of one’s own', async () => `https://127.0.0.1:${await serve({}, 'x')}`, /of no authority/],
  [
    'another service',
    async () => `http://127.0.0.1:${await serve({})}`,
    /point the proxy in front of it to the right process/,
  ],
])('names %s, with a hint', async (_, origin, advice) => {
  expect(await examineOrigin('control', await origin())).toMatchObject({
    verdict: 'wrong',
    advice: expect.stringMatching(advice),
  });
});

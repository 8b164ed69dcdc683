import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { verifyGateway } from '@sotto/attestation';
import { expect, it } from 'vitest';
import { shippedPins } from '../pins/client-pins.ts';
import { nodePlatform } from '../platform/node-platform.ts';
import { verifyOrigin } from './verify-origin.ts';

it('gives up on evidence that arrives too slowly, and says why a connection failed', async () => {
  const server = createServer((_, response) => {
    response.writeHead(200);
    const drip = setInterval(() => response.write(' '), 10);
    response.once('close', () => clearInterval(drip));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const question = {
    platform: nodePlatform({ selfSigned: false }),
    verifyGateway,
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    pins: shippedPins.gateway,
    now: Date.now,
  };
  const given = await verifyOrigin({ ...question, withinMs: 200 });
  expect(given).toMatchObject({ verdict: 'unavailable', absence: 'The connection failed.' });
  const left = verifyOrigin({ ...question, signal: AbortSignal.timeout(100) });
  await expect(left).rejects.toMatchObject({ name: 'TimeoutError' });
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  expect(await verifyOrigin(question)).toMatchObject({ absence: 'The connection failed (ECONNREFUSED).' });
});

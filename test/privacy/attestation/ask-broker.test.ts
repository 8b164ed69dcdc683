import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { makeTlsKey } from '@sotto/confidential/testing';
import { askBroker } from '@sotto/control/testing';
import { errorEnvelope, ServiceError } from '@sotto/wire';
import { afterEach, expect, it } from 'vitest';

let server: Server | undefined;
afterEach(() => server?.close());

async function serve(handler: RequestListener, tls: boolean): Promise<string> {
  const now = Date.now();
  const key = await makeTlsKey('localhost', { from: now - 60_000, until: now + 3_600_000 });
  const made = tls
    ? createHttpsServer({ key: key.keyPem, cert: key.certificatePem }, handler)
    : createHttpServer(handler);
  server = made;
  await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve));
  return `${tls ? 'https' : 'http'}://127.0.0.1:${(made.address() as AddressInfo).port}`;
}
const ask = (origin: string): Promise<string> =>
  askBroker({ origin, ticket: 't', nonce: 'ab'.repeat(32) }).then((body) => body.toString());

it.each([true, false])(
  'forwards the evidence, even of a broker whose certificate no authority signed: TLS %s',
  async (tls) => {
    const origin = await serve((request, response) => {
      let body = '';
      request.on('data', (piece) => {
        body += piece;
      });
      request.on('end', () => response.end(JSON.stringify({ ticket: request.headers['x-router-ticket'], body })));
    }, tls);
    expect(JSON.parse(await ask(origin))).toEqual({ ticket: 't', body: `{"nonce":"${'ab'.repeat(32)}"}` });
  },
);

it("forwards the broker's own refusal, with its Retry-After", async () => {
  const origin = await serve((_request, response) => {
    response.writeHead(429, { 'retry-after': '7' });
    response.end(JSON.stringify(errorEnvelope(new ServiceError('rate_limited', { message: 'Slowly.' }), 'req_1')));
  }, false);
  await expect(ask(origin)).rejects.toMatchObject({ type: 'rate_limited', message: 'Slowly.', retryAfterS: 7 });
});

it.each<[string, RequestListener]>([
  ['says what is no error of ours', (_request, response) => response.writeHead(502).end('<h1>Bad gateway</h1>')],
  ['redirects', (_request, response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()],
  ['breaks off', (_request, response) => response.destroy()],
])('is not ready if the broker %s', async (_, handler) => {
  await expect(ask(await serve(handler, false))).rejects.toMatchObject({ type: 'service_unavailable' });
});

it('does not read an endless answer', async () => {
  const origin = await serve((_request, response) => {
    const piece = Buffer.alloc(1_000_000);
    const more = (): void => {
      while (!response.destroyed && response.write(piece));
    };
    response.on('drain', more);
    more();
  }, false);
  await expect(ask(origin)).rejects.toMatchObject({ type: 'service_unavailable' });
});

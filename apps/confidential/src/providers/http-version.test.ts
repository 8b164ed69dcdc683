import { createSecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { certifyServer, Issuer, toPem } from '@sotto/attestation/testing';
import { openUpstream } from '@sotto/providers';
import { expect, onTestFinished, test } from 'vitest';

// Over HTTP/2, one connection that died in silence would take all calls. And an answer of unknown length, such as speech, would count as cut
// off, because HTTP/2 has no `transfer-encoding`.
test('a provider that speaks HTTP/2 is called over HTTP/1.1', async () => {
  const authority = await Issuer.make('Test Authority');
  const { cert, key } = await certifyServer(authority);
  const versions: string[] = [];
  const server = createSecureServer({ cert, key, allowHTTP1: true }, (request, response) => {
    versions.push(request.httpVersion);
    response.writeHead(200, { 'content-type': 'audio/mpeg' });
    response.write('one');
    response.end('two');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const upstream = openUpstream({
    ...{ baseUrl: `https://127.0.0.1:${port}/v1`, headers: [], connectTimeoutMs: 5000 },
    ca: toPem(await authority.certifySelf()),
  });
  const isDelimited = await new Promise<boolean | string>((resolve) => {
    upstream.call(
      { path: '/audio/speech', body: '{}', accept: '*/*' },
      { onResponse: (_, headers) => resolve(headers.isDelimited), onBytes() {}, onEnd() {}, onFailure: resolve },
    );
  });
  await upstream.close();
  expect([versions, isDelimited]).toEqual([['1.1'], true]);
});

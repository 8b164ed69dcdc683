import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { connect, type SecureVersion } from 'node:tls';
import { expect, it } from 'vitest';
import { makeTlsKey } from './tls-key.ts';
import { tlsOptions } from './tls-options.ts';

/** Whether a second connection goes on with the session of the first. */
async function isResumed(options: object, version: SecureVersion): Promise<boolean> {
  const key = await makeTlsKey('localhost', { from: Date.now() - 60_000, until: Date.now() + 60_000 });
  const server = createServer({ ...options, key: key.keyPem, cert: key.certificatePem }, (_request, response) => {
    response.end();
  });
  server.listen(0, 'localhost');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  let session: Buffer | undefined;
  let reused = false;
  for (let connections = 0; connections < 2; connections += 1) {
    const versions = { minVersion: version, maxVersion: version };
    const socket = connect({ host: 'localhost', port, ca: key.certificatePem, session, ...versions });
    socket.on('session', (given) => {
      session = given;
    });
    await once(socket, 'secureConnect');
    reused = socket.isSessionReused();
    socket.write('GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n');
    socket.resume();
    await once(socket, 'close');
  }
  server.close();
  expect(session).toBeDefined();
  return reused;
}

it.each<SecureVersion>(['TLSv1.2', 'TLSv1.3'])('each connection proves the key anew: %s', async (version) => {
  expect(await isResumed(tlsOptions, version)).toBe(false);
  // What Node does by itself, which is what shows that this test can fail.
  expect(await isResumed({}, version)).toBe(true);
});

import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { expect, it } from 'vitest';
import { openTls } from './open-tls.ts';
import { makeTlsKey } from './tls-key.ts';

it('serves a key that it is given, and attests none that others may hold', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sotto-tls-'));
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  const from = Date.parse('2026-01-01T00:00:00Z');
  const until = Date.parse('2026-02-01T00:00:00Z');
  const key = await makeTlsKey('broker.example', { from, until });
  await writeFile(certFile, key.certificatePem);
  await writeFile(keyFile, key.keyPem);
  const served = await openTls({ kind: 'files', certFile, keyFile }, 'https://broker.example', () => from);
  expect(served?.options).toMatchObject({ cert: key.certificatePem, key: key.keyPem });
  expect(served?.named).toBeUndefined();
  const made = await openTls({ kind: 'self' }, 'https://broker.example', () => from);
  expect(made?.named?.().spkiSha256).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)]);
  await rm(folder, { recursive: true });
});

it('serves files that were replaced, and goes on with the former ones while they are no pair', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sotto-tls-'));
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  const validity = { from: Date.now() - 1000, until: Date.now() + 3_600_000 };
  const [first, second] = [await makeTlsKey('broker.example', validity), await makeTlsKey('broker.example', validity)];
  await writeFile(certFile, first.certificatePem);
  await writeFile(keyFile, first.keyPem);
  const served = await openTls({ kind: 'files', certFile, keyFile }, 'https://broker.example', Date.now);
  const server = createServer({ ...served?.options });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const shown = async (): Promise<string> => {
    const { port } = server.address() as AddressInfo;
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    const { raw } = socket.getPeerCertificate();
    socket.destroy();
    return raw.toString('base64');
  };
  const derOf = ({ certificatePem }: { certificatePem: string }): string =>
    certificatePem.replace(/-----[A-Z ]+-----|\s/g, '');
  const look = async (): Promise<void> => {
    const followed = served?.follow?.(server);
    followed?.start();
    await followed?.stop();
  };
  await writeFile(certFile, second.certificatePem);
  await look();
  expect(await shown()).toBe(derOf(first));
  await writeFile(keyFile, second.keyPem);
  await look();
  expect(await shown()).toBe(derOf(second));
  server.close();
  await rm(folder, { recursive: true });
});

import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type SecureVersion } from 'node:tls';
import type { TlsConfig } from '@sotto/server';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openTls, problemOfKeptKey, type ServedTls, tlsOptions } from './open-tls.ts';
import { makeTlsKey } from './tls-key.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sotto-tls-'));
});
afterEach(() => rm(folder, { recursive: true }));

it('serves a key that it is given, and attests no key that others may hold', async () => {
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
});

describe('a key that is kept in a file', () => {
  const now = Date.now();
  const open = async (origin = 'https://broker.example') => {
    const authority = {
      ...{ requestFile: join(folder, 'request.pem'), certFile: join(folder, 'chain.pem') },
      keptKeyFile: join(folder, 'kept.pem'),
    };
    const served = await openTls({ kind: 'self', authority }, origin, () => now);
    return {
      key: served?.options.key,
      cert: served?.options.cert,
      request: await readFile(authority.requestFile, 'utf8'),
    };
  };

  const authority = { requestFile: 'r.pem', certFile: 'c.pem' };
  const kept: TlsConfig = { kind: 'self', authority: { ...authority, keptKeyFile: 'k.pem' } };

  it.each(['configfs', 'dstack'] as const)('is refused where the evidence is real: %s', (kind) => {
    expect(problemOfKeptKey(kept, { kind })).toMatch(/TLS_KEPT_KEY_FILE is set/);
    expect(problemOfKeptKey({ kind: 'self', authority }, { kind })).toBeUndefined();
  });

  it('is accepted without evidence, and under simulated', () => {
    expect(problemOfKeptKey(kept, undefined)).toBeUndefined();
    expect(problemOfKeptKey(kept, { kind: 'simulated' })).toBeUndefined();
  });

  it('is the same after a restart, and so is its request, which an authority need not sign again', async () => {
    const first = await open();
    expect((await stat(join(folder, 'kept.pem'))).mode & 0o777).toBe(0o600);
    const signed = await makeTlsKey('broker.example', { from: now - 1000, until: now + 3_600_000 }, first.key);
    await writeFile(join(folder, 'chain.pem'), signed.certificatePem);
    const second = await open();
    expect(second).toEqual({ key: first.key, request: first.request, cert: signed.certificatePem });
    // Another name needs another certificate.
    const renamed = await open('https://other.example');
    expect(renamed.key).toBe(first.key);
    expect(renamed.request).not.toBe(first.request);
    expect((await readdir(folder)).sort()).toEqual(['chain.pem', 'kept.pem', 'request.pem']);
  });

  it('is one key for brokers that start at the same time', async () => {
    const opened = await Promise.all([open(), open(), open(), open()]);
    expect(new Set(opened.map(({ key }) => key))).toEqual(new Set([await readFile(join(folder, 'kept.pem'), 'utf8')]));
  });

  it('is not replaced by another if the file is damaged', async () => {
    await writeFile(join(folder, 'kept.pem'), 'no key');
    await expect(open()).rejects.toThrow();
    expect(await readFile(join(folder, 'kept.pem'), 'utf8')).toBe('no key');
  });
});

/** Starts a server with this TLS. `look` lets it follow once, and `shown` returns the certificate that a client sees. */
async function serve(served: ServedTls | undefined) {
  const server = createServer({ ...served?.options });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    server,
    async shown(): Promise<string> {
      const { port } = server.address() as AddressInfo;
      const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
      await once(socket, 'secureConnect');
      const { raw } = socket.getPeerCertificate();
      socket.destroy();
      return raw.toString('base64');
    },
    async look(): Promise<void> {
      const followed = served?.follow?.(server);
      followed?.start();
      await followed?.stop();
    },
  };
}
const derOf = ({ certificatePem }: { certificatePem: string }): string =>
  certificatePem.replace(/-----[A-Z ]+-----|\s/g, '');

it('serves files that were replaced, and keeps the former ones while they are not a pair', async () => {
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  const validity = { from: Date.now() - 1000, until: Date.now() + 3_600_000 };
  const [first, second] = [await makeTlsKey('broker.example', validity), await makeTlsKey('broker.example', validity)];
  await writeFile(certFile, first.certificatePem);
  await writeFile(keyFile, first.keyPem);
  const served = await openTls({ kind: 'files', certFile, keyFile }, 'https://broker.example', Date.now);
  const { server, shown, look } = await serve(served);
  await writeFile(certFile, second.certificatePem);
  await look();
  expect(await shown()).toBe(derOf(first));
  await writeFile(keyFile, second.keyPem);
  await look();
  expect(await shown()).toBe(derOf(second));
  server.close();
});

it('serves a renewed certificate even if the request for the next key cannot be written', async () => {
  const authority = { requestFile: join(folder, 'requests', 'request.pem'), certFile: join(folder, 'chain.pem') };
  await mkdir(join(folder, 'requests'));
  let now = Date.now();
  const served = await openTls({ kind: 'self', authority }, 'https://broker.example', () => now);
  const { server, shown, look } = await serve(served);
  now += 29.5 * 86_400_000;
  await rm(join(folder, 'requests'), { recursive: true });
  const validity = { from: now - 1000, until: now + 3_600_000 };
  const renewed = await makeTlsKey('broker.example', validity, served?.options.key);
  await writeFile(authority.certFile, renewed.certificatePem);
  await look();
  expect(await shown()).toBe(derOf(renewed));
  server.close();
});

/** Whether a second connection resumes the session of the first. */
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
  // Node resumes sessions by default, which shows that this test can fail.
  expect(await isResumed({}, version)).toBe(true);
});

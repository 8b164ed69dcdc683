import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { certifyServer, Issuer, toPem } from '@sotto/attestation/testing';
import { afterAll, expect, it } from 'vitest';
import { openTls } from '../../apps/confidential/src/tls/open-tls.ts';
import { documentedBlock } from '../kit/documented.ts';
import { freePort } from '../kit/free-port.ts';
import { noteSkip } from '../kit/skips.ts';
import { until } from '../kit/until.ts';

const isAble = ['lego', 'pebble', 'pebble-challtestsrv'].every(
  (name) => spawnSync('sh', ['-c', `command -v ${name}`]).status === 0,
);
const folder = mkdtempSync(join(tmpdir(), 'sotto-test-acme-'));
const file = (name: string): string => join(folder, name);
let authority: ChildProcess | undefined;
let names: ChildProcess | undefined;
afterAll(() => {
  authority?.kill('SIGKILL');
  names?.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

it.skipIf(!isAble)(
  'an ACME client beside the broker has its request signed, and the broker serves what comes',
  async () => {
    const [directory, management, validation] = [await freePort(), await freePort(), await freePort()];
    const own = await Issuer.make('The Directory');
    const { cert, key } = await certifyServer(own);
    for (const [name, text] of [
      ['directory.pem', cert],
      ['directory-key.pem', key],
      ['directory-ca.pem', toPem(await own.certifySelf())],
    ] as const)
      writeFileSync(file(name), text);
    writeFileSync(
      file('pebble.json'),
      JSON.stringify({
        pebble: {
          ...{ listenAddress: `127.0.0.1:${directory}`, managementListenAddress: `127.0.0.1:${management}` },
          ...{ certificate: file('directory.pem'), privateKey: file('directory-key.pem') },
          ...{ httpPort: 1, tlsPort: validation, ocspResponderURL: '', externalAccountBindingRequired: false },
        },
      }),
    );
    let said = '';
    // Every name is this machine's; whether the client holds it the authority asks by TLS-ALPN.
    const [dns, ofNames] = [await freePort(), await freePort()];
    names = spawn('pebble-challtestsrv', [
      ...['-defaultIPv4', '127.0.0.1', '-defaultIPv6', '', '-dns01', `127.0.0.1:${dns}`],
      ...['-http01', '', '-https01', '', '-tlsalpn01', '', '-management', `127.0.0.1:${ofNames}`],
    ]);
    authority = spawn('pebble', ['-config', file('pebble.json'), '-dnsserver', `127.0.0.1:${dns}`], {
      env: { PATH: process.env.PATH, PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '0' },
    });
    for (const stream of [authority.stdout, authority.stderr]) {
      stream?.on('data', (bytes) => {
        said += String(bytes);
      });
    }
    await until(
      () => /listening/i.test(said),
      () => said,
    );

    const config = { requestFile: file('request.pem'), certFile: file('chain.pem') };
    const tls = await openTls({ kind: 'self', authority: config }, 'https://api.example.com', Date.now);
    expect(existsSync(file('request.pem'))).toBe(true);
    const block = documentedBlock('docs/guides/confidential-vm.md', 'acme');
    const sign = (listener: number): Buffer =>
      execFileSync('bash', ['-euo', 'pipefail', '-c', block], {
        env: {
          ...process.env,
          ...{ EMAIL: 'operator@example.com', NAME: 'api.example.com', STATE: folder },
          ...{ ACME_DIRECTORY: `https://127.0.0.1:${directory}/dir`, TLS_ALPN: `127.0.0.1:${listener}` },
          LEGO_CA_CERTIFICATES: file('directory-ca.pem'),
        },
        stdio: 'pipe',
      });
    // Who cannot be met where the authority looks holds no name.
    const elsewhere = await freePort();
    expect(() => sign(elsewhere)).toThrow('Could not obtain certificates');
    expect(existsSync(file('chain.pem'))).toBe(false);
    sign(validation);
    const chain = new X509Certificate(readFileSync(file('chain.pem')));
    expect(chain.subjectAltName).toBe('DNS:api.example.com');
    expect(chain.issuer).toContain('Pebble');
    // It is for the key that was made inside, and served without a restart.
    expect(chain.publicKey.equals(new X509Certificate(tls?.options.cert ?? '').publicKey)).toBe(true);
    const server = createServer({ ...tls?.options });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const followed = tls?.follow?.(server);
    followed?.start();
    await until(async () => (await served(server)) === chain.fingerprint256, 'the new certificate is served');
    await followed?.stop();
    server.close();
  },
);

/** The certificate that a new connection meets. */
function served(server: Server): Promise<string | undefined> {
  const { port } = server.address() as AddressInfo;
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      resolve(socket.getPeerX509Certificate()?.fingerprint256);
      socket.destroy();
    });
    socket.once('error', reject);
  });
}

if (!isAble) noteSkip('an ACME client beside the broker', 'install it and an authority (`apt install lego pebble`).');

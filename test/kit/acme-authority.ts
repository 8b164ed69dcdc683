import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import type { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { certifyServer, Issuer, toPem } from '@sotto/attestation/testing';
import { dieTogether, freePort, until } from '@sotto/test-servers';

/** An ACME authority that checks over TLS-ALPN, or over HTTP, whether a client controls a name. */
export interface AcmeAuthority {
  /** The port of its directory, on loopback. */
  readonly port: number;
  /** The PEM file of the authority behind the directory's own TLS certificate, for `localhost`. */
  readonly caFile: string;
  readonly caPem: string;
  /** The root of the certificates that it issues, which clients must trust. */
  readonly rootPem: string;
  stop(): void;
}

/** Whether this machine has the authority (Pebble) and the client (lego). */
export const hasAcme = (): boolean =>
  ['lego', 'pebble', 'pebble-challtestsrv'].every((name) => spawnSync('sh', ['-c', `command -v ${name}`]).status === 0);
export const howToHaveAcme = 'install it and an authority (`apt install lego pebble`).';

/** Starts Pebble. It resolves every name to this machine, and validates on port `asked` of loopback, or `plain` by HTTP. */
export async function startAcmeAuthority(asked: number, plain = 1): Promise<AcmeAuthority> {
  const folder = mkdtempSync(join(tmpdir(), 'sotto-test-authority-'));
  const file = (name: string): string => join(folder, name);
  const [port, management, dns, ofNames] = [await freePort(), await freePort(), await freePort(), await freePort()];
  const own = await Issuer.make('The Directory');
  const { cert, key } = await certifyServer(own);
  const caPem = toPem(await own.certifySelf());
  writeFileSync(file('directory.pem'), cert);
  writeFileSync(file('directory-key.pem'), key);
  writeFileSync(file('ca.pem'), caPem);
  const pebble = {
    ...{ listenAddress: `127.0.0.1:${port}`, managementListenAddress: `127.0.0.1:${management}` },
    ...{ certificate: file('directory.pem'), privateKey: file('directory-key.pem') },
    ...{ httpPort: plain, tlsPort: asked, ocspResponderURL: '', externalAccountBindingRequired: false },
  };
  writeFileSync(file('pebble.json'), JSON.stringify({ pebble }));
  const names = spawn('pebble-challtestsrv', [
    ...['-defaultIPv4', '127.0.0.1', '-defaultIPv6', '', '-dns01', `127.0.0.1:${dns}`],
    ...['-http01', '', '-https01', '', '-tlsalpn01', '', '-management', `127.0.0.1:${ofNames}`],
  ]);
  const authority = spawn('pebble', ['-config', file('pebble.json'), '-dnsserver', `127.0.0.1:${dns}`], {
    env: { PATH: process.env.PATH, PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '0', PEBBLE_AUTHZREUSE: '0' },
  });
  const children: readonly ChildProcess[] = [authority, names];
  for (const child of children) if (child.pid !== undefined) child.once('exit', dieTogether(child.pid));
  const stop = (): void => {
    for (const child of children) child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  };
  let said = '';
  for (const stream of [authority.stdout, authority.stderr]) {
    stream.on('data', (bytes) => {
      said += String(bytes);
    });
  }
  await until(
    () => /listening/i.test(said),
    () => said,
  ).catch((error: unknown) => {
    stop();
    throw error;
  });
  const rootPem = await readRoot(management, caPem);
  return { port, caFile: file('ca.pem'), caPem, rootPem, stop };
}

const readRoot = (port: number, ca: string): Promise<string> =>
  new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, path: '/roots/0', ca }, (answer) => {
      let pem = '';
      answer.on('data', (bytes) => {
        pem += String(bytes);
      });
      answer.on('end', () => resolve(pem));
    }).on('error', reject);
  });

/** Returns the certificate of a server on a loopback port, without verifying it. Rejects if the connection fails. */
export function certificateAt(port: number): Promise<X509Certificate> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, timeout: 10_000 }, () => {
      const certificate = socket.getPeerX509Certificate();
      socket.destroy();
      if (certificate === undefined) reject(new Error('the peer has no certificate'));
      else resolve(certificate);
    });
    socket.once('timeout', () => socket.destroy(new Error('no answer')));
    socket.once('error', reject);
  });
}

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { certifyServer, Issuer, toPem } from '@sotto/attestation/testing';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

/** An ACME authority that asks by TLS-ALPN whether a client holds a name. */
export interface AcmeAuthority {
  /** Where its directory listens, on loopback. */
  readonly port: number;
  /** The PEM file of who certifies the directory's own TLS, for `localhost`. */
  readonly caFile: string;
  readonly caPem: string;
  stop(): void;
}

/** Whether this machine has the authority (Pebble) and the client (lego). */
export const hasAcme = (): boolean =>
  ['lego', 'pebble', 'pebble-challtestsrv'].every((name) => spawnSync('sh', ['-c', `command -v ${name}`]).status === 0);
export const howToHaveAcme = 'install it and an authority (`apt install lego pebble`).';

/** Starts Pebble, for which every name is this machine's: it asks whoever listens on port `asked` of loopback. */
export async function startAcmeAuthority(asked: number): Promise<AcmeAuthority> {
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
    ...{ httpPort: 1, tlsPort: asked, ocspResponderURL: '', externalAccountBindingRequired: false },
  };
  writeFileSync(file('pebble.json'), JSON.stringify({ pebble }));
  const names = spawn('pebble-challtestsrv', [
    ...['-defaultIPv4', '127.0.0.1', '-defaultIPv6', '', '-dns01', `127.0.0.1:${dns}`],
    ...['-http01', '', '-https01', '', '-tlsalpn01', '', '-management', `127.0.0.1:${ofNames}`],
  ]);
  const authority = spawn('pebble', ['-config', file('pebble.json'), '-dnsserver', `127.0.0.1:${dns}`], {
    env: { PATH: process.env.PATH, PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '0', PEBBLE_AUTHZREUSE: '0' },
  });
  const stop = (): void => {
    for (const child of [authority, names] satisfies ChildProcess[]) child.kill('SIGKILL');
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
  return { port, caFile: file('ca.pem'), caPem, stop };
}

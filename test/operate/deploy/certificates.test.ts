import { execFileSync, spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openTls } from '@sotto/confidential/testing';
import { freePort, noteSkip, until } from '@sotto/test-servers';
import { afterAll, expect, it } from 'vitest';
import {
  type AcmeAuthority,
  certificateAt,
  hasAcme,
  howToHaveAcme,
  startAcmeAuthority,
} from '../../kit/acme-authority.ts';
import { documentedBlock } from '../../kit/documented.ts';
import { useFolder } from '../../kit/folder.ts';

const isAble = hasAcme();
const root = fileURLToPath(new URL('../../../', import.meta.url));
const folder = useFolder('acme');
const file = (name: string): string => join(folder, name);
let authority: AcmeAuthority | undefined;
afterAll(() => {
  authority?.stop();
});

it.skipIf(!isAble)(
  'an ACME client beside the broker gets its request signed, and the broker serves the certificate',
  async () => {
    const asked = await freePort();
    authority = await startAcmeAuthority(asked);
    const directory = `https://127.0.0.1:${authority.port}/dir`;
    const trusted = { LEGO_CA_CERTIFICATES: authority.caFile };
    const block = documentedBlock('docs/operate/confidential-vm.md', 'acme');
    const sign = (listener: number): Buffer =>
      execFileSync('bash', ['-euo', 'pipefail', '-c', block], {
        cwd: root,
        env: {
          ...{ PATH: process.env.PATH, EMAIL: 'operator@example.com', FILES: folder },
          ...{ AUTHORITY: directory, TLS_ALPN: `127.0.0.1:${listener}`, ...trusted },
        },
        stdio: 'pipe',
      });
    expect(() => sign(asked)).toThrow('request.pem does not exist; set TLS_REQUEST_FILE of the broker to it');

    const config = { requestFile: file('request.pem'), certFile: file('chain.pem') };
    const tls = await openTls({ kind: 'self', authority: config }, 'https://api.example.com', Date.now);
    expect(existsSync(file('request.pem'))).toBe(true);
    // The authority does not certify a name if it cannot reach the machine that claims it.
    const elsewhere = await freePort();
    const expectRefusal = (): void => {
      // Pebble grants one in a hundred orders unasked to an account that has proved the name. A new account has not.
      rmSync(file('acme/accounts'), { recursive: true, force: true });
      expect(() => sign(elsewhere)).toThrow('Could not obtain certificates');
    };
    expectRefusal();
    expect(existsSync(file('chain.pem'))).toBe(false);
    sign(asked);
    const chain = new X509Certificate(readFileSync(file('chain.pem')));
    expect(chain.subjectAltName).toBe('DNS:api.example.com');
    expect(chain.issuer).toContain('Pebble');
    // The certificate is for the key that was created inside, and is served without a restart.
    expect(chain.publicKey.equals(new X509Certificate(tls?.options.cert ?? '').publicKey)).toBe(true);
    const server = createServer({ ...tls?.options });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const followed = tls?.follow?.(server);
    followed?.start();
    const { port } = server.address() as AddressInfo;
    await until(
      async () => (await certificateAt(port)).fingerprint256 === chain.fingerprint256,
      'the new certificate is served',
    );
    await followed?.stop();
    server.close();

    // A signed request is not sent again before it is due. The next request is.
    const healthy = (): number =>
      spawnSync(join(root, 'deploy/keep-certificate.sh'), ['healthy'], {
        env: { PATH: process.env.PATH, STATE: folder },
      }).status ?? -1;
    sign(elsewhere);
    expect(new X509Certificate(readFileSync(file('chain.pem'))).serialNumber).toBe(chain.serialNumber);
    expect(healthy()).toBe(0);
    const age = (days: number): void => {
      const at = new Date(Date.now() - days * 86_400_000 - 60_000);
      utimesSync(file('acme/signed.pem'), at, at);
    };
    age(29);
    sign(elsewhere);
    age(30);
    expectRefusal();
    expect(new X509Certificate(readFileSync(file('chain.pem'))).serialNumber).toBe(chain.serialNumber);
    sign(asked);
    const renewed = new X509Certificate(readFileSync(file('chain.pem')));
    expect(renewed.serialNumber).not.toBe(chain.serialNumber);
    expect(renewed.publicKey.equals(chain.publicKey)).toBe(true);
    sign(elsewhere);
    await openTls({ kind: 'self', authority: config }, 'https://api.example.com', Date.now);
    const before = readFileSync(file('chain.pem'), 'utf8');
    expect(healthy()).not.toBe(0);
    expectRefusal();
    expect(readFileSync(file('chain.pem'), 'utf8')).toBe(before);
    sign(asked);
    const next = new X509Certificate(readFileSync(file('chain.pem')));
    expect(next.publicKey.equals(chain.publicKey)).toBe(false);
    // A run that was interrupted before it wrote the chain is repeated.
    writeFileSync(file('chain.pem'), before);
    rmSync(file('acme/signed.pem'));
    sign(asked);
    const last = new X509Certificate(readFileSync(file('chain.pem')));
    expect(last.publicKey.equals(next.publicKey)).toBe(true);
  },
);

if (!isAble) noteSkip('an ACME client beside the broker', howToHaveAcme);

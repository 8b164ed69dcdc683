import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { openTls } from '../../../apps/confidential/src/tls/open-tls.ts';
import { type AcmeAuthority, hasAcme, howToHaveAcme, startAcmeAuthority } from '../../kit/acme-authority.ts';
import { certificateAt } from '../../kit/certificate-at.ts';
import { documentedBlock } from '../../kit/documented.ts';
import { freePort } from '../../kit/free-port.ts';
import { noteSkip } from '../../kit/skips.ts';
import { until } from '../../kit/until.ts';

const isAble = hasAcme();
const root = fileURLToPath(new URL('../../../', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'sotto-test-acme-'));
const file = (name: string): string => join(folder, name);
let authority: AcmeAuthority | undefined;
afterAll(() => {
  authority?.stop();
  rmSync(folder, { recursive: true });
});

it.skipIf(!isAble)(
  'an ACME client beside the broker has its request signed, and the broker serves what comes',
  async () => {
    const asked = await freePort();
    authority = await startAcmeAuthority(asked);
    const directory = `https://127.0.0.1:${authority.port}/dir`;
    const trusted = { LEGO_CA_CERTIFICATES: authority.caFile };
    const block = documentedBlock('docs/guides/confidential-vm.md', 'acme');
    const sign = (listener: number): Buffer =>
      execFileSync('bash', ['-euo', 'pipefail', '-c', block], {
        cwd: root,
        env: {
          ...{ PATH: process.env.PATH, EMAIL: 'operator@example.com', FILES: folder },
          ...{ AUTHORITY: directory, TLS_ALPN: `127.0.0.1:${listener}`, ...trusted },
        },
        stdio: 'pipe',
      });
    expect(() => sign(asked)).toThrow('request.pem is not there: TLS_REQUEST_FILE of the broker names it');

    const config = { requestFile: file('request.pem'), certFile: file('chain.pem') };
    const tls = await openTls({ kind: 'self', authority: config }, 'https://api.example.com', Date.now);
    expect(existsSync(file('request.pem'))).toBe(true);
    // Who cannot be met where the authority looks holds no name.
    const elsewhere = await freePort();
    expect(() => sign(elsewhere)).toThrow('Could not obtain certificates');
    expect(existsSync(file('chain.pem'))).toBe(false);
    sign(asked);
    const chain = new X509Certificate(readFileSync(file('chain.pem')));
    expect(chain.subjectAltName).toBe('DNS:api.example.com');
    expect(chain.issuer).toContain('Pebble');
    // It is for the key that was made inside, and served without a restart.
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

    // What is signed is not asked for again; the next request is.
    sign(elsewhere);
    expect(new X509Certificate(readFileSync(file('chain.pem'))).serialNumber).toBe(chain.serialNumber);
    await openTls({ kind: 'self', authority: config }, 'https://api.example.com', Date.now);
    const before = readFileSync(file('chain.pem'), 'utf8');
    expect(() => sign(elsewhere)).toThrow('Could not obtain certificates');
    expect(readFileSync(file('chain.pem'), 'utf8')).toBe(before);
    sign(asked);
    const next = new X509Certificate(readFileSync(file('chain.pem')));
    expect(next.publicKey.equals(chain.publicKey)).toBe(false);
    // One that is cut off is asked for once more.
    writeFileSync(file('chain.pem'), before);
    rmSync(file('acme/signed.pem'));
    sign(asked);
    const last = new X509Certificate(readFileSync(file('chain.pem')));
    expect(last.publicKey.equals(next.publicKey)).toBe(true);
  },
);

if (!isAble) noteSkip('an ACME client beside the broker', howToHaveAcme);

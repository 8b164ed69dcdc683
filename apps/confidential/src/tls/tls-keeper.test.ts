import { X509Certificate } from 'node:crypto';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { tlsOptions } from './open-tls.ts';
import { TlsKeeper } from './tls-keeper.ts';
import { makeTlsKey, type TlsKey } from './tls-key.ts';

const dayMs = 86_400_000;
const begin = Date.now();

async function keeper(authority?: { requests: string[]; certificate?: string }, isKept = false) {
  let now = begin;
  const made: TlsKey[] = [];
  const kept = await TlsKeeper.start({
    now: () => now,
    makeKey: async (validity) => {
      const key = await makeTlsKey('localhost', validity);
      made.push(key);
      return key;
    },
    isKept,
    authority: authority && {
      writeRequest: async (request) => void authority.requests.push(request),
      readCertificate: async () => authority.certificate,
    },
  });
  return {
    kept,
    made,
    /** Resolves to whether the certificate that is served has changed. */
    pass: async (days: number) => {
      now += days * dayMs;
      const { cert } = kept.served;
      await kept.refresh();
      return kept.served.cert !== cert;
    },
    at: () => now,
  };
}

describe('a key made inside', () => {
  it('has a certificate for its host, within its time, and a request for one', async () => {
    const key = await makeTlsKey('api.example.com', { from: begin, until: begin + dayMs });
    const certificate = new X509Certificate(key.certificatePem);
    expect(certificate.checkHost('api.example.com')).toBe('api.example.com');
    expect(certificate.checkHost('example.com')).toBeUndefined();
    expect(Date.parse(certificate.validTo) - Date.parse(certificate.validFrom)).toBe(dayMs);
    expect(key.requestPem).toContain('BEGIN CERTIFICATE REQUEST');
  });

  it.each(['127.0.0.1', '[::1]'])('may be for the address %s', async (host) => {
    const key = await makeTlsKey(host, { from: begin, until: begin + dayMs });
    expect(new X509Certificate(key.certificatePem).checkIP(host.replace(/[[\]]/g, ''))).toBeDefined();
  });
});

describe('TlsKeeper', () => {
  it('names the next key a day before it serves it, and then no longer names the previous one', async () => {
    const { kept, made, pass } = await keeper();
    const [first] = made;
    expect(kept.named.spkiSha256).toEqual([first?.spkiSha256]);
    expect(await pass(28.9)).toBe(false);
    expect(made).toHaveLength(1);
    expect(await pass(0.2)).toBe(false);
    const second = made[1];
    expect(kept.named.spkiSha256).toEqual([first?.spkiSha256, second?.spkiSha256]);
    expect(kept.served.key).toBe(first?.keyPem);
    expect(await pass(0.9)).toBe(false);
    expect(await pass(0.2)).toBe(true);
    expect(kept.served.key).toBe(second?.keyPem);
    expect(kept.named.spkiSha256).toEqual([second?.spkiSha256]);
  });

  it('names, a day ahead, every key that it will serve', async () => {
    const { kept, pass, at } = await keeper();
    const history: { at: number; served: string; named: readonly string[]; until: number }[] = [];
    for (let step = 0; step < 400; step += 1) {
      await pass(0.25);
      const served = new X509Certificate(kept.served.cert).fingerprint256;
      history.push({ at: at(), served, named: kept.named.spkiSha256, until: kept.named.until });
    }
    const nameOf = new Map(history.map(({ served, named }) => [served, named[0]]));
    for (const { at: from, named, until } of history) {
      for (const later of history.filter((each) => each.at >= from && each.at < Math.min(until, from + dayMs))) {
        expect(named).toContain(nameOf.get(later.served));
      }
    }
    expect(nameOf.size).toBeGreaterThan(2);
  });

  it('serves an authority’s certificate as soon as there is one for its key, and none for another key', async () => {
    const authority: { requests: string[]; certificate?: string } = { requests: [] };
    const { kept, made, pass } = await keeper(authority);
    expect(authority.requests).toEqual([made[0]?.requestPem]);
    authority.certificate = (await makeTlsKey('localhost', { from: begin, until: begin + dayMs })).certificatePem;
    expect(await pass(0)).toBe(false);
    authority.certificate = 'no certificate';
    expect(await pass(0)).toBe(false);
    authority.certificate = `${made[0]?.certificatePem}\n`;
    expect(await pass(0)).toBe(true);
    expect(kept.served.cert).toBe(authority.certificate);
    // The next key waits for its own certificate. Until then the old key serves, and both are named.
    await pass(29.5);
    await pass(3);
    expect(kept.served.key).toBe(made[0]?.keyPem);
    expect(kept.named.spkiSha256).toHaveLength(2);
    authority.certificate = `${made[1]?.certificatePem}\n`;
    expect(await pass(0)).toBe(true);
    expect(kept.served.key).toBe(made[1]?.keyPem);
  });

  it('names no next key whose request could not be written, because no authority would certify it', async () => {
    const authority: { requests: string[]; certificate?: string } = { requests: [] };
    const { kept, made, pass } = await keeper(authority);
    const { requests } = authority;
    authority.requests = Object.freeze([...requests]) as string[];
    await expect(pass(29.5)).rejects.toThrow();
    expect(kept.named.spkiSha256).toEqual([made[0]?.spkiSha256]);
    authority.requests = requests;
    await pass(0);
    expect(kept.named.spkiSha256).toEqual([made[0]?.spkiSha256, made.at(-1)?.spkiSha256]);
    expect(requests).toEqual([made[0]?.requestPem, made.at(-1)?.requestPem]);
  });
});

describe('a kept key', () => {
  it('serves for as long as the process runs, with each certificate that an authority gives', async () => {
    const authority: { requests: string[]; certificate?: string } = { requests: [] };
    const { kept, made, pass, at } = await keeper(authority, true);
    expect(kept.awaitsCertificate).toBe(true);
    for (const _ of [1, 2, 3]) {
      const validity = { from: at() - 1000, until: at() + 90 * dayMs };
      authority.certificate = (await makeTlsKey('localhost', validity, made[0]?.keyPem)).certificatePem;
      expect(await pass(0)).toBe(true);
      expect(kept.awaitsCertificate).toBe(false);
      expect(kept.served).toEqual({ key: made[0]?.keyPem, cert: authority.certificate });
      expect(await pass(29)).toBe(false);
      expect(await pass(29)).toBe(false);
    }
    expect(made).toHaveLength(1);
    expect(authority.requests).toHaveLength(1);
    expect(kept.named.spkiSha256).toEqual([made[0]?.spkiSha256]);
  });
});

describe('a server with such a key', () => {
  let server: Server | undefined;
  afterEach(() => server?.close());

  const dial = (port: number): Promise<TLSSocket> =>
    new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', servername: 'localhost', rejectUnauthorized: false });
      socket.once('secureConnect', () => resolve(socket));
      socket.once('error', reject);
    });
  const serve = async (served: { key: string; cert: string }): Promise<number> => {
    const made = createServer({ ...tlsOptions, ...served }, (_request, response) => response.end('ok'));
    server = made;
    await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve));
    return (made.address() as AddressInfo).port;
  };

  it('changes it while connections stay open', async () => {
    const { kept, made, pass } = await keeper();
    const port = await serve(kept.served);
    const old = await dial(port);
    await pass(29.5);
    await pass(1.5);
    server?.setSecureContext({ ...tlsOptions, ...kept.served });
    const fresh = await dial(port);
    const keyOf = (socket: TLSSocket) =>
      socket.getPeerX509Certificate()?.publicKey.export({ type: 'spki', format: 'pem' });
    const certified = (key: TlsKey | undefined) =>
      new X509Certificate(key?.certificatePem ?? '').publicKey.export({ type: 'spki', format: 'pem' });
    expect(keyOf(old)).toBe(certified(made[0]));
    expect(keyOf(fresh)).toBe(certified(made[1]));
    expect(old.destroyed).toBe(false);
    old.destroy();
    fresh.destroy();
  });
});

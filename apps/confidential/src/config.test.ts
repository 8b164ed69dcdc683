import { describe, expect, it } from 'vitest';
import { readConfig } from './config.ts';

const key = 'a'.repeat(64);
const read = (environment: Readonly<Record<string, string>>) =>
  readConfig({ REDIS_URL: 'redis://127.0.0.1:6379', TICKET_SEALING_KEY: key, SETTLEMENT_MAC_KEY: key, ...environment });
const configOf = (environment: Readonly<Record<string, string>>) => {
  const result = read(environment);
  if (!result.ok) throw new Error(result.message);
  return result.config;
};

describe('CONFIDENTIAL_TLS', () => {
  it('is `self` where nothing is said: the key is made inside, for the public address', () => {
    const config = configOf({ CONFIDENTIAL_ORIGIN: 'https://api.example.com' });
    expect(config).toMatchObject({ tls: { kind: 'self' }, origin: 'https://api.example.com', host: '0.0.0.0' });
  });

  it('`off` and `files` have an origin of host and port where none is given', () => {
    expect(configOf({ CONFIDENTIAL_TLS: 'off', HOST: '127.0.0.1' }).origin).toBe('http://127.0.0.1:4001');
    const files = { CONFIDENTIAL_TLS: 'files', TLS_CERT_FILE: 'c', TLS_KEY_FILE: 'k', HOST: '::1' };
    expect(configOf(files)).toMatchObject({ tls: { kind: 'files' }, origin: 'https://[::1]:4001' });
  });

  it('`self` takes certificates of an authority through two files', () => {
    const { tls } = configOf({ HOST: '127.0.0.1', TLS_REQUEST_FILE: 'r.pem', TLS_CERT_FILE: 'c.pem' });
    expect(tls).toEqual({ kind: 'self', authority: { requestFile: 'r.pem', certFile: 'c.pem' } });
  });

  it.each([
    [{ CONFIDENTIAL_TLS: 'yes' }, /CONFIDENTIAL_TLS is `yes`.* takes `self`/],
    [{ CONFIDENTIAL_TLS: 'off' }, /HOST is `0.0.0.0`.*loopback only/],
    [{ CONFIDENTIAL_TLS: 'files', TLS_CERT_FILE: 'c' }, /takes TLS_CERT_FILE and TLS_KEY_FILE/],
    [{}, /CONFIDENTIAL_ORIGIN is not set: it takes/],
    [{ CONFIDENTIAL_ORIGIN: 'http://api.example.com' }, /begins with https/],
    [{ HOST: '127.0.0.1', TLS_KEY_FILE: 'k' }, /TLS_KEY_FILE is not taken/],
    [{ HOST: '127.0.0.1', TLS_CERT_FILE: 'c' }, /takes both TLS_REQUEST_FILE and TLS_CERT_FILE/],
  ])('%j is refused in one line', (environment, message) => {
    const result = read(environment);
    expect(result).toMatchObject({ ok: false, message: expect.stringMatching(message) });
    expect(!result.ok && result.message).not.toContain('\n');
  });
});

import { describe, expect, it } from 'vitest';
import { readBrokerConfig } from './broker-config.ts';

const key = 'a'.repeat(64);
const read = (environment: Readonly<Record<string, string>>) =>
  readBrokerConfig({
    REDIS_URL: 'redis://127.0.0.1:6379',
    TICKET_SEALING_KEY: key,
    SETTLEMENT_MAC_KEY: key,
    ...environment,
  });
const configOf = (environment: Readonly<Record<string, string>>) => {
  const result = read(environment);
  if (!result.ok) throw new Error(result.message);
  return result.settings;
};

describe('CONFIDENTIAL_TLS', () => {
  it('is `self` by default: the key is made inside, for the public address', () => {
    const config = configOf({ CONFIDENTIAL_ORIGIN: 'https://api.example.com' });
    expect(config).toMatchObject({ tls: { kind: 'self' }, origin: 'https://api.example.com', HOST: '0.0.0.0' });
  });

  it('derives the origin from host and port for `off` and `files` if none is set', () => {
    expect(configOf({ CONFIDENTIAL_TLS: 'off', HOST: '127.0.0.1' }).origin).toBe('http://127.0.0.1:4001');
    const files = { CONFIDENTIAL_TLS: 'files', TLS_CERT_FILE: 'c', TLS_KEY_FILE: 'k', HOST: '::1' };
    expect(configOf(files)).toMatchObject({ tls: { kind: 'files' }, origin: 'https://[::1]:4001' });
  });

  it.each(['http://localhost:4001', 'http://127.0.0.1:4001', 'http://[::1]:4001'])(
    'is `off` on any address for %s, which only this machine can ask, and then checks the name of each request',
    (origin) => {
      const anywhere = configOf({ CONFIDENTIAL_TLS: 'off', CONFIDENTIAL_ORIGIN: origin });
      expect(anywhere).toMatchObject({ tls: { kind: 'off' }, HOST: '0.0.0.0', isForLoopback: true, origin });
      const loopback = configOf({ CONFIDENTIAL_TLS: 'off', CONFIDENTIAL_ORIGIN: origin, HOST: '127.0.0.1' });
      expect(loopback.isForLoopback).toBe(false);
    },
  );

  it('exchanges requests and certificates with an authority through two files for `self`', () => {
    const { tls } = configOf({ HOST: '127.0.0.1', TLS_REQUEST_FILE: 'r.pem', TLS_CERT_FILE: 'c.pem' });
    expect(tls).toEqual({ kind: 'self', authority: { requestFile: 'r.pem', certFile: 'c.pem' } });
    const files = { TLS_REQUEST_FILE: 'r.pem', TLS_CERT_FILE: 'c.pem', TLS_KEPT_KEY_FILE: 'k.pem' };
    expect(configOf({ HOST: '127.0.0.1', ...files }).tls).toMatchObject({ authority: { keptKeyFile: 'k.pem' } });
  });

  it.each([
    [{ CONFIDENTIAL_TLS: 'yes' }, /CONFIDENTIAL_TLS is `yes`.* takes `self`/],
    [{ CONFIDENTIAL_TLS: 'off' }, /HOST is `0.0.0.0`.*needs a CONFIDENTIAL_ORIGIN on loopback/],
    [{ CONFIDENTIAL_TLS: 'off', CONFIDENTIAL_ORIGIN: 'http://api.example.com' }, /needs a CONFIDENTIAL_ORIGIN on loop/],
    [{ CONFIDENTIAL_TLS: 'off', CONFIDENTIAL_ORIGIN: 'http://localhost.example.com' }, /CONFIDENTIAL_ORIGIN on loop/],
    [{ CONFIDENTIAL_TLS: 'off', CONFIDENTIAL_ORIGIN: 'https://localhost:4001' }, /CONFIDENTIAL_ORIGIN on loopback/],
    [{ HOST: '127.0.0.1', TLS_KEPT_KEY_FILE: 'k' }, /set both TLS_REQUEST_FILE and TLS_CERT_FILE/],
    [{ CONFIDENTIAL_TLS: 'files', TLS_CERT_FILE: 'c' }, /Set TLS_CERT_FILE and TLS_KEY_FILE/],
    [{}, /CONFIDENTIAL_ORIGIN is not set\. Set it to/],
    [{ CONFIDENTIAL_ORIGIN: 'http://api.example.com' }, /begins with https/],
    [{ HOST: '127.0.0.1', TLS_KEY_FILE: 'k' }, /Unset TLS_KEY_FILE/],
    [{ HOST: '127.0.0.1', TLS_CERT_FILE: 'c' }, /set both TLS_REQUEST_FILE and TLS_CERT_FILE/],
  ])('rejects %j in one line', (environment, message) => {
    const result = read(environment);
    expect(result).toMatchObject({ ok: false, message: expect.stringMatching(message) });
    expect(!result.ok && result.message).not.toContain('\n');
  });
});

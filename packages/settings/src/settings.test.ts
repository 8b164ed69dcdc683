import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import * as setting from './kinds.ts';
import { readSettings } from './read-settings.ts';

const schema = z.object({
  PORT: setting.port(4000),
  REDIS_URL: setting.redisUrl.optional(),
  SEALING_KEY: setting.keyText.optional(),
  TTL: setting.count('a number of seconds from 1 to 3600', 3600).default(300),
  TRUST_PROXY: setting.trustProxy,
  ORIGIN: setting.origin.optional(),
});
const message = (environment: Record<string, string>): string | undefined => {
  const read = readSettings(schema, environment);
  return read.ok ? undefined : read.message;
};

describe('readSettings', () => {
  it('takes defaults for what is absent or empty', () => {
    const read = readSettings(schema, { PORT: '', TTL: '60' });
    expect(read).toMatchObject({ ok: true, settings: { PORT: 4000, TTL: 60, TRUST_PROXY: false } });
  });

  it.each([
    [{ PORT: 'http' }, 'PORT is `http`: it takes a port number from 0 to 65535'],
    [{ PORT: '70000' }, 'PORT is `70000`: it takes a port number from 0 to 65535'],
    [{ TTL: '0' }, 'TTL is `0`: it takes a number of seconds from 1 to 3600'],
    [{ TTL: '1.5' }, 'TTL is `1.5`: it takes a number of seconds from 1 to 3600'],
  ])('says what %j takes', (environment, line) => {
    expect(message(environment)).toBe(line);
  });

  it('never repeats a secret or a URL, which may carry a password', () => {
    expect(message({ SEALING_KEY: 'hunter2' })).toBe(
      'SEALING_KEY has a value that cannot be used: it takes 32 bytes as base64 or as 64 hex characters',
    );
    expect(message({ REDIS_URL: 'http://user:hunter2@host' })).not.toContain('hunter2');
  });

  it('takes an origin in the one spelling that clients compare it by', () => {
    for (const text of ['https://a.test', 'http://127.0.0.1:4000']) expect(message({ ORIGIN: text })).toBeUndefined();
    for (const text of ['https://a.test/', 'https://A.test', 'https://a.test.', 'https://a.test.:8443', 'a.test']) {
      expect(message({ ORIGIN: text })).toMatch(
        /^ORIGIN is `.*`: it takes an origin such as .* dot at the end of the host$/,
      );
    }
  });

  it.each(['off', '2', 'loopback, 10.0.0.1', '10.0.0.0/8,fd00::/8', '10.0.0.0/255.0.0.0'])(
    'takes %s for TRUST_PROXY',
    (text) => {
      expect(message({ TRUST_PROXY: text })).toBeUndefined();
    },
  );

  it.each([
    ...['true', '100', '10.0.0.0/33', '10.0.0.1;10.0.0.2', '0.0.0.0/0', '::/0'],
    ...['10.0.0.0/8/9', '10.0.0.0/255.0.255.0', '10.0.0.0/0.0.0.0', '::1/255.0.0.0'],
  ])('says what TRUST_PROXY takes, which %s is not', (text) => {
    expect(message({ TRUST_PROXY: text })).toBe(
      `TRUST_PROXY is \`${text}\`: it takes \`off\`, how many proxies (at most 99), or their addresses and networks with commas between, such as 10.0.0.0/8`,
    );
  });

  it.each([
    'redis://host',
    'redis://user:p%23ss@host:6379/3',
    'rediss://[::1]:6380',
    'redis://a:7000,b:7001,redis://c:7002?cluster=1',
  ])('takes %s for a Redis', (text) => {
    expect(message({ REDIS_URL: text })).toBeUndefined();
  });

  it.each([
    'localhost',
    'redis://',
    'redis://:pa#ss@host',
    'redis://host/name',
    'redis://host:port',
    'redis://a,:7000',
    'redis://a,http://b:7000',
    'redis://:p%ss@host',
    'redis://user:12#34@host',
  ])('refuses %s as a Redis, and says how one is written', (text) => {
    expect(message({ REDIS_URL: text })).toMatch(/^REDIS_URL has a value that cannot be used: it takes a URL such as /);
  });

  const readDatabase = (text: string) =>
    readSettings(z.object({ DATABASE_URL: setting.postgresUrl }), { DATABASE_URL: text });

  it.each([
    'postgres://u:p%23@h/d',
    'postgresql://u@[::1]:5432/d?sslmode=verify-full',
    'postgresql://u:p@/d?host=/run/postgresql',
    'postgresql:///d?host=/run/postgresql',
    'postgres://u@%2Frun%2Fpostgresql/d',
  ])('takes %s for a database', (text) => {
    expect(readDatabase(text)).toMatchObject({ ok: true });
  });

  it.each(['postgres://u:p#@h/d', 'postgres://u:12#3@h/d', 'postgres://u:p@ss:w@h:x/d', 'postgres://u:pa@/ss@h/d'])(
    'refuses %s: its password is not encoded',
    (text) => {
      expect(readDatabase(text)).toMatchObject({ ok: false, message: expect.stringContaining('percent-encoded') });
    },
  );

  it('names what is not set', () => {
    const read = readSettings(z.object({ DATABASE_URL: setting.postgresUrl }), {});
    expect(read).toEqual({
      ok: false,
      message: 'DATABASE_URL is not set: it takes a URL such as postgresql://user@host:5432/name',
    });
  });

  it('reads trusted proxies as addresses or as a distance', () => {
    const trust = (text: string) => {
      const read = readSettings(schema, { TRUST_PROXY: text });
      return read.ok ? read.settings.TRUST_PROXY : undefined;
    };
    expect(trust('10.0.0.0/8')).toBe('10.0.0.0/8');
    expect(trust('loopback, 10.1.2.3,fd00::/8')).toBe('loopback, 10.1.2.3,fd00::/8');
    const twoHops = trust('2');
    expect(typeof twoHops === 'function' && [0, 1, 2].map((hop) => twoHops('x', hop))).toEqual([true, true, false]);
  });
});

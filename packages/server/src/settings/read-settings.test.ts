import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import * as setting from './kinds.ts';
import { readSettings, withSecretFiles } from './read-settings.ts';

const files: Readonly<Record<string, string>> = {
  '/run/secrets/sealing': 'c2VhbA==\n',
  '/run/secrets/acme': 'sk-acme',
  '/run/secrets/empty': '\n',
};
const read = (path: string): string => {
  const content = files[path];
  if (content === undefined) throw new Error(`ENOENT ${path}`);
  return content;
};

describe('withSecretFiles', () => {
  it('reads NAME from the file that NAME_FILE names, without the final line break', () => {
    const environment = {
      ...{ TICKET_SEALING_KEY_FILE: '/run/secrets/sealing', ACME_API_KEY_FILE: '/run/secrets/acme' },
      AWS_BEARER_TOKEN_BEDROCK_FILE: '/run/secrets/acme',
    };
    expect(withSecretFiles(environment, read)).toEqual({
      ok: true,
      settings: { TICKET_SEALING_KEY: 'c2VhbA==', ACME_API_KEY: 'sk-acme', AWS_BEARER_TOKEN_BEDROCK: 'sk-acme' },
    });
  });

  it('keeps settings that are paths themselves, and empty names', () => {
    const environment = {
      ...{ TLS_KEY_FILE: '/tls/key.pem', TLS_CERT_FILE: '/tls/cert.pem', CATALOG_FILE: '/catalog.yaml' },
      ...{ PROVIDERS_FILE: '/providers.yaml', SESSION_SECRET_FILE: '', HOST: '0.0.0.0' },
    };
    expect(withSecretFiles(environment, read)).toEqual({ ok: true, settings: environment });
  });

  it.each([
    [
      { REDIS_URL: 'redis://a', REDIS_URL_FILE: '/run/secrets/acme' },
      'REDIS_URL and REDIS_URL_FILE are both set: it takes one of them',
    ],
    [
      { DATABASE_URL_FILE: '/run/secrets/none' },
      'DATABASE_URL_FILE is `/run/secrets/none`: it takes the path of a readable file',
    ],
    [{ SMTP_URL_FILE: '/run/secrets/empty' }, 'SMTP_URL_FILE is `/run/secrets/empty`: that file is empty'],
  ])('reports what is wrong with %j', (environment, message) => {
    expect(withSecretFiles(environment, read)).toEqual({ ok: false, message });
  });

  it('reads the file if the name without _FILE is empty', () => {
    const environment = { REDIS_URL: '', REDIS_URL_FILE: '/run/secrets/acme' };
    expect(withSecretFiles(environment, read)).toMatchObject({ ok: true, settings: { REDIS_URL: 'sk-acme' } });
  });
});

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
  it('uses defaults for absent and empty values', () => {
    const read = readSettings(schema, { PORT: '', TTL: '60' });
    expect(read).toMatchObject({ ok: true, settings: { PORT: 4000, TTL: 60, TRUST_PROXY: false } });
  });

  it.each([
    [{ PORT: 'http' }, 'PORT is `http`: it takes a port number from 0 to 65535'],
    [{ PORT: '70000' }, 'PORT is `70000`: it takes a port number from 0 to 65535'],
    [{ TTL: '0' }, 'TTL is `0`: it takes a number of seconds from 1 to 3600'],
    [{ TTL: '1.5' }, 'TTL is `1.5`: it takes a number of seconds from 1 to 3600'],
  ])('reports what %j takes', (environment, line) => {
    expect(message(environment)).toBe(line);
  });

  it('never repeats a secret or a URL, which may contain a password', () => {
    expect(message({ SEALING_KEY: 'hunter2' })).toBe(
      'SEALING_KEY has a value that cannot be used: it takes 32 bytes as base64 or as 64 hex characters',
    );
    expect(message({ REDIS_URL: 'http://user:hunter2@host' })).not.toContain('hunter2');
  });

  it('accepts an origin only in the spelling that clients compare', () => {
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
  ])('rejects %s for TRUST_PROXY with the accepted values', (text) => {
    expect(message({ TRUST_PROXY: text })).toBe(
      `TRUST_PROXY is \`${text}\`: it takes \`off\`, how many proxies (at most 99), or their addresses and networks with commas between, such as 10.0.0.0/8`,
    );
  });

  it.each([
    'redis://host',
    'redis://user:p%23ss@host:6379/3',
    'rediss://[::1]:6380',
    'redis://a:7000,b:7001,redis://c:7002?cluster=1',
    'redis://a:7000,b:7001/0?cluster=1',
    'rediss://user:p%23ss@a/0,b,rediss://user:p%23ss@c/0',
  ])('accepts %s as a Redis URL', (text) => {
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
  ])('rejects %s as a Redis URL, and shows a valid one', (text) => {
    expect(message({ REDIS_URL: text })).toMatch(/^REDIS_URL has a value that cannot be used: it takes a URL such as /);
  });

  it.each([
    ...['redis://a,rediss://b', 'redis://:one@a,two@b', 'redis://:one@a,:two@b', 'redis://a,b/2'].map((text) => [
      text,
      'from the first host',
    ]),
    ...['redis://a?cluster=0', 'redis://a,b?cluster=0', 'redis://a?cluster'].map((text) => [text, '`?cluster=1`']),
  ])('rejects %s as a Redis URL, because it would be read as another', (text, reason) => {
    expect(message({ REDIS_URL: text ?? '' })).toContain(reason);
  });

  const readDatabase = (text: string) =>
    readSettings(z.object({ DATABASE_URL: setting.postgresUrl }), { DATABASE_URL: text });

  it.each([
    'postgres://u:p%23@h/d',
    'postgresql://u@[::1]:5432/d?sslmode=verify-full',
    'postgresql://u:p@/d?host=/run/postgresql',
    'postgresql:///d?host=/run/postgresql',
    'postgres://u@%2Frun%2Fpostgresql/d',
  ])('accepts %s as a database URL', (text) => {
    expect(readDatabase(text)).toMatchObject({ ok: true });
  });

  it.each(['postgres://u:p#@h/d', 'postgres://u:12#3@h/d', 'postgres://u:p@ss:w@h:x/d', 'postgres://u:pa@/ss@h/d'])(
    'rejects %s: its password is not encoded',
    (text) => {
      expect(readDatabase(text)).toMatchObject({ ok: false, message: expect.stringContaining('percent-encoded') });
    },
  );

  it('names the missing variable', () => {
    const read = readSettings(z.object({ DATABASE_URL: setting.postgresUrl }), {});
    expect(read).toEqual({
      ok: false,
      message: 'DATABASE_URL is not set: it takes a URL such as postgresql://user@host:5432/name',
    });
  });

  it('reads trusted proxies as addresses or as a number', () => {
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

import { describe, expect, it } from 'vitest';
import { withSecretFiles } from './secret-files.ts';

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
  it('takes what is in the file, without the line break at its end, for the name without _FILE', () => {
    const environment = {
      ...{ TICKET_SEALING_KEY_FILE: '/run/secrets/sealing', ACME_API_KEY_FILE: '/run/secrets/acme' },
      AWS_BEARER_TOKEN_BEDROCK_FILE: '/run/secrets/acme',
    };
    expect(withSecretFiles(environment, read)).toEqual({
      ok: true,
      settings: { TICKET_SEALING_KEY: 'c2VhbA==', ACME_API_KEY: 'sk-acme', AWS_BEARER_TOKEN_BEDROCK: 'sk-acme' },
    });
  });

  it('leaves settings that are files by themselves, and names that nobody set', () => {
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
  ])('says what is wrong with %j', (environment, message) => {
    expect(withSecretFiles(environment, read)).toEqual({ ok: false, message });
  });

  it('takes the file where the name beside it is empty', () => {
    const environment = { REDIS_URL: '', REDIS_URL_FILE: '/run/secrets/acme' };
    expect(withSecretFiles(environment, read)).toMatchObject({ ok: true, settings: { REDIS_URL: 'sk-acme' } });
  });
});

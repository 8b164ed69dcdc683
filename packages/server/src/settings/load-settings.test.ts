import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import * as setting from './kinds.ts';
import { loadSettings } from './load-settings.ts';
import type { Environment } from './read-settings.ts';
import type { Plane } from './setting-paths.ts';

const schema = z.object({
  HOST: z.string().default('0.0.0.0'),
  CONTROL_PORT: setting.port(4000),
  CONTROL_ORIGIN: setting.origin.optional(),
  DATABASE_URL: setting.postgresUrl.optional(),
  REDIS_URL: setting.redisUrl.optional(),
  CONNECTED_APPS: setting.onOff.default('off'),
  CATALOG_FILE: setting.file.optional(),
  PROVIDERS_FILE: setting.file.optional(),
  SESSION_SECRET: setting.sessionSecret.optional(),
  TICKET_SEALING_KEY: setting.keyText.optional(),
  PROXY_PROTOCOL: setting.addresses,
});
const key = 'c'.repeat(64);

function load(text: string, environment: Environment = {}, plane: Plane = 'control') {
  const opened: string[] = [];
  const loaded = loadSettings({
    ...{ plane, schema },
    environment: { CONFIG_FILE: '/etc/sotto/sotto.yaml', ...environment },
    readFile: (path) => {
      opened.push(path);
      if (path === '/etc/sotto/sotto.yaml') return text;
      if (path === '/run/key') return `${key}\n`;
      throw new Error(`ENOENT ${path}`);
    },
  });
  return { loaded, opened, settings: loaded.ok ? loaded.settings : loaded.message };
}

describe('loadSettings', () => {
  it('gives each variable the value of its path: numbers, switches, lists and paths from the folder of the file', () => {
    const text = `
control: {port: 4100, origin: https://control.example.com}
features: {connected_apps: true}
models_file: catalog.yaml
data:
  database_url: postgresql://sotto@db/sotto
`;
    expect(load(text).settings).toMatchObject({
      ...{ CONTROL_PORT: '4100', CONTROL_ORIGIN: 'https://control.example.com', CONNECTED_APPS: 'on' },
      ...{ CATALOG_FILE: '/etc/sotto/catalog.yaml', DATABASE_URL: 'postgresql://sotto@db/sotto' },
    });
    const proxies = 'broker: {proxy_protocol: [10.0.0.0/8, 192.0.2.7]}';
    expect(load(proxies, {}, 'broker').settings).toMatchObject({ PROXY_PROTOCOL: '10.0.0.0/8,192.0.2.7' });
  });

  it('lets the environment override the file, unless the variable is empty', () => {
    const text = 'control: {port: 4100, host: 127.0.0.1}\nsecrets: {ticket_sealing_key: file:/none}';
    const { settings } = load(text, { CONTROL_PORT: '5000', HOST: '', TICKET_SEALING_KEY_FILE: '/run/key' });
    expect(settings).toMatchObject({ CONTROL_PORT: '5000', HOST: '127.0.0.1', TICKET_SEALING_KEY: key });
  });

  it('reads only the part of its plane, and opens no secret of another', () => {
    const text = `
control: {host: 127.0.0.1}
broker: {host: 10.0.0.1}
secrets: {session_secret: file:/none, ticket_sealing_key: file:/run/key}
`;
    const { settings, opened } = load(text, {}, 'broker');
    expect(settings).toMatchObject({ HOST: '10.0.0.1', TICKET_SEALING_KEY: key });
    expect(settings).not.toHaveProperty('SESSION_SECRET');
    expect(opened).toEqual(['/etc/sotto/sotto.yaml', '/run/key']);
  });

  it('reads secrets from variables and files', () => {
    const text = 'secrets: {session_secret: env:OWN_NAME, ticket_sealing_key: file:/run/key}';
    expect(load(text, { OWN_NAME: 's'.repeat(32) }).settings).toMatchObject({
      SESSION_SECRET: 's'.repeat(32),
      TICKET_SEALING_KEY: key,
    });
    expect(load(text).settings).toContain(
      'sotto.yaml:1: `secrets.session_secret` is `env:OWN_NAME`, but OWN_NAME is not set',
    );
    expect(load('secrets: {session_secret: file:none}').settings).toContain('is `file:none`: that file is empty or');
  });

  it('reads a relative file of a secret from the credentials that systemd gives the unit', () => {
    const text = 'models_file: catalog.yaml\nsecrets: {ticket_sealing_key: file:key}';
    const { settings, opened } = load(text, { CREDENTIALS_DIRECTORY: '/run' });
    expect(settings).toMatchObject({ TICKET_SEALING_KEY: key, CATALOG_FILE: '/etc/sotto/catalog.yaml' });
    expect(opened).toEqual(['/etc/sotto/sotto.yaml', '/run/key']);
  });

  it.each([
    ['secrets: {session_secret: my-secret-my-secret-my-secret-my-secret}', 'my-secret'],
    ['data: {redis_url: "redis://:hunter2@host:6379"}', 'hunter2'],
    ['data: {redis_url: "redis://a:6379,sotto:hunter2@b:6379"}', 'hunter2'],
    ['data: {database_url: "postgresql://host/name?password=hunter2"}', 'hunter2'],
    ['data: {database_url: "hunter2"}', 'hunter2'],
  ])('refuses a secret in the file without printing it: %s', (text, secret) => {
    const { settings } = load(text);
    expect(settings).toContain('must be a reference to a secret, not the secret: `env:NAME` or `file:/path`');
    expect(settings).not.toContain(secret);
  });

  it('takes the address of a Redis cluster, which has no password', () => {
    const url = 'redis://a:7000,b:7001?cluster=1';
    expect(load(`data: {redis_url: "${url}"}`).settings).toMatchObject({ REDIS_URL: url });
  });

  it('reports every problem at once, each with its line and the nearest key', () => {
    const text = `
control:
  prot: 4000
  database_url: x
limit: {requests: 3}
broker:
  tls: self
zebra: 1
`;
    expect(String(load(text).settings).split('\n')).toEqual([
      '/etc/sotto/sotto.yaml has problems:',
      '  /etc/sotto/sotto.yaml:3: `control.prot` is not a setting. The nearest key is `control.port`',
      '  /etc/sotto/sotto.yaml:4: `control.database_url` is not a setting. The nearest key is `data.database_url`',
      '  /etc/sotto/sotto.yaml:5: `limit` is not a setting. The nearest key is `limits`',
      '  /etc/sotto/sotto.yaml:7: `broker.tls` must be a map with keys such as `mode`',
      expect.stringContaining(':8: `zebra` is not a setting. Known here: billing, broker, control, data, '),
    ]);
  });

  it('reports values that the schema refuses, each with its line', () => {
    expect(load('control:\n  port: many\n  origin: control.example.com\n').settings).toBe(
      [
        '/etc/sotto/sotto.yaml has problems:',
        '  /etc/sotto/sotto.yaml:2: `control.port` is `many`: it takes a port number from 0 to 65535',
        '  /etc/sotto/sotto.yaml:3: `control.origin` is `control.example.com`: it takes an origin such as https://api.example.com, without a path or a dot at the end of the host',
      ].join('\n'),
    );
  });

  it('refuses inline content beside a file of the same content', () => {
    const text = 'models_file: a.yaml\nmodels:\n  - id: a/b\n';
    expect(load(text).settings).toContain(':2: `models` and `models_file` are both set: set only one');
  });

  it('explains a problem of several settings in the words of the file, if it sets one of them', () => {
    const { loaded } = load('control:\n  host: 127.0.0.1\n  port: 4100\n', { SESSION_SECRET: 's'.repeat(32) });
    const explain = (message: string) => loaded.ok && loaded.explain(message);
    expect(explain('CONTROL_PORT is in use; CATALOG_FILE is not set')).toBe(
      '/etc/sotto/sotto.yaml:3: `control.port` is in use; `models_file` is not set',
    );
    expect(explain('SESSION_SECRET is short. See LICENSE')).toBe('SESSION_SECRET is short. See LICENSE');
  });

  it('says which file cannot be read', () => {
    expect(load('', { CONFIG_FILE: '/none' }).settings).toBe(
      'CONFIG_FILE is `/none`: it takes the path of a readable file',
    );
  });

  it('warns about variables that look like misspelled settings, and no others', () => {
    const { loaded } = load('', {
      ...{ DATABSE_URL: 'x', RATE_LIMIT_REQUEST: '1', CONTROL_COLOUR: 'red' },
      ...{
        OPENAI_API_KEY: 'x',
        HOME: '/',
        DATABASE_URL_FILE: '',
        CONTROL_SERVICE_PORT: '1',
        CONTROL_PORT_4000_TCP: 'x',
      },
    });
    expect(loaded.ok && loaded.warnings).toEqual([
      'DATABSE_URL is set, but no setting has this name. The nearest is DATABASE_URL',
      'RATE_LIMIT_REQUEST is set, but no setting has this name. The nearest is RATE_LIMIT_REQUESTS',
      'CONTROL_COLOUR is set, but no setting has this name',
    ]);
  });
});

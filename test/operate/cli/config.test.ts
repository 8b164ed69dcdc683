import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCli } from '@sotto/control';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sotto-test-config-'));
  return () => rm(folder, { recursive: true });
});

const sound = `control:
  origin: https://control.example.com
  port: 4100
broker: {origin: https://api.example.com, host: 10.0.0.1}
data: {redis_url: file:/run/secrets/redis_url}
secrets: {session_secret: env:ANY_NAME}
providers:
  - id: acme
    name: Acme
    adapter: openai
    base_url: https://api.acme.example/v1
    privacy_class: private
`;

async function run(text: string, args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const file = join(folder, 'sotto.yaml');
  await writeFile(file, text);
  const out: string[] = [];
  const error: string[] = [];
  const code = await runCli(['config', args[0] ?? '', file, ...args.slice(1)], {
    environment,
    readInput: async () => '',
    out: (line) => out.push(line),
    error: (line) => error.push(line),
  });
  return { code, out, error: error.join('\n').replaceAll(file, 'sotto.yaml') };
}

describe('sotto-control config', () => {
  it('check accepts a sound file without opening its secrets', async () => {
    expect(await run(sound, ['check'])).toMatchObject({ code: 0, error: '' });
  });

  it('check reports keys first, then values and inline parts, each with its line', async () => {
    expect(await run(sound.replace('port: 4100', 'prot: 4100'), ['check'])).toMatchObject({
      code: 1,
      error: expect.stringContaining(
        'sotto.yaml:3: `control.prot` is not a setting. The nearest key is `control.port`',
      ),
    });
    const wrong = sound.replace('port: 4100', 'port: many').replace('adapter: openai', 'adapter: mine');
    const { code, error } = await run(wrong, ['check']);
    expect(code).toBe(1);
    expect(error).toContain('sotto.yaml:3: `control.port` is `many`: it takes a port number');
    expect(error).toMatch(/sotto\.yaml:10: .*adapter/);
  });

  it("check judges every process's values, and contradictions of them, with the code of that process", async () => {
    const refused = async (from: string, to: string): Promise<string> => {
      const { code, error } = await run(sound.replace(from, to), ['check']);
      expect(code, error).toBe(1);
      return error;
    };
    const broker = '{origin: https://api.example.com, host: 10.0.0.1}';
    expect(await refused(broker, '{attestation: sgx}')).toContain(
      'sotto.yaml:4: `broker.attestation` is `sgx`: it takes auto, configfs, dstack, simulated or off',
    );
    expect(await refused(broker, '{origin: https://api.example.com, tls: {mode: files}}')).toContain(
      'sotto.yaml:4: `broker.tls.mode` is `files`. Set `broker.tls.cert_file` and `broker.tls.key_file` with it',
    );
    expect(await refused(broker, '{origin: http://api.example.com}')).toContain(
      '`broker.origin` is `http://api.example.com`. With TLS it must be one that begins with https://',
    );
    expect(await refused('control:\n', 'keeper: {origin: http://keeper.example.com}\ncontrol:\n')).toContain(
      'sotto.yaml:1: `keeper.origin` is `http://keeper.example.com`: it takes an origin that begins with https://',
    );
    expect(await refused('control:\n', 'mail: {from: a@example.com}\ncontrol:\n')).toContain(
      'sotto.yaml:1: `mail.smtp_url` is not set: mail needs it beside `mail.from`',
    );
    const rotation = sound.replace('env:ANY_NAME', 'env:ANY_NAME, other_session_secret: env:OTHER');
    expect(await run(rotation, ['check'])).toMatchObject({ code: 0 });
    const { out } = await run(`${sound}local_models: auto\n`, ['check']);
    expect(out).toContain('not judged, because only `npm start` reads it: local_models');
    expect(out).toContain('not read by `npm start`: broker.host');
  });

  it('show prints each value with its source, and no secret', async () => {
    const { out } = await run(sound, ['show'], { CONTROL_PORT: '5000', DATABASE_URL: 'postgresql://u:hunter2@h/n' });
    expect(out).toContain('control.port = 5000 (environment)');
    expect(out).toContain(`control.origin = https://control.example.com (${join(folder, 'sotto.yaml')}:2)`);
    expect(out).toContain('data.database_url = set (environment)');
    expect(out).toContain(`secrets.session_secret = set (${join(folder, 'sotto.yaml')}:6)`);
    expect(out).toContain('limits.requests = 600 (default)');
    expect(out).toContain(`broker.host = 10.0.0.1 (${join(folder, 'sotto.yaml')}:4)`);
    expect(out.join('\n')).not.toContain('hunter2');
  });

  it("split writes the broker's registry and public settings, and leaves the rest out", async () => {
    const { code, error } = await run(sound, ['split', '--out', join(folder, 'settings')]);
    expect(code).toBe(0);
    expect(error).toContain('left out, because an image is public: data.redis_url');
    expect(await readFile(join(folder, 'settings/providers.yaml'), 'utf8')).toBe(
      sound.slice(sound.indexOf('providers:')),
    );
    const part = await readFile(join(folder, 'settings/sotto.yaml'), 'utf8');
    expect(parse(part)).toEqual({ broker: { origin: 'https://api.example.com', host: '10.0.0.1' } });
    expect(await run(part, ['check'])).toMatchObject({ code: 0, error: '' });
  });
});

describe('the schema of sotto.yaml', () => {
  const read = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  const isValid = ajv.compile(JSON.parse(read('deploy/sotto.schema.json')));
  const files = ['deploy/compose/sotto.yaml', 'deploy/systemd/sotto.yaml', 'deploy/systemd/keeper.yaml'];

  it.each(files)('accepts %s', (path) => {
    expect(isValid(parse(read(path))), JSON.stringify(isValid.errors)).toBe(true);
  });

  it('accepts the files of the guide, and entries without a built-in rest only where the file extends the built-in one', () => {
    const guide = read('docs/operate/providers-and-catalog.md');
    const files = [...guide.matchAll(/<!-- test: (?:\S*-)?(registry|catalog)\S* -->\n```yaml\n(.*?)```/gs)];
    expect(files.map(([block]) => /test: (\S+)/.exec(block)?.[1])).toEqual([
      ...['registry', 'catalog', 'extend-registry', 'extend-catalog', 'registry-own'],
    ]);
    for (const [, kind, text = ''] of files) {
      const file = parse(text);
      const [part, list] = kind === 'registry' ? ['providers', file.providers] : ['models', file.models];
      expect(isValid({ [part]: file }), `${text}${JSON.stringify(isValid.errors)}`).toBe(true);
      const { extends: _, ...alone } = file;
      for (const inline of [alone, list]) expect(isValid({ [part]: inline })).toBe(file.extends === undefined);
    }
    const model = { id: 'openai/gpt-5.4' };
    for (const right of [{}, { models: [] }, { models: [model] }, { models: [{ ...model, routes: [] }] }])
      expect(isValid({ models: { extends: 'built_in', ...right } }), JSON.stringify(isValid.errors)).toBe(true);
    for (const wrong of [
      { models: [{}] },
      { models: [{ ...model, routes: [{ pricing: {} }] }] },
      { models: [{ ...model, rotes: [] }] },
    ])
      expect(isValid({ models: { extends: 'built_in', ...wrong } }), JSON.stringify(wrong)).toBe(false);
  });

  it('accepts in it what the built-in files hold, as a list or whole, and nothing that they could not', () => {
    const [catalog, registry] = ['apps/control/catalog.yaml', 'apps/confidential/providers.yaml'].map((path) =>
      parse(read(path)),
    );
    for (const right of [
      { models: catalog, providers: registry },
      { models: catalog.models, providers: registry.providers },
      { billing: { plan: parse(read('apps/control/billing.yaml')) } },
    ])
      expect(isValid(right), JSON.stringify(isValid.errors)).toBe(true);
    for (const wrong of [
      { models: [{ ...catalog.models[0], routes: undefined, route: [] }] },
      { models: { ...catalog, asof: '2026-01-31' } },
      { providers: [{ ...registry.providers[0], adapter: 'none' }] },
      { control: { prot: 1 } },
      { secrets: { session_secret: 'a-secret' } },
    ])
      expect(isValid(wrong), JSON.stringify(wrong)).toBe(false);
  });
});

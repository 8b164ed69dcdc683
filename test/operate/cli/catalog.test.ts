import { readFileSync, writeFileSync } from 'node:fs';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { problemOfPlainHttp } from '@sotto/confidential/testing';
import { runCli } from '@sotto/control';
import { parseRegistry } from '@sotto/router';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { documentedBlock } from '../../kit/documented.ts';
import { useFolder } from '../../kit/folder.ts';
import { type Ran, runToEnd } from '../../kit/programs.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const registry = join(root, 'apps/confidential/providers.yaml');
const folder = useFolder('catalog');
const lists = useFolder('lists');

/** Runs `sotto-control catalog` in this process. A process for each case would take minutes. */
async function catalog(
  args: readonly string[],
  { environment = {}, input = '' }: { readonly environment?: Record<string, string>; readonly input?: string } = {},
): Promise<Ran> {
  const out: string[] = [];
  const error: string[] = [];
  const code = await runCli(['catalog', ...args], {
    environment,
    readInput: async () => input,
    out: (line) => out.push(line),
    error: (line) => error.push(line),
  });
  return { code, out: out.join('\n'), error: error.join('\n') };
}

/** The file of a provider's list. `lists.json` has the lists of all providers, by name. */
const listOf = (name: string): string => join(lists, `${name}.json`);
const recorded = JSON.parse(readFileSync(new URL('lists.json', import.meta.url), 'utf8')) as Record<string, unknown>;
for (const [name, list] of Object.entries(recorded)) writeFileSync(listOf(name), JSON.stringify(list));

describe('sotto-control catalog import', () => {
  it("creates a catalog from OpenRouter's list that passes the check, and reports the models it left out", async () => {
    const out = join(folder, 'openrouter.yaml');
    const made = await catalog(['import', listOf('openrouter'), '--provider', 'openrouter', '--out', out]);
    expect(made).toMatchObject({ code: 0, out: `${out}: 4 models, 4 left out` });
    expect(made.error.split('\n')).toEqual([
      'left out: meta-llama/llama-3.3-70b-instruct:free: it is the variant `:free` of another model',
      'left out: openrouter/auto: it has no fixed price',
      'left out: google/gemini-2.5-flash-image: it makes image, which no list prices as a catalog does',
      'left out: stealth/horizon: it is free: a price of 0 is for you to write',
    ]);
    expect(await catalog(['check', out, '--registry', registry])).toEqual({
      code: 0,
      out: `${out}: 4 models, 4 routes, no problems`,
      error: '',
    });
    const text = await readFile(out, 'utf8');
    expect(text).toContain('pricing: { input: 0.13, output: 0.38 }');
    expect(text).toContain('tiers: [ { above_prompt_tokens: 272000, input: 5, output: 22.5, cached_input: 0.5 } ]');
    expect(text).toContain('reasoning: { efforts: [ none, low, medium, high, xhigh ], can_disable: true }');
    // Nova charges for each image in addition to the tokens.
    expect(text).not.toMatch(/nova-lite-v1\n(.*\n){2}.*vision/);
    expect(text).not.toContain(lists);
  });

  it("creates one from OpenAI's own list if the prices are given, and from Together's without them", async () => {
    const refused = await catalog(['import', listOf('openai'), '--provider', 'openai']);
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.error).toMatch(/gpt-4\.1: the list has no price for it: give one with --input-price/);
    expect(refused.error).toMatch(/no model of the list can be imported; nothing was written$/);
    const prices = ['--input-price', '2', '--output-price', '8', '--context-length', '1047576'];
    const made = await catalog(['import', '-', '--provider', 'openai', '--as-of', '2026-11-01', ...prices], {
      input: await readFile(listOf('openai'), 'utf8'),
    });
    expect(made.code).toBe(0);
    expect(made.out).toMatch(/id: openai\/gpt-4\.1\n[\s\S]*id: openai\/text-embedding-3-small\n/);
    expect(made.out).toContain('as_of: 2026-11-01');
    expect(made.error).toMatch(/3 models, 3 left out$/);
    const together = await catalog([
      'import',
      listOf('together'),
      '--provider',
      'together',
      '--privacy-class',
      'private',
    ]);
    expect(together.out).toMatch(
      /id: meta-llama\/llama-3\.3-70b-instruct-turbo\n[\s\S]*upstream_model: meta-llama\/Llama-3\.3-70B/,
    );
    expect(together.out).toContain('privacy_class: private');
  });

  it('obeys a price and a context length that the list contradicts, and counts one model as one', async () => {
    const listed = {
      ...{ id: 'lab/one', context_length: 32_768 },
      pricing: { prompt: '0.000002', completion: '0.000008', input_cache_read: '0.0000005' },
    };
    const given = ['--input-price', '3', '--output-price', '4', '--context-length', '8192'];
    const made = await catalog(['import', '-', '--provider', 'acme', ...given], { input: JSON.stringify([listed]) });
    expect(made).toMatchObject({
      code: 0,
      error: 'the given prices replace those of the list for 1 model\n1 model, 0 left out',
    });
    expect(made.out).toContain('pricing: { input: 3, output: 4 }');
    expect(made.out).toContain('context_length: 8192');
  });

  it('writes the same file for the same list, and overwrites another one only with --force', async () => {
    const out = join(folder, 'deep', 'once.yaml');
    const args = ['import', listOf('together'), '--provider', 'together', '--out', out, '--as-of', '2026-11-01'];
    expect((await catalog(args)).out).toBe(`${out}: 2 models, 1 left out`);
    const text = await readFile(out, 'utf8');
    expect((await catalog(args)).out).toBe(`${out}: 2 models, 1 left out, unchanged`);
    await writeFile(out, '# mine\n');
    expect(await catalog(args)).toMatchObject({
      code: 1,
      error: expect.stringMatching(/exists and differs; replace it with --force$/),
    });
    expect(await readFile(out, 'utf8')).toBe('# mine\n');
    expect((await catalog([...args, '--force'])).code).toBe(0);
    expect(await readFile(out, 'utf8')).toBe(text);
  });

  describe('from a URL', () => {
    const list = createServer((request, response) => {
      const known = request.headers.authorization === 'Bearer sk-test' || request.url === '/open/models?key=SECRET';
      if (request.url === '/broken/models') response.end('<html>');
      else if (!known) response.writeHead(401).end();
      else void readFile(listOf('together')).then((body) => response.end(body));
    });
    let origin: string;
    beforeAll(async () => {
      await new Promise<void>((resolve) => list.listen(0, '127.0.0.1', resolve));
      origin = `http://127.0.0.1:${(list.address() as AddressInfo).port}`;
    });
    afterAll(() => list.close());

    it('sends the key of the environment, and reports when a key is required', async () => {
      const args = ['import', `${origin}/v1/models`, '--provider', 'together'];
      expect(await catalog(args)).toMatchObject({
        code: 1,
        error: expect.stringMatching(/answered 401; pass its key with --api-key-env$/),
      });
      const keyed = [...args, '--api-key-env', 'LIST_KEY'];
      expect(await catalog(keyed)).toMatchObject({ code: 1, error: expect.stringMatching(/LIST_KEY.* is not set$/) });
      const made = await catalog(keyed, { environment: { LIST_KEY: 'sk-test' } });
      expect(made.code).toBe(0);
      expect(made.out).toContain(`from ${origin}/v1/models.`);
      expect(made.out).not.toContain('sk-test');
    });

    it('does not print the parts of an address that may be secret', async () => {
      const made = await catalog(['import', `${origin}/open/models?key=SECRET`, '--provider', 'together']);
      expect(made.code).toBe(0);
      expect(made.out + made.error).not.toContain('SECRET');
    });

    it.each([
      ['/broken/models', /is not JSON$/],
      ['/nothing', /answered 401/],
    ])('refuses %s', async (path, reason) => {
      const ran = await catalog(['import', origin + path, '--provider', 'together']);
      expect(ran).toMatchObject({ code: 1, out: '', error: expect.stringMatching(reason) });
    });
  });

  it.each([
    [['import'], 2, /needs a file, a URL or `-`, and --provider/],
    [['import', 'x.json'], 2, /and --provider/],
    [['import', 'x.json', '--provider', 'Not An Id'], 2, /and --provider/],
    [
      ['import', 'x.json', '--provider', 'acme', '--privacy-class', 'secret'],
      2,
      /--privacy-class must be one of anonymous/,
    ],
    [['import', 'x.json', '--provider', 'acme', '--as-of', 'yesterday'], 2, /--as-of must be a date/],
    [['import', 'x.json', '--provider', 'acme', '--input-price', '-1'], 2, /usage: sotto-control catalog import/],
    [['import', 'x.json', '--provider', 'acme', '--input-price', 'cheap'], 2, /--input-price must be USD/],
    [
      ['import', 'x.json', '--provider', 'acme', '--colour', 'red'],
      2,
      /^sotto-control: Unknown option '--colour'\.\nusage: sotto-control catalog import/,
    ],
    [['import', 'no-such-file.json', '--provider', 'acme'], 1, /cannot read no-such-file\.json/],
    [['import', registry, '--provider', 'acme'], 1, /is not JSON/],
    [['import', join(root, 'package.json'), '--provider', 'acme'], 1, /is not a list of models; it must be/],
    [['import', 'http://models.example/v1/models', '--provider', 'acme'], 1, /must begin with https/],
    [['check'], 2, /needs a catalog file/],
    [['check', 'no-such-file.yaml'], 1, /cannot read/],
  ])('refuses %j with %i and a reason', async (args, code, reason) => {
    expect(await catalog(args)).toMatchObject({ code, out: '', error: expect.stringMatching(reason) });
  });
});

describe('sotto-control catalog check', () => {
  it('tells warnings from problems: warnings leave the exit code at 0', async () => {
    const file = join(folder, 'free.yaml');
    const text = `models:
  - id: acme/small
    model_type: text
    context_length: 1000
    as_of: 2020-01-01
    routes:
      - {provider: openai, upstream_model: m, privacy_class: anonymous, pricing: {input: 0, output: 2}}
`;
    await writeFile(file, text);
    const ran = await catalog(['check', file]);
    expect(ran.code).toBe(0);
    expect(ran.error).toMatch(
      /free\.yaml:5: warning: acme\/small: as of 2020-01-01, \d+ days ago: look the facts up again/,
    );
    expect(ran.error).toMatch(/free\.yaml:7: warning: acme\/small: the input price of openai is 0/);
    expect(ran.out).toMatch(
      /1 model, 1 route, no problems, 2 warnings\nproviders and privacy classes were not checked/,
    );
    await writeFile(file, text.replace('anonymous', 'tee'));
    const refused = await catalog(['check', file, '--registry', registry]);
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.error).toMatch(/free\.yaml:7: acme\/small: openai may claim at most anonymous for m/);
  });

  it('finds nothing wrong with the built-in catalog except, eventually, its age', async () => {
    const ran = await catalog(['check', join(root, 'apps/control/catalog.yaml'), '--registry', registry]);
    expect(ran.code).toBe(0);
    expect(ran.error.replace(/^.*:\d+: warning: the file: as of .* look the facts up again$/m, '')).toBe('');
    expect(ran.out).toMatch(/: \d{2} models, \d{2} routes, no problems/);
  });
});

describe('the built-in catalog', () => {
  it('has a model for the key of every built-in provider', async () => {
    const ids = [...(await readFile(registry, 'utf8')).matchAll(/^ {2}- id: (\S+)$/gm)].map(([, id]) => id);
    const text = await readFile(join(root, 'apps/control/catalog.yaml'), 'utf8');
    expect(ids.length).toBeGreaterThanOrEqual(10);
    expect(ids.filter((id) => !text.includes(`- provider: ${id}\n`))).toEqual([]);
  });
});

const guide = 'docs/operate/providers-and-catalog.md';
describe(guide, () => {
  it('has a registry and a catalog that match', async () => {
    const [providers, models] = [join(folder, 'guide-providers.yaml'), join(folder, 'guide-catalog.yaml')];
    await writeFile(providers, documentedBlock(guide, 'registry', 'yaml'));
    await writeFile(models, documentedBlock(guide, 'catalog', 'yaml'));
    const ran = await catalog(['check', models, '--registry', providers]);
    expect(ran, ran.error).toMatchObject({
      code: 0,
      out: expect.stringContaining('1 model, 1 route, no problems'),
    });
  });

  it('has files that extend the built-in ones, and match', async () => {
    const [providers, models] = [join(folder, 'extended-providers.yaml'), join(folder, 'extended-catalog.yaml')];
    await writeFile(providers, documentedBlock(guide, 'extend-registry', 'yaml'));
    await writeFile(models, documentedBlock(guide, 'extend-catalog', 'yaml'));
    const ran = await catalog(['check', models, '--registry', providers]);
    expect(ran, ran.error).toMatchObject({
      code: 0,
      error: '',
      out: expect.stringMatching(/\d\d models, \d\d routes, no problems/),
    });
    // Without `extends`, the same change of a built-in model is no whole entry.
    await writeFile(models, documentedBlock(guide, 'extend-catalog', 'yaml').replace('extends: built_in', ''));
    expect((await catalog(['check', models, '--registry', providers])).code).toBe(1);
  });

  it('has a registry of model servers without TLS that a broker takes', () => {
    const text = documentedBlock(guide, 'registry-own', 'yaml');
    const parsed = parseRegistry(text, 'digest', {
      problemOfPlainHttp: (hostname) => problemOfPlainHttp(hostname, undefined),
    });
    expect(parsed).toMatchObject({ ok: true });
    expect(parsed.ok && parsed.value.providers.map(({ insecure_http: isPlain }) => isPlain)).toEqual([true, true]);
  });

  it('has imports of files of other projects that work as they are', async () => {
    const place = join(folder, 'others');
    await mkdir(place);
    const model = { id: 'large', limit: { context: 8000, output: 1000 }, cost: { input: 3, output: 15 } };
    const facts = { litellm_provider: 'groq', mode: 'chat', max_input_tokens: 8000 };
    const prices = { 'groq/large': { ...facts, input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 } };
    const config = 'model_list:\n  - { model_name: large, litellm_params: { model: groq/large } }\n';
    await writeFile(
      join(place, 'api.json'),
      JSON.stringify({ 'acme-ai': { id: 'acme-ai', models: { large: model } } }),
    );
    await writeFile(join(place, 'model_prices_and_context_window.json'), JSON.stringify(prices));
    await writeFile(join(place, 'config.yaml'), config);
    const npm = 'npm() { shift 3; "$NODE" --conditions=@sotto/source "$ROOT/apps/control/src/main.ts" "$@"; }';
    const script = [npm, documentedBlock(guide, 'import-prices'), documentedBlock(guide, 'import-litellm')].join('\n');
    const ran = await runToEnd('bash', ['-ec', script], place, { NODE: process.execPath, ROOT: root });
    expect(ran, ran.error).toMatchObject({
      code: 0,
      out: expect.stringContaining('catalog.yaml: 1 model, 0 left out'),
    });
    expect(ran.out).toContain('the model `large` is `groq/large` now');
  });

  it('has commands that work as they are', async () => {
    const script = documentedBlock(guide, 'import');
    const place = join(folder, 'guide');
    await mkdir(place);
    await copyFile(listOf('openrouter'), join(place, 'models.json'));
    await copyFile(registry, join(place, 'providers.yaml'));
    // npm would change to the project's root. The files of the guide are in this folder, so replace npm by a function.
    const npm = 'npm() { shift 3; "$NODE" --conditions=@sotto/source "$ROOT/apps/control/src/main.ts" "$@"; }';
    const env = { NODE: process.execPath, ROOT: root };
    const ran = await runToEnd('bash', ['-ec', `${npm}\n${script}`], place, env);
    expect(ran, ran.error).toMatchObject({
      code: 0,
      out: expect.stringContaining('4 models, 4 routes, no problems'),
    });
  });
});

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../kit/free-port.ts';
import { startTestRedis } from '../../kit/redis.ts';
import { until } from '../../kit/service.ts';
import { endAll, npmStart, processesMentioning, root, type StartedByNpm } from './npm-start.ts';

const run = promisify(execFile);
let folder: string;
let ports: Record<string, string>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sotto-start-'));
  ports = { CONTROL_PORT: String(await freePort()), CONFIDENTIAL_PORT: String(await freePort()) };
});
afterAll(async () => {
  await endAll();
  await rm(folder, { recursive: true, force: true });
});

const nothingRuns = (): Promise<void> =>
  until(async () => (await processesMentioning(folder)).length === 0, 'nothing is left running', 15_000);

/** The shell blocks of the README that say they are tested. */
async function readmeBlocks(): Promise<Map<string, string>> {
  const text = await readFile(join(root, 'README.md'), 'utf8');
  return new Map(
    [...text.matchAll(/<!-- test: (\w+) -->\n```sh\n(.*?)```/gs)].map(([, name = '', script = '']) => [name, script]),
  );
}

async function shell(script: string, { quickstart }: StartedByNpm): Promise<string> {
  const { stdout } = await run('bash', ['-euc', script], {
    cwd: folder,
    env: {
      PATH: process.env.PATH ?? '',
      BASE_URL: quickstart.base_url,
      CONTROL_URL: quickstart.control_url,
      INFERENCE_KEY: quickstart.inference_key,
      MANAGEMENT_KEY: quickstart.management_key,
      EMAIL: quickstart.email,
      PASSWORD: quickstart.password,
    },
  });
  return stdout;
}

describe('npm start', () => {
  let first: StartedByNpm;

  it('prints what to do and writes quickstart.json with every field', async () => {
    first = await npmStart(folder, ports);
    const { quickstart } = first;
    expect(Object.keys(quickstart).sort()).toEqual(
      ['base_url', 'control_url', 'dashboard_url', 'email', 'inference_key', 'management_key', 'password'].sort(),
    );
    expect(quickstart.control_url).toBe(`http://127.0.0.1:${ports.CONTROL_PORT}/v1`);
    expect(quickstart.base_url).toBe(`http://127.0.0.1:${ports.CONFIDENTIAL_PORT}/v1`);
    expect(first.output()).toContain(quickstart.inference_key);
    expect(first.output()).toContain('ONE process');
    expect(first.output()).toContain('no language model');
  });

  it('prints curl lines that work as they stand', async () => {
    const lines = first
      .output()
      .split('\n')
      .map((line) => line.trim());
    const compatibility = lines.find((line) => line.startsWith('curl') && line.includes('Bearer')) ?? '';
    expect((await run('bash', ['-c', compatibility])).stdout).toContain('"finish_reason":"stop"');
    const at = lines.findIndex((line) => line.startsWith('TICKET='));
    expect((await run('bash', ['-c', `${lines[at]}\n${lines[at + 1]}`])).stdout).toContain('"finish_reason":"stop"');
  });

  it('runs the commands of the README', async () => {
    const blocks = await readmeBlocks();
    expect([...blocks.keys()].sort()).toEqual([
      'attestation',
      'billing',
      'compatibility',
      'media',
      'more',
      'private',
      'usage',
    ]);
    expect(await shell(blocks.get('attestation') ?? '', first)).toContain('"tee_type":"simulated","simulated":true');
    expect(await shell(blocks.get('compatibility') ?? '', first)).toContain('You said: Hello');
    expect(await shell(blocks.get('private') ?? '', first)).toContain('You said: Hello');
    await shell(blocks.get('media') ?? '', first);
    const image = await readFile(join(folder, 'image.png'));
    expect([image.toString('latin1', 1, 4), image.readUInt32BE(16)]).toEqual(['PNG', 512]);
    expect((await readFile(join(folder, 'speech.mp3'))).readUInt16BE(0)).toBe(0xfffb);
    const more = await shell(blocks.get('more') ?? '', first);
    expect(more).toContain('"embedding"');
    // Ten dollars less an image for a cent and what else was asked for.
    expect(more).toContain('"available":9.98');
    expect(more).toContain('"next_cursor"');
    expect(await shell(blocks.get('usage') ?? '', first)).toMatch(/"model":"demo\/chat",.*"total":/);
    expect(await readFile(join(folder, 'usage.csv'), 'utf8')).toMatch(/^id,at,.*\r\n(.*,demo\/chat,.*\r\n)+$/);
    const billing = await shell(blocks.get('billing') ?? '', first);
    expect(billing).toContain('"status":"paid"');
    expect(billing).toContain('"available":34.98');
  });

  it('lets the demo account sign in', async () => {
    const { quickstart } = first;
    const answer = await fetch(`${quickstart.control_url}/auth/sign-in/email`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: quickstart.email, password: quickstart.password }),
    });
    expect(answer.status).toBe(200);
    const cookie = answer.headers
      .getSetCookie()
      .map((line) => line.split(';')[0])
      .join('; ');
    const keys = await fetch(`${quickstart.control_url}/keys`, { headers: { cookie } });
    expect(await keys.json()).toMatchObject({ data: [{ kind: 'inference' }, { kind: 'management' }] });
  });

  it('shows the dashboard at dashboard_url, without the key, and nothing else as a file', async () => {
    const { dashboard_url: url, base_url: baseUrl, inference_key: key } = first.quickstart;
    const answer = await fetch(url);
    const page = await answer.text();
    expect(answer.headers.get('content-type')).toContain('text/html');
    expect(answer.headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self';/);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(page).toContain(new URL(baseUrl).origin);
    expect(page).not.toContain(key);
    const [script = ''] = page.match(/\/assets\/[\w.-]+\.js/) ?? [];
    const file = await fetch(new URL(script, url), { headers: { 'accept-encoding': 'br' } });
    expect([file.status, file.headers.get('content-encoding')]).toEqual([200, 'br']);
    expect(file.headers.get('cache-control')).toContain('immutable');
    await file.body?.cancel();
    for (const path of ['/assets/nothing.js', '/assets/..%2findex.html', '/assets/%2e%2e/.sources', '/nowhere']) {
      expect((await fetch(new URL(path, url))).status, path).toBe(404);
    }
    const asPage = await fetch(new URL('/keys', url), { headers: { accept: 'text/html' } });
    expect([asPage.status, asPage.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  });

  it('ends on SIGTERM with nothing left running', async () => {
    expect(await first.end('SIGTERM')).toBe(0);
    await nothingRuns();
  });

  it('comes back with the same keys, and the balance as it was', async () => {
    const second = await npmStart(folder, ports);
    expect(second.quickstart).toEqual(first.quickstart);
    const balance = await fetch(`${second.quickstart.control_url}/balance`, {
      headers: { authorization: `Bearer ${second.quickstart.management_key}` },
    });
    const { available } = (await balance.json()) as { available: number };
    expect(available).toBeLessThan(35);
    expect(available).toBeGreaterThan(34.9);
    await second.end('SIGINT');
    await nothingRuns();
  });

  it('starts again after everything was killed', async () => {
    const killed = await npmStart(folder, ports);
    const lines = await processesMentioning(folder);
    const main = (await processesMentioning('apps/embedded/src/main.ts')).length > 0;
    expect(main).toBe(true);
    expect(lines.length).toBeGreaterThan(0);
    killed.npm.kill('SIGKILL');
    const third = await npmStart(folder, ports);
    expect(third.quickstart).toEqual(first.quickstart);
    await third.end('SIGTERM');
    await nothingRuns();
  });

  it('makes another demo key where the kept one opens nothing any more', async () => {
    const before = await npmStart(folder, ports);
    const { control_url: controlUrl, email, password, inference_key: key } = before.quickstart;
    const { origin } = new URL(controlUrl);
    const json = { 'content-type': 'application/json', origin };
    const signedIn = await fetch(`${controlUrl}/auth/sign-in/email`, {
      method: 'POST',
      headers: json,
      body: JSON.stringify({ email, password }),
    });
    const cookie = signedIn.headers.getSetCookie().map((line) => line.split(';')[0]);
    const headers = { ...json, cookie: cookie.join('; ') };
    const keys = (await (await fetch(`${controlUrl}/keys`, { headers })).json()) as {
      data: { id: string; preview: string }[];
    };
    const ours = keys.data.find(({ preview }) => preview.endsWith(key.slice(-4)));
    const revoked = await fetch(`${controlUrl}/keys/${ours?.id}`, { method: 'DELETE', headers });
    expect(revoked.ok).toBe(true);
    await before.end('SIGTERM');

    const after = await npmStart(folder, ports);
    expect(after.quickstart.inference_key).not.toBe(key);
    expect(after.quickstart).toEqual({ ...before.quickstart, inference_key: after.quickstart.inference_key });
    expect(await shell((await readmeBlocks()).get('compatibility') ?? '', after)).toContain('You said: Hello');
    await after.end('SIGTERM');
    await nothingRuns();
  });

  it('with a catalog of its own, says a model of that', async () => {
    const catalog = join(folder, 'own.yaml');
    await writeFile(
      catalog,
      `models: [{id: own/echo, model_type: text, context_length: 4096, routes: [
        {provider: demo, upstream_model: demo-chat, privacy_class: private, pricing: {input: 1, output: 1}}]}]`,
    );
    const started = await npmStart(folder, { ...ports, CATALOG_FILE: catalog });
    expect(started.output()).toContain('"model":"own/echo"');
    expect(started.output()).not.toContain('demo/chat');
    await started.end('SIGTERM');
    await nothingRuns();
  });

  it('with a registry that has the built-in providers and more, serves the models of those', async () => {
    const registry = join(folder, 'more-providers.yaml');
    const builtIn = await readFile(join(root, 'apps/confidential/providers.yaml'), 'utf8');
    const own =
      '  - {id: acme, name: Acme, adapter: openai, base_url: "http://127.0.0.1:9/v1", privacy_class: private}';
    await writeFile(registry, `${builtIn.trimEnd()}\n${own}\n`);
    const keyless = await npmStart(folder, { ...ports, PROVIDERS_FILE: registry });
    expect(keyless.output()).toContain('No model can be asked yet');
    await keyless.end('SIGTERM');
    await nothingRuns();
    const started = await npmStart(folder, { ...ports, PROVIDERS_FILE: registry, OPENAI_API_KEY: 'sk-none' });
    const models = await fetch(`http://127.0.0.1:${ports.CONTROL_PORT}/v1/catalog/models`);
    const { data } = (await models.json()) as { data: { id: string }[] };
    expect(data.filter(({ id }) => id.startsWith('openai/')).length).toBeGreaterThan(1);
    expect(started.output()).toContain('"model":"openai/');
    expect(started.output()).not.toMatch(/demo/);
    await started.end('SIGTERM');
    await nothingRuns();
  });

  it('with a registry of its own and no catalog, says what is missing', async () => {
    const registry = join(folder, 'own-providers.yaml');
    await writeFile(
      registry,
      'providers: [{id: acme, name: Acme, adapter: openai, base_url: "http://127.0.0.1:9/v1", privacy_class: private}]',
    );
    await expect(npmStart(folder, { ...ports, PROVIDERS_FILE: registry })).rejects.toThrow(
      /PROVIDERS_FILE is set without CATALOG_FILE/,
    );
    await nothingRuns();
  });
});

describe('npm start with REDIS_URL', async () => {
  const redis = await startTestRedis();

  it.skipIf(redis === undefined)('runs the planes as two processes, and ends both', async () => {
    const started = await npmStart(folder, { ...ports, REDIS_URL: redis?.url ?? '' });
    try {
      expect(started.output()).toContain('two processes');
      expect(await shell((await readmeBlocks()).get('private') ?? '', started)).toContain('You said: Hello');
      expect((await processesMentioning('apps/confidential/src/main.ts')).length).toBeGreaterThan(0);
    } finally {
      await started.end('SIGTERM');
      await nothingRuns();
      await redis?.stop();
    }
  });
});

describe('a bad value stops the start with one line that names the variable', () => {
  it.each([
    ['CONTROL_PORT', 'http', /CONTROL_PORT is `http`: it takes a port number/],
    ['HOST', '0.0.0.0', /HOST is `0\.0\.0\.0`: it takes a loopback address/],
    ['REDIS_URL', 'localhost', /REDIS_URL has a value that cannot be used: it takes a URL such as redis/],
    ['REDIS_URL', 'redis://127.0.0.1:1', /REDIS_URL: Redis cannot be used: it did not answer/],
    ['IMAGE_GENERATION', 'yes', /IMAGE_GENERATION is `yes`: it takes `on` or `off`/],
    ['LOG_LEVEL', 'loud', /LOG_LEVEL is `loud`: it takes fatal, error/],
    ['SESSION_SECRET', 'short', /SESSION_SECRET has a value that cannot be used: it takes at least 32/],
    ['PROVIDERS_FILE', '/nowhere/providers.yaml', /PROVIDERS_FILE is `\/nowhere\/providers\.yaml`: it takes the path/],
    ['CATALOG_FILE', '/nowhere/catalog.yaml', /CATALOG_FILE is `\/nowhere\/catalog\.yaml`: it takes the path/],
    ['BILLING_FILE', '/nowhere/billing.yaml', /BILLING_FILE is `\/nowhere\/billing\.yaml`: it takes the path/],
    ['STRIPE_SECRET_KEY', 'sk_test_12345678', /STRIPE_WEBHOOK_SECRET is not set: payment by cards needs it/],
  ])('%s=%s', async (name, value, message) => {
    const failure = await npmStart(folder, { ...ports, [name]: value }).then(
      () => undefined,
      (error: unknown) => (error instanceof Error ? error.message : ''),
    );
    expect(failure).toMatch(/ended with 1/);
    expect(failure).toMatch(message);
    await nothingRuns();
  });
});

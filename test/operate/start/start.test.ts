import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startTestPostgres, startTestRedis } from '@sotto/test-servers';
import { afterAll, describe, expect, it } from 'vitest';
import { bearer } from '../../kit/client.ts';
import { documentedBlock } from '../../kit/documented.ts';
import { useFolder } from '../../kit/folder.ts';
import { openMailbox } from '../../kit/mailbox.ts';
import { endAll, freePorts, npmStart, processesMentioning, root, type StartedByNpm } from '../../kit/npm-start.ts';
import { get, post } from '../../kit/send.ts';
import { until } from '../../kit/service.ts';
import { newVisitor } from '../../kit/visitor.ts';

const run = promisify(execFile);
/** Holds `.sotto`, as the project folder does. Postgres does not run as root, so it needs access through it. */
const folder = useFolder('start', 0o755);
const mailFolder = useFolder('start-mail');
const dataDir = join(folder, '.sotto');
const ports = await freePorts();
afterAll(endAll);

const nothingRuns = (): Promise<void> =>
  until(async () => (await processesMentioning(dataDir)).length === 0, 'nothing is left running', 15_000);

/** Runs a script as a user would, in the folder that holds `.sotto`. */
async function shell(script: string): Promise<string> {
  const { stdout } = await run('bash', ['-euc', script], { cwd: folder, env: { PATH: process.env.PATH ?? '' } });
  return stdout;
}

/** Runs a block of a page. */
const runBlock = (page: string, name: string): Promise<string> => shell(documentedBlock(page, name));

describe('npm start', () => {
  let first: StartedByNpm;

  it('prints the next steps and writes quickstart.json with every field', async () => {
    first = await npmStart(dataDir, ports);
    const { quickstart } = first;
    expect(Object.keys(quickstart).sort()).toEqual(
      ['base_url', 'control_url', 'dashboard_url', 'email', 'inference_key', 'management_key', 'password'].sort(),
    );
    expect(quickstart.control_url).toBe(`http://127.0.0.1:${ports.CONTROL_PORT}/v1`);
    expect(quickstart.base_url).toBe(`http://127.0.0.1:${ports.CONFIDENTIAL_PORT}/v1`);
    for (const shown of ['dashboard_url', 'email', 'password', 'inference_key'] as const) {
      expect(first.output()).toContain(quickstart[shown]);
    }
    expect(first.output()).toContain('ONE process');
    expect(first.output()).toContain('not a language model');
  });

  it('runs beside commands of the control plane, which find its settings', async () => {
    const control = (...args: readonly string[]) =>
      run(process.execPath, ['scripts/run.mjs', 'control', ...args], {
        cwd: root,
        env: { ...process.env, SOTTO_DATA_DIR: dataDir },
      });
    const { stdout } = await control('account', 'create', '--name', 'robots');
    expect((await control('account', 'list')).stdout).toContain(stdout.trim());
    expect((await control('doctor')).stdout).toContain('in the memory of `npm start`, not examined');
    const file = join(dataDir, 'control.json');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    // Only secrets that the folder holds anyway.
    const shown = await readFile(file, 'utf8');
    for (const name of ['STRIPE', 'BTCPAY', 'SMTP', 'OPENID']) expect(shown).not.toContain(name);
  });

  it('neither warns nor logs a failure during a healthy start', () => {
    expect(first.output()).not.toMatch(/"level":|WARN|ERROR|fail/i);
  });

  it('writes an env file for shells that has the keys, for its owner alone', async () => {
    const file = join(dataDir, 'env');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const { quickstart } = first;
    const names = ['BASE_URL', 'CONTROL_URL', 'INFERENCE_KEY', 'MANAGEMENT_KEY', 'OPENAI_API_KEY'];
    const shown = await shell(
      `export OPENAI_API_KEY=of-openai; source .sotto/env; printf '%s\\n' ${names.map((name) => `"$${name}"`).join(' ')}`,
    );
    expect(shown.trim().split('\n')).toEqual([
      quickstart.base_url,
      quickstart.control_url,
      quickstart.inference_key,
      quickstart.management_key,
      // It is the user's own.
      'of-openai',
    ]);
  });

  it('prints curl lines that work as they are', async () => {
    const lines = first
      .output()
      .split('\n')
      .map((line) => line.trim());
    const source = lines.find((line) => line.startsWith('source ')) ?? '';
    const compatibility = lines.find((line) => line.startsWith('curl') && line.includes('Bearer')) ?? '';
    expect(await shell(`${source}\n${compatibility}`)).toContain('"finish_reason":"stop"');
    const at = lines.findIndex((line) => line.startsWith('TICKET='));
    expect(await shell(`${source}\n${lines[at]}\n${lines[at + 1]}`)).toContain('"finish_reason":"stop"');
  });

  it('runs the commands of the README, and of the pages on media and billing', async () => {
    const quickstart = 'docs/start/quickstart.md';
    const media = 'docs/use/media.md';
    const billing = 'docs/use/billing.md';
    expect(await runBlock(quickstart, 'attestation')).toContain('"tee_type":"simulated","simulated":true');
    expect(await runBlock('README.md', 'compatibility')).toContain('You said: Hello');
    expect(await runBlock('README.md', 'private')).toContain('You said: Hello');
    await runBlock(media, 'media');
    const image = await readFile(join(folder, 'image.png'));
    expect([image.toString('latin1', 1, 4), image.readUInt32BE(16)]).toEqual(['PNG', 512]);
    expect((await readFile(join(folder, 'speech.mp3'))).readUInt16BE(0)).toBe(0xfffb);
    expect(await runBlock(media, 'embeddings')).toContain('"embedding"');
    // Ten dollars minus one cent for an image and the price of the other requests.
    expect(await runBlock(quickstart, 'balance')).toContain('"available":9.98');
    expect(await runBlock(billing, 'usage')).toMatch(/"next_cursor".*"model":"demo\/chat",.*"total":/s);
    expect(await readFile(join(folder, 'usage.csv'), 'utf8')).toMatch(/^id,at,.*\r\n(.*,demo\/chat,.*\r\n)+$/);
    expect(await runBlock(billing, 'failed')).toMatch(
      /"data":\[\].*"next_cursor":null.*\{"data":\[\],"next_to":null\}/s,
    );
    expect(await runBlock(billing, 'who')).toMatch(/"member_id":"[^"]+","member_email":"/);
    const ordered = await runBlock(billing, 'order');
    expect(ordered).toContain('"status":"paid"');
    expect(ordered).toContain('"available":34.98');
  });

  it('lets the demo account sign in', async () => {
    const { control_url: controlUrl, email, password } = first.quickstart;
    const visitor = newVisitor(new URL(controlUrl).origin);
    expect((await visitor.post('/auth/sign-in/email', { email, password })).status).toBe(200);
    const { json } = await visitor.get('/keys');
    expect(json).toMatchObject({ data: [{ kind: 'inference' }, { kind: 'management' }] });
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

  it('refuses a second start on the same data, which changes no file of the first', async () => {
    const files = ['providers.yaml', 'catalog.yaml'].map((name) => join(dataDir, name));
    const written = () => Promise.all(files.map(async (file) => (await stat(file)).mtimeMs));
    const before = await written();
    await expect(npmStart(dataDir, { CONTROL_PORT: '0', CONFIDENTIAL_PORT: '0' })).rejects.toThrow(/another Sotto/i);
    expect(await written()).toEqual(before);
  });

  it('exits on SIGTERM and leaves no process running', async () => {
    expect(await first.end('SIGTERM')).toBe(0);
    await nothingRuns();
  });

  it('restarts with the same keys and the same balance, and takes none of the keys for a key of OpenAI', async () => {
    const second = await npmStart(dataDir, { ...ports, OPENAI_API_KEY: first.quickstart.inference_key });
    expect(second.output()).toContain('`openai` has no key: OPENAI_API_KEY begins with `sotto_`');
    expect(second.output()).not.toContain('openai/');
    expect(second.quickstart).toEqual(first.quickstart);
    const { control_url: controlUrl, management_key: key } = second.quickstart;
    const { available } = (await get(`${controlUrl}/balance`, bearer(key))).json as { available: number };
    expect(available).toBeLessThan(35);
    expect(available).toBeGreaterThan(34.9);
    await second.end('SIGINT');
    await nothingRuns();
  });

  it('starts again at once after npm was killed', async () => {
    const killed = await npmStart(dataDir, ports);
    const lines = await processesMentioning(dataDir);
    const main = (await processesMentioning('apps/embedded/src/main.ts')).length > 0;
    expect(main).toBe(true);
    expect(lines.length).toBeGreaterThan(0);
    killed.npm.kill('SIGKILL');
    const third = await npmStart(dataDir, ports);
    expect(third.quickstart).toEqual(first.quickstart);
    await third.end('SIGTERM');
    await nothingRuns();
  });

  it('goes on if a signal to reload comes while it starts', async () => {
    const starting = npmStart(dataDir, ports);
    let pid: string | undefined;
    await until(async () => {
      [, pid] = /cluster_name=sotto-(\d+)/.exec((await processesMentioning(dataDir)).join('\n')) ?? [];
      return pid !== undefined;
    }, 'Postgres runs');
    process.kill(Number(pid), 'SIGHUP');
    await (await starting).end('SIGTERM');
    await nothingRuns();
  });

  it('prints a password that works, also for an account that another data directory made', async () => {
    const postgres = await startTestPostgres();
    const environment = { ...ports, DATABASE_URL: await postgres.createEmptyDatabase() };
    for (const name of ['one', 'other']) {
      const started = await npmStart(join(folder, name), environment);
      const { control_url: url, email, password } = started.quickstart;
      expect((await post(`${url}/auth/sign-in/email`, { email, password })).status, name).toBe(200);
      await started.end('SIGTERM');
    }
    await postgres.stop();
  });

  it('creates another demo key if the saved one no longer works', async () => {
    const before = await npmStart(dataDir, ports);
    const { control_url: controlUrl, email, password, inference_key: key } = before.quickstart;
    const visitor = newVisitor(new URL(controlUrl).origin);
    await visitor.post('/auth/sign-in/email', { email, password });
    const { data } = (await visitor.get('/keys')).json as { data: { id: string; preview: string }[] };
    const ours = data.find(({ preview }) => preview.endsWith(key.slice(-4)));
    expect((await visitor.send('DELETE', `/keys/${ours?.id}`)).status).toBe(204);
    await before.end('SIGTERM');

    const after = await npmStart(dataDir, ports);
    expect(after.quickstart.inference_key).not.toBe(key);
    expect(after.quickstart).toEqual({ ...before.quickstart, inference_key: after.quickstart.inference_key });
    expect(await runBlock('README.md', 'compatibility')).toContain('You said: Hello');
    await after.end('SIGTERM');
    await nothingRuns();
  });

  it('with its own catalog, names a model of that', async () => {
    const catalog = join(folder, 'own.yaml');
    await writeFile(
      catalog,
      `models: [{id: own/echo, model_type: text, context_length: 4096, routes: [
        {provider: demo, upstream_model: demo-chat, privacy_class: private, pricing: {input: 1, output: 1}}]}]`,
    );
    const started = await npmStart(dataDir, { ...ports, CATALOG_FILE: catalog });
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
    const keyless = await npmStart(dataDir, { ...ports, PROVIDERS_FILE: registry });
    expect(keyless.output()).toContain('No model can answer yet');
    await keyless.end('SIGTERM');
    await nothingRuns();
    const started = await npmStart(dataDir, { ...ports, PROVIDERS_FILE: registry, OPENAI_API_KEY: 'sk-none' });
    const models = await fetch(`http://127.0.0.1:${ports.CONTROL_PORT}/v1/catalog/models`);
    const { data } = (await models.json()) as { data: { id: string }[] };
    expect(data.filter(({ id }) => id.startsWith('openai/')).length).toBeGreaterThan(1);
    expect(started.output()).toContain('"model":"openai/');
    expect(started.output()).not.toMatch(/demo\/|demo model|demo provider/);
    await started.end('SIGTERM');
    await nothingRuns();
  });

  it('with its own registry and no catalog, says what is missing', async () => {
    const registry = join(folder, 'own-providers.yaml');
    await writeFile(
      registry,
      'providers: [{id: acme, name: Acme, adapter: openai, base_url: "http://127.0.0.1:9/v1", privacy_class: private}]',
    );
    await expect(npmStart(dataDir, { ...ports, PROVIDERS_FILE: registry })).rejects.toThrow(
      /PROVIDERS_FILE is set without CATALOG_FILE/,
    );
    await nothingRuns();
  });
});

describe('npm start with REDIS_URL', async () => {
  const redis = await startTestRedis();

  it.skipIf(redis === undefined)('leaves no plane on its ports when it is killed', async () => {
    const environment = { ...ports, REDIS_URL: redis?.url ?? '' };
    const killed = await npmStart(dataDir, environment);
    const [, pid] = /kill -HUP (\d+)/.exec(killed.output()) ?? [];
    process.kill(Number(pid), 'SIGKILL');
    await killed.end('SIGTERM');
    const isGone = (url: string): Promise<boolean> =>
      fetch(`${new URL(url).origin}/readyz`).then(
        () => false,
        () => true,
      );
    const { control_url: control, base_url: broker } = killed.quickstart;
    await until(async () => (await isGone(control)) && (await isGone(broker)), 'both planes are gone', 15_000);
    // This start ends what is left of Postgres.
    await (await npmStart(dataDir, environment)).end('SIGTERM');
    await nothingRuns();
  });

  it.skipIf(redis === undefined)('runs the planes as two processes, and ends both', async () => {
    const started = await npmStart(dataDir, { ...ports, REDIS_URL: redis?.url ?? '' });
    try {
      expect(started.output()).toContain('two processes');
      expect(await runBlock('README.md', 'private')).toContain('You said: Hello');
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
    ['REDIS_URL', 'redis://127.0.0.1:1', /REDIS_URL: Redis did not answer/],
    ['IMAGE_GENERATION', 'yes', /IMAGE_GENERATION is `yes`: it takes `on` or `off`/],
    ['LOG_LEVEL', 'loud', /LOG_LEVEL is `loud`: it takes fatal, error/],
    ['SESSION_SECRET', 'short', /SESSION_SECRET has a value that cannot be used: it takes at least 32/],
    [
      'PROVIDERS_FILE',
      '/nowhere/providers.yaml',
      /PROVIDERS_FILE is `\/nowhere\/providers\.yaml`, which cannot be read\. Set it/,
    ],
    [
      'CATALOG_FILE',
      '/nowhere/catalog.yaml',
      /CATALOG_FILE is `\/nowhere\/catalog\.yaml`, which cannot be read\. Set it/,
    ],
    ['BILLING_FILE', '/nowhere/billing.yaml', /BILLING_FILE is `\/nowhere\/billing\.yaml`: it takes the path/],
    ['STRIPE_SECRET_KEY', 'sk_test_12345678', /STRIPE_WEBHOOK_SECRET is not set: payment by cards needs it/],
  ])('%s=%s', async (name, value, message) => {
    const failure = await npmStart(dataDir, { ...ports, [name]: value }).then(
      () => undefined,
      (error: unknown) => (error instanceof Error ? error.message : ''),
    );
    expect(failure).toMatch(/ended with 1/);
    expect(failure).toMatch(message);
    await nothingRuns();
  });
});

it.each(['CONTROL_PORT', 'CONFIDENTIAL_PORT', 'METRICS_PORT'])(
  'npm start with a busy %s ends with a line that names it, and says nothing after that',
  async (name) => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const failure = await npmStart(dataDir, { ...ports, [name]: String(port) }).catch(String);
    expect(failure).toMatch(
      new RegExp(`sotto: ${name} is \`${port}\`: another process listens there; choose a free one\n$`),
    );
    await nothingRuns();
    other.close();
  },
);

it('npm start with SMTP_URL sends mail, prints none, recognizes its demo account, and ends', async () => {
  const mailbox = await openMailbox();
  const started = await npmStart(mailFolder, {
    ...(await freePorts()),
    SMTP_URL: mailbox.url,
    MAIL_FROM: 'no-reply@sotto.example',
  });
  const { control_url: url, email, password } = started.quickstart;
  const statusOf = async (path: string, body: object): Promise<number> =>
    (await post(`${url}/auth/${path}`, body)).status;
  expect(await statusOf('sign-in/email', { email, password })).toBe(200);
  const ann = { email: 'ann@people.example', password: 'a long password' };
  expect(await statusOf('sign-up/email', { name: 'Ann', ...ann })).toBe(200);
  expect(await statusOf('sign-in/email', ann)).toBe(403);
  const token = await mailbox.token(ann.email, 'Confirm your address');
  expect(await statusOf('verify-email', { token, password: ann.password })).toBe(200);
  expect(await statusOf('sign-in/email', ann)).toBe(200);
  expect(mailbox.countTo(email)).toBe(0);
  expect(started.output()).not.toContain('mail to');
  expect(await started.end('SIGTERM')).toBe(0);
  await mailbox.stop();
});

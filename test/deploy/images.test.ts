import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../kit/free-port.ts';
import { startTestPostgres, type TestPostgres } from '../kit/postgres.ts';
import { type FakeProvider, startProvider } from '../kit/provider.ts';
import { redisSkipReason, startTestRedis, type TestRedis } from '../kit/redis.ts';
import { until } from '../kit/service.ts';
import { noteSkip } from '../kit/skips.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'sotto-test-images-'));
const key = (): string => randomBytes(32).toString('base64');

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly error: string;
}

const run = (program: string, args: readonly string[], environment: Record<string, string> = {}): Promise<Ran> =>
  new Promise((resolve) => {
    const env = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...environment };
    execFile(program, args, { cwd: root, env, maxBuffer: 1 << 26 }, (failure, out, error) => {
      resolve({ code: typeof failure?.code === 'number' ? failure.code : failure ? 1 : 0, out: out.trim(), error });
    });
  });

/** Makes what an image holds, as its Dockerfile does. */
async function make(image: string, name: string): Promise<{ path: string; measured: Record<string, string> }> {
  const path = join(folder, name);
  const { code, out, error } = await run(process.execPath, ['scripts/run.mjs', 'image', image, path], {
    SOURCE_DATE_EPOCH: '1790000000',
  });
  if (code !== 0) throw new Error(error);
  return { path, measured: JSON.parse(out.split('\n').at(-1) ?? '') as Record<string, string> };
}

function filesOf(path: string, at = ''): string[] {
  return readdirSync(join(path, at)).flatMap((entry) => {
    const file = at === '' ? entry : `${at}/${entry}`;
    return lstatSync(join(path, file)).isDirectory() ? filesOf(path, file) : [file];
  });
}

let broker: Awaited<ReturnType<typeof make>>;
let again: Awaited<ReturnType<typeof make>>;
let control: Awaited<ReturnType<typeof make>>;

beforeAll(async () => {
  broker = await make('broker', 'broker');
  again = await make('broker', 'broker-again');
  control = await make('control', 'control');
}, 300_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('what an image holds', () => {
  it('is the same bytes, rights and times each time', () => {
    expect(again.measured).toEqual(broker.measured);
    const look = (path: string) =>
      filesOf(path).map((file) => {
        const { mode, mtimeMs } = lstatSync(join(path, file));
        return [file, mode, mtimeMs];
      });
    expect(look(again.path)).toEqual(look(broker.path));
    expect(new Set(look(broker.path).map(([, , mtime]) => mtime))).toEqual(new Set([1_790_000_000_000]));
  });

  it('is made by the command of the guide, wherever it is made', async () => {
    const guide = readFileSync(join(root, 'docs/guides/images.md'), 'utf8');
    const script = /<!-- test: image -->\n```sh\n(.*?)```/s.exec(guide)?.[1] ?? '';
    const path = join(folder, 'by-the-guide');
    const { code, out, error } = await run('bash', ['-c', script.replaceAll('/tmp/sotto-broker', path)]);
    expect(code, error).toBe(0);
    expect(out).toContain(broker.measured.tree_sha256);
  });

  it('is compiled code and production dependencies, and nothing to compile or to test with', () => {
    for (const { path } of [broker, control]) {
      const files = filesOf(path);
      expect(files.length).toBeGreaterThan(300);
      expect(files.filter((file) => /\.(ts|map|tsbuildinfo)$|\.test\.[cm]?js$|\/testing\//.test(file))).toEqual([]);
      expect(
        files.filter((file) => /node_modules\/(vitest|typescript|@biomejs|esbuild|vite|drizzle-kit)\//.test(file)),
      ).toEqual([]);
      // Every link leads to something inside.
      for (const file of files) expect(() => readFileSync(join(path, file)), file).not.toThrow(/ENOENT/);
    }
  });

  it('has, in the broker, no database, no accounts and no web page', () => {
    const names = filesOf(broker.path).flatMap(
      (file) => /node_modules\/((?:@[^/]+\/)?[^/]+)\/package\.json$/.exec(file)?.[1] ?? [],
    );
    expect(names.length).toBeGreaterThan(50);
    const forbidden = /^(pg|drizzle-orm|better-auth|oidc-provider|stripe|nodemailer|react|kysely)$/;
    expect(names.filter((name) => forbidden.test(name))).toEqual([]);
    expect(readdirSync(join(broker.path, 'apps'))).toEqual(['confidential']);
    expect(readdirSync(join(control.path, 'apps')).sort()).toEqual(['control', 'dashboard']);
    expect(readdirSync(join(control.path, 'packages'))).not.toContain('providers');
  });

  it('says what it is made of, each with its hash, and what is measured of it', () => {
    for (const { path } of [broker, control]) {
      const bill = JSON.parse(readFileSync(join(path, 'sbom.cdx.json'), 'utf8')) as {
        bomFormat: string;
        components: { name: string; version: string; purl?: string; hashes?: { content: string }[] }[];
      };
      expect(bill.bomFormat).toBe('CycloneDX');
      const theirs = bill.components.filter(({ name, purl }) => purl !== undefined && !name.startsWith('@sotto/'));
      expect(theirs.length).toBeGreaterThan(50);
      expect(theirs.filter(({ hashes }) => hashes?.[0]?.content.length !== 128)).toEqual([]);
      expect(bill.components).toContainEqual(expect.objectContaining({ name: 'node', version: process.versions.node }));
    }
    const registry = readFileSync(join(broker.path, 'apps/confidential/providers.yaml'));
    expect(broker.measured.registry_sha256).toBe(createHash('sha256').update(registry).digest('hex'));
    expect(JSON.parse(readFileSync(join(broker.path, 'measured.json'), 'utf8'))).toEqual(broker.measured);
  });

  it('is not put into a folder that has something, and of an image that there is', async () => {
    expect(await run(process.execPath, ['deploy/images/assemble.mjs', 'broker', broker.path])).toMatchObject({
      code: 1,
      error: expect.stringContaining('is not empty: it takes a new folder'),
    });
    expect(
      await run(process.execPath, ['deploy/images/assemble.mjs', 'toaster', join(folder, 'toaster')]),
    ).toMatchObject({
      code: 1,
      error: expect.stringContaining('usage: npm run image -- control|broker OUT'),
    });
  });
});

describe('both images together', () => {
  let redis: TestRedis | undefined;
  let postgres: TestPostgres;
  let provider: FakeProvider;
  const started: ChildProcess[] = [];
  const output: string[] = [];

  beforeAll(async () => {
    redis = await startTestRedis({ appendOnly: true });
    if (redis === undefined) return noteSkip('the images, run', redisSkipReason);
    postgres = await startTestPostgres();
    provider = await startProvider();
  });
  afterAll(async () => {
    for (const child of started) {
      const gone = new Promise((resolve) => child.once('exit', resolve));
      if (child.exitCode === null && child.kill('SIGTERM')) await gone;
    }
    await provider?.stop();
    await redis?.stop();
    await postgres?.stop();
  });

  /** Runs what an image runs, as its entry point does. */
  function start(path: string, args: readonly string[], environment: Record<string, string>): void {
    const entry = ['--core=0:0', join(path, 'bin/node'), '--disable-sigusr1', ...args];
    const child = spawn('prlimit', entry, { env: { NODE_ENV: 'production', ...environment }, cwd: '/' });
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (bytes) => output.push(String(bytes)));
    started.push(child);
  }

  it('serve a private request over TLS, in production mode, on nothing but themselves', async (context) => {
    if (redis === undefined) return context.skip('no Redis');
    const ports = { control: await freePort(), broker: await freePort() };
    writeFileSync(
      join(folder, 'providers.yaml'),
      `providers:\n  - {id: acme, name: Acme, adapter: openai, base_url: "${provider.baseUrl}", privacy_class: private}\n`,
    );
    writeFileSync(
      join(folder, 'catalog.yaml'),
      `models:
  - id: acme/small
    model_type: text
    context_length: 8000
    max_output_tokens: 1000
    routes: [{provider: acme, upstream_model: small, privacy_class: private, pricing: {input: 1, output: 2}}]
`,
    );
    const shared = {
      HOST: '127.0.0.1',
      DRAIN_DELAY_S: '0',
      REDIS_URL: redis.url,
      TICKET_SEALING_KEY: key(),
      SETTLEMENT_MAC_KEY: key(),
      CONFIDENTIAL_ORIGIN: `https://127.0.0.1:${ports.broker}`,
    };
    const controlEnvironment = {
      ...shared,
      CONTROL_PORT: String(ports.control),
      DATABASE_URL: await postgres.createDatabase(),
      CATALOG_FILE: join(folder, 'catalog.yaml'),
      ACCOUNT_REF_KEY: key(),
      SESSION_SECRET: key(),
    };
    const brokerEnvironment = {
      ...shared,
      CONFIDENTIAL_PORT: String(ports.broker),
      PROVIDERS_FILE: join(folder, 'providers.yaml'),
      ATTESTATION: 'off',
      // As the Dockerfile sets it.
      SSL_CERT_FILE: '',
    };
    start(broker.path, [join(broker.path, 'apps/confidential/dist/main.js')], brokerEnvironment);
    start(control.path, [join(control.path, 'apps/control/dist/main.js'), 'serve'], controlEnvironment);
    const controlUrl = `http://127.0.0.1:${ports.control}`;
    const isReady = (url: string): Promise<boolean> =>
      fetch(url).then(
        ({ ok }) => ok,
        () => false,
      );
    await until(
      () => isReady(`${controlUrl}/readyz`),
      () => `control is ready; ${output.join('')}`,
      60_000,
    );
    const sotto = async (...args: string[]): Promise<string> => {
      const node = join(control.path, 'bin/node');
      const ran = await run(node, [join(control.path, 'apps/control/dist/main.js'), ...args], controlEnvironment);
      expect(ran.error).toBe('');
      return ran.out;
    };
    const account = /[0-9a-f-]{36}/.exec(await sotto('account', 'create', '--name', 'test'))?.[0] ?? '';
    await sotto('account', 'credit', account, '5', '--reference', 'test');
    const inferenceKey = /sotto_inf_\S+/.exec(await sotto('key', 'create', '--account', account))?.[0] ?? '';

    const health = (path: string, which: string, port: Record<string, string>): Promise<Ran> =>
      run(join(path, 'bin/node'), [join(path, 'health.mjs'), which], port);
    await until(
      async () => (await health(broker.path, 'broker', { CONFIDENTIAL_PORT: String(ports.broker) })).code === 0,
      'the broker is healthy',
    );
    expect(await health(control.path, 'control', { CONTROL_PORT: String(ports.control) })).toMatchObject({ code: 0 });
    expect(await health(control.path, 'control', { CONTROL_PORT: String(await freePort()) })).toMatchObject({
      code: 1,
    });

    const mint = async (): Promise<Response> =>
      fetch(`${controlUrl}/v1/inference/tickets`, {
        method: 'POST',
        headers: { authorization: `Bearer ${inferenceKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'acme/small' }),
      });
    await until(
      async () => (await mint()).ok,
      () => `tickets are minted; ${output.join('')}`,
      30_000,
    );
    const { ticket } = (await (await mint()).json()) as { ticket: string };
    const answered = await new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
      const asking = request(
        `https://127.0.0.1:${ports.broker}/v1/chat/completions`,
        {
          method: 'POST',
          rejectUnauthorized: false,
          headers: { 'x-router-ticket': ticket, 'content-type': 'application/json' },
        },
        (answer) => {
          let text = '';
          answer.on('data', (bytes) => {
            text += String(bytes);
          });
          answer.on('end', () => resolve({ status: answer.statusCode, text }));
        },
      );
      asking.on('error', reject);
      asking.end(JSON.stringify({ model: 'acme/small', messages: [{ role: 'user', content: 'Hi' }] }));
    });
    expect(answered.status, `${answered.text} ${output.join('')}`).toBe(200);
    expect(JSON.parse(answered.text)).toMatchObject({ object: 'chat.completion', model: 'acme/small' });
    expect((await fetch(`${controlUrl}/`)).headers.get('content-type')).toContain('text/html');
    expect(output.join('')).not.toContain('unexpected error');
  });
});

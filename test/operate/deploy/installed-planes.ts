import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig as readControlConfig, runCli } from '@sotto/control';
import { loadSettings, readBrokerConfig, settingsSchemas } from '@sotto/server';
import {
  freePort,
  noteSkip,
  type OwnRedis,
  redisSkipReason,
  startOwnRedis,
  startTestPostgres,
  type TestPostgres,
  until,
} from '@sotto/test-servers';
import { expect } from 'vitest';
import { filesOf, providerEntry, routeEntry, textModel } from '../../kit/catalog.ts';
import type { Ran } from '../../kit/programs.ts';
import { type FakeProvider, startProvider } from '../../kit/provider.ts';

export type Image = 'broker' | 'control';
type Settings = Readonly<Record<string, string>>;

/** Runs the two planes, each with its settings. */
export interface Installation {
  /** The folder of `writeFiles`. */
  readonly folder: string;
  /** The same folder, as the planes see it. */
  readonly files: string;
  start(image: Image, settings: Settings): void;
  /** Runs a command of `sotto-control`. */
  command(args: readonly string[], settings: Settings): Promise<Ran>;
  /** Resolves to the exit code of the image's health check. */
  health(image: Image, settings: Settings): Promise<number>;
}

/** Two running planes. */
export interface InstalledPlanes {
  readonly controlUrl: string;
  readonly brokerPort: number;
  readonly inferenceKey: string;
}

const key = (): string => randomBytes(32).toString('base64');

/** Writes a registry and a catalog of one model into a new folder, or into `folder`. `more` is for the provider. */
export function writeFiles(
  { provider }: Surroundings,
  folder = mkdtempSync(join(tmpdir(), 'sotto-test-files-')),
  more: object = {},
): string {
  const { registry, catalog } = filesOf(
    [providerEntry('acme', provider.baseUrl, more)],
    [textModel('acme/small', [routeEntry('acme')])],
  );
  writeFileSync(join(folder, 'providers.yaml'), registry, { mode: 0o644 });
  writeFileSync(join(folder, 'catalog.yaml'), catalog, { mode: 0o644 });
  return folder;
}

/** Starts both planes in production mode, with TLS. Resolves once they are healthy and mint tickets. */
export async function serveInstalled(around: Surroundings, installation: Installation): Promise<InstalledPlanes> {
  const { redis, postgres, output } = around;
  const { folder, files, start, command, health } = installation;
  const ports = { control: await freePort(), broker: await freePort() };
  writeFileSync(
    join(folder, 'sotto.yaml'),
    `control: {host: 127.0.0.1, port: ${ports.control}}
broker:
  origin: https://127.0.0.1:${ports.broker}
  host: 127.0.0.1
  port: ${ports.broker}
  attestation: off
drain: {delay_s: 0}
providers_file: providers.yaml
models_file: catalog.yaml
data: {database_url: env:DATABASE, redis_url: env:REDIS}
secrets:
  ticket_sealing_key: env:TICKETS
  settlement_mac_key: env:SETTLEMENTS
  account_ref_key: env:ACCOUNTS
  session_secret: env:SESSIONS
`,
    { mode: 0o644 },
  );
  const config = { CONFIG_FILE: `${files}/sotto.yaml` };
  const shared = { ...config, REDIS: redis.url, TICKETS: key(), SETTLEMENTS: key() };
  const control = { ...shared, DATABASE: await postgres.createEmptyDatabase(), ACCOUNTS: key(), SESSIONS: key() };
  start('broker', shared);
  start('control', control);
  const controlUrl = `http://127.0.0.1:${ports.control}`;
  const isReady = async (): Promise<boolean> => (await fetch(`${controlUrl}/readyz`)).ok;
  await until(isReady, () => `control is ready; ${output.join('')}`, 60_000);
  const sotto = async (...args: string[]): Promise<string> => {
    const ran = await command(args, control);
    expect(ran.error).toBe('');
    return ran.out;
  };
  const account = /[0-9a-f-]{36}/.exec(await sotto('account', 'create', '--name', 'test'))?.[0] ?? '';
  await sotto('account', 'credit', account, '5', '--reference', 'test');
  const inferenceKey = /sotto_inf_\S+/.exec(await sotto('key', 'create', '--account', account))?.[0] ?? '';
  await until(
    async () => (await health('broker', config)) === 0,
    () => `the broker is healthy; ${output.join('')}`,
  );
  expect(await health('control', config)).toBe(0);
  expect(await health('control', { ...config, CONTROL_PORT: String(await freePort()) })).toBe(1);
  const planes = { controlUrl, brokerPort: ports.broker, inferenceKey };
  await until(
    async () => (await mint(planes)).ok,
    () => `tickets are minted; ${output.join('')}`,
    30_000,
  );
  return planes;
}

const mint = ({ controlUrl, inferenceKey }: InstalledPlanes): Promise<Response> =>
  fetch(`${controlUrl}/v1/inference/tickets`, {
    method: 'POST',
    headers: { authorization: `Bearer ${inferenceKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'acme/small' }),
  });

/** Sends one chat privately: a ticket from control, the content to the broker. */
export async function askPrivately(planes: InstalledPlanes): Promise<{ status: number | undefined; text: string }> {
  const { ticket } = (await (await mint(planes)).json()) as { ticket: string };
  return new Promise((resolve, reject) => {
    const asking = request(
      `https://127.0.0.1:${planes.brokerPort}/v1/chat/completions`,
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
}

/** The services that installed planes need: servers as in production, a provider, and a function that ends them. */
export interface Surroundings {
  readonly redis: OwnRedis;
  readonly postgres: TestPostgres;
  readonly provider: FakeProvider;
  /** The output of the planes. */
  readonly output: string[];
  /** Records a plane's output, and ends the plane with the rest. */
  adopt(child: ChildProcess): void;
  stop(): Promise<void>;
}

/** Undefined if Redis is not available. The run then reports that it skipped `what`. */
export async function openSurroundings(what: string): Promise<Surroundings | undefined> {
  const redis = await startOwnRedis({ appendOnly: true });
  if (redis === undefined) {
    noteSkip(what, redisSkipReason);
    return undefined;
  }
  const postgres = await startTestPostgres();
  const provider = await startProvider();
  const children: ChildProcess[] = [];
  const output: string[] = [];
  return {
    redis,
    postgres,
    provider,
    output,
    adopt(child) {
      for (const stream of [child.stdout, child.stderr]) stream?.on('data', (bytes) => output.push(String(bytes)));
      children.push(child);
    },
    async stop() {
      for (const child of children) {
        const gone = new Promise((resolve) => child.once('exit', resolve));
        if (child.exitCode === null && child.kill('SIGTERM')) await gone;
      }
      await provider.stop();
      await redis.stop();
      await postgres.stop();
    },
  };
}

/** The variables of the reference of settings. */
const settings = readFileSync(new URL('../../../docs/reference/configuration.md', import.meta.url), 'utf8');
const documented = new Set(settings.match(/\b[A-Z][A-Z0-9]{2,}(?:_[A-Z0-9]+)*\b/g));

/** Valid contents for the files of secrets. */
const contents: Readonly<Record<string, string>> = {
  'database-url': 'postgresql://sotto:x@postgres:5432/sotto',
  'redis-url': 'redis://:x@redis:6379',
  'broker-redis-url': 'redis://broker:x@redis:6379',
};

/**
 * Reads the environment and the `sotto.yaml` (CONFIG_FILE) that a deployment gives a plane, as the plane does. Returns the
 * problem, or undefined. An unknown name is a problem too, because it would have no effect.
 */
export function problemOf(
  plane: 'control' | 'broker',
  environment: Readonly<Record<string, string>>,
  file = '',
): string | undefined {
  const loaded = loadSettings({
    ...{ plane, schema: settingsSchemas[plane], environment },
    readFile: (path) => {
      if (path === environment.CONFIG_FILE) return file;
      const name = path.slice(path.lastIndexOf('/') + 1).replaceAll('_', '-');
      return contents[name] ?? 'A'.repeat(43);
    },
  });
  if (!loaded.ok) return loaded.message;
  const config = (plane === 'control' ? readControlConfig : readBrokerConfig)(loaded.settings);
  if (!config.ok) return config.message;
  const unknown = Object.entries(environment).filter(([name, value]) => value !== '' && !documented.has(name));
  return unknown.length > 0 ? `the reference knows no ${unknown.map(([name]) => name).join(', ')}` : undefined;
}

/** Replaces each text of a file. Throws if the file does not have it. */
export function editSettings(file: string, changes: readonly (readonly [from: string, to: string])[]): void {
  let text = readFileSync(file, 'utf8');
  for (const [from, to] of changes) {
    if (!text.includes(from)) throw new Error(`${file} has no ${from}`);
    text = text.replace(from, to);
  }
  writeFileSync(file, text);
}

/** What `sotto-control config check` says about a file. Empty: it has no problems. */
export async function problemsOfFile(text: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'sotto-test-config-'));
  const file = join(folder, 'sotto.yaml');
  writeFileSync(file, text);
  const said: string[] = [];
  const ignored = { readInput: async () => '', out: () => {} };
  await runCli(['config', 'check', file], { ...ignored, environment: {}, error: (line) => said.push(line) });
  rmSync(folder, { recursive: true });
  return said.join('\n').replaceAll(file, 'sotto.yaml');
}

import { randomBytes } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { freePort } from '../../kit/free-port.ts';
import { until } from '../../kit/until.ts';
import type { Surroundings } from './surroundings.ts';

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly error: string;
}

export type Image = 'broker' | 'control';
type Settings = Readonly<Record<string, string>>;

/** How the two planes are run, each with the settings that it is given. */
export interface Installation {
  /** The folder of `writeFiles`, as the planes see it. */
  readonly files: string;
  start(image: Image, settings: Settings): void;
  /** A command of `sotto-control`. */
  command(args: readonly string[], settings: Settings): Promise<Ran>;
  /** What the image's health check exits with. */
  health(image: Image, settings: Settings): Promise<number>;
}

/** Two planes that serve. */
export interface InstalledPlanes {
  readonly controlUrl: string;
  readonly brokerPort: number;
  readonly inferenceKey: string;
}

const key = (): string => randomBytes(32).toString('base64');

/** A registry and a catalog of one model, in a new folder. */
export function writeFiles({ provider }: Surroundings): string {
  const folder = mkdtempSync(join(tmpdir(), 'sotto-test-files-'));
  writeFileSync(
    join(folder, 'providers.yaml'),
    `providers:\n  - {id: acme, name: Acme, adapter: openai, base_url: "${provider.baseUrl}", privacy_class: private}\n`,
    { mode: 0o644 },
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
    { mode: 0o644 },
  );
  return folder;
}

/** Starts both planes in production mode, with TLS; resolves once they are healthy and mint tickets. */
export async function serveInstalled(around: Surroundings, installation: Installation): Promise<InstalledPlanes> {
  const { redis, postgres, output } = around;
  const { files, start, command, health } = installation;
  const ports = { control: await freePort(), broker: await freePort() };
  const shared = {
    HOST: '127.0.0.1',
    DRAIN_DELAY_S: '0',
    REDIS_URL: redis.url,
    TICKET_SEALING_KEY: key(),
    SETTLEMENT_MAC_KEY: key(),
    CONFIDENTIAL_ORIGIN: `https://127.0.0.1:${ports.broker}`,
  };
  const control = {
    ...shared,
    CONTROL_PORT: String(ports.control),
    DATABASE_URL: await postgres.createDatabase(),
    CATALOG_FILE: `${files}/catalog.yaml`,
    ACCOUNT_REF_KEY: key(),
    SESSION_SECRET: key(),
  };
  start('broker', {
    ...shared,
    CONFIDENTIAL_PORT: String(ports.broker),
    PROVIDERS_FILE: `${files}/providers.yaml`,
    ATTESTATION: 'off',
  });
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
    async () => (await health('broker', { CONFIDENTIAL_PORT: String(ports.broker) })) === 0,
    () => `the broker is healthy; ${output.join('')}`,
  );
  expect(await health('control', { CONTROL_PORT: String(ports.control) })).toBe(0);
  expect(await health('control', { CONTROL_PORT: String(await freePort()) })).toBe(1);
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

import { type ChildProcess, spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { verifyGateway } from '@sotto/attestation';
import { certifyServer, Issuer, toPem } from '@sotto/attestation/testing';
import type { KeeperOptions } from '@sotto/keeper';
import {
  freePort,
  noteSkip,
  redisSkipReason,
  startTestPostgres,
  startTestRedis,
  type TestPostgres,
  type TestRedis,
  until,
} from '@sotto/test-servers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { filesOf, providerEntry, routeEntry, textModel } from '../../kit/catalog.ts';
import { bearer } from '../../kit/client.ts';
import { useFolder } from '../../kit/folder.ts';
import { fromSource } from '../../kit/programs.ts';
import { type FakeProvider, startProvider } from '../../kit/provider.ts';
import { type Service, startService } from '../../kit/service.ts';
import { keeperPins, makeKeeper, type TestKeeper } from './world.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const { tdx, provider_registries } = keeperPins;
const goodPins = { gateway: { tdx, provider_registries } };

const folder = useFolder('keeper');
const file = (name: string): string => join(folder, name);
const started: ChildProcess[] = [];

beforeAll(async () => {
  const authority = await Issuer.make('Test Authority');
  const { cert, key } = await certifyServer(authority);
  await writeFile(file('ca.pem'), toPem(await authority.certifySelf()));
  await writeFile(file('cert.pem'), cert);
  await writeFile(file('key.pem'), key);
  await writeFile(
    file('pins.json'),
    JSON.stringify({ ...goodPins, providers: {}, credits: {}, releases: [], logs: [] }),
  );
  await writeFile(file('secrets.env'), '# of the providers\nACME_API_KEY=sk-acme\nREDIS_URL="redis://127.0.0.1:1"\n');
});
afterAll(async () => {
  for (const child of started) child.kill('SIGKILL');
});

const keeperSettings = (port: number): Record<string, string> => ({
  PATH: process.env.PATH ?? '',
  HOST: '127.0.0.1',
  KEEPER_PORT: String(port),
  KEEPER_ORIGIN: `https://127.0.0.1:${port}`,
  TLS_CERT_FILE: file('cert.pem'),
  TLS_KEY_FILE: file('key.pem'),
  PINS_FILE: file('pins.json'),
  SECRETS_FILE: file('secrets.env'),
});
/** A broker without hardware that asks a keeper for its secrets. */
const brokerSettings = (keeperOrigin: string): Record<string, string> => ({
  PATH: process.env.PATH ?? '',
  HOST: '127.0.0.1',
  CONFIDENTIAL_PORT: '0',
  CONFIDENTIAL_TLS: 'off',
  ATTESTATION: 'simulated',
  KEEPER_ORIGIN: keeperOrigin,
  KEEPER_CA_FILE: file('ca.pem'),
});

/** Starts a process and keeps its output. */
function run(main: string, env: Record<string, string>) {
  const child = spawn(process.execPath, [...fromSource, '--disable-sigusr1', main], { cwd: root, env });
  started.push(child);
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => output.push(String(bytes)));
  const ended = new Promise<number | null>((resolve) => void child.once('close', resolve));
  return { child, said: () => output.join(''), ended };
}

describe('the keeper does not start', () => {
  beforeAll(async () => {
    await writeFile(file('no-registry.json'), JSON.stringify({ gateway: { tdx } }));
    await writeFile(file('no-machine.json'), JSON.stringify({ gateway: { provider_registries } }));
    await writeFile(file('bad-pins.json'), JSON.stringify({ gateway: { tdx: { measurements: [] } } }));
    await writeFile(file('odd-pins.json'), JSON.stringify({ ...goodPins, gatway: {} }));
    await writeFile(file('text.json'), 'pins');
    await writeFile(file('twice.json'), JSON.stringify(goodPins).replace('{', '{"gateway":{},'));
    await writeFile(file('not-secret.env'), 'PROVIDERS_FILE=/tmp/x.yaml\n');
    await writeFile(file('empty.env'), '\n# nothing\n');
    await writeFile(file('half.env'), 'ACME_API_KEY=\n');
    await writeFile(file('own.env'), 'ACME_API_KEY=sotto_inf_x\n');
  });

  it.each<[string, Record<string, string>, string]>([
    ['without its origin', { KEEPER_ORIGIN: '' }, 'KEEPER_ORIGIN is not set: it takes an origin'],
    ['without TLS', { KEEPER_ORIGIN: 'http://127.0.0.1:1' }, 'takes an origin that begins with https://'],
    ['with a certificate that is none', { TLS_CERT_FILE: 'pins.json' }, 'Set them to a certificate with its chain'],
    ['without pins', { PINS_FILE: 'nowhere.json' }, 'which cannot be read'],
    ['with pins that are no JSON', { PINS_FILE: 'text.json' }, 'PINS_FILE: it is not valid JSON'],
    ['with pins that name the machines twice', { PINS_FILE: 'twice.json' }, 'PINS_FILE: it has `gateway` twice'],
    [
      'with malformed pins',
      { PINS_FILE: 'bad-pins.json' },
      'PINS_FILE: `gateway.tdx.measurements` must be a list of at least 1 entry (docs',
    ],
    ['with pins of a name that there is none of', { PINS_FILE: 'odd-pins.json' }, 'it has an unknown field: `gatway`'],
    ['with pins of no machine', { PINS_FILE: 'no-machine.json' }, 'PINS_FILE: it pins no machine'],
    ['with pins of no registry', { PINS_FILE: 'no-registry.json' }, '`gateway.provider_registries` is missing'],
    ['with what is no secret', { SECRETS_FILE: 'not-secret.env' }, '`PROVIDERS_FILE` is not the name of a secret'],
    ['with no secret', { SECRETS_FILE: 'empty.env' }, 'SECRETS_FILE: it contains no secret'],
    ['with a secret without a value', { SECRETS_FILE: 'half.env' }, 'SECRETS_FILE: ACME_API_KEY has no value'],
    ['with a key of Sotto for a provider', { SECRETS_FILE: 'own.env' }, 'ACME_API_KEY begins with `sotto_`'],
  ])('%s, and reports the error in one line', async (_, changes, message) => {
    const paths = Object.entries(changes).map(([name, value]) => [name, name.endsWith('_FILE') ? file(value) : value]);
    const env = { ...keeperSettings(await freePort()), ...Object.fromEntries(paths) };
    const keeper = run('apps/keeper/src/main.ts', env);
    const code = await keeper.ended;
    expect(keeper.said()).toMatch(/^sotto-keeper: [^\n]+\n$/);
    expect(keeper.said()).toContain(message);
    expect(code).toBe(1);
  });
});

describe('both as processes', () => {
  it('a broker without hardware gets nothing, waits, says why, and stops when told to', async () => {
    const port = await freePort();
    const broker = run('apps/confidential/src/main.ts', brokerSettings(`https://127.0.0.1:${port}`));
    await until(() => broker.said().includes('ECONNREFUSED'), broker.said);
    const keeper = run('apps/keeper/src/main.ts', keeperSettings(port));
    await until(
      () => broker.said().includes('simulated.hardware'),
      () => `${broker.said()} ${keeper.said()}`,
      30_000,
    );
    expect(broker.said()).toContain('waiting for secrets');
    await until(() => keeper.said().includes('secrets refused'), keeper.said);
    expect(`${broker.said()}${keeper.said()}`).not.toContain('sk-acme');
    broker.child.kill('SIGTERM');
    expect(await broker.ended).toBe(0);
    keeper.child.kill('SIGTERM');
    expect(await keeper.ended).toBe(0);
    expect(keeper.said()).toContain('"stopped"');
  }, 60_000);

  it.each<[string, Record<string, string>, string]>([
    ['nothing vouches for it', { ATTESTATION: 'off' }, 'KEEPER_ORIGIN is set while ATTESTATION is `off`'],
    [
      'the keeper speaks no TLS',
      { KEEPER_ORIGIN: 'http://keeper:4002' },
      'it takes an origin that begins with https://',
    ],
    [
      'nobody says whose certificate the keeper has',
      { KEEPER_CA_FILE: '' },
      'KEEPER_ORIGIN is set without KEEPER_CA_FILE',
    ],
    ['there is no keeper', { KEEPER_ORIGIN: '' }, 'KEEPER_CA_FILE is set without KEEPER_ORIGIN'],
    ['its authorities are none', { KEEPER_CA_FILE: 'pins.json' }, 'which contains no usable certificates'],
    ['its authorities are not there', { KEEPER_CA_FILE: 'nowhere.pem' }, 'which contains no usable certificates'],
  ])('a broker does not start where %s', async (_, changes, message) => {
    const broker = run('apps/confidential/src/main.ts', {
      ...brokerSettings('https://127.0.0.1:1'),
      ...changes,
      ...(changes.KEEPER_CA_FILE ? { KEEPER_CA_FILE: file(changes.KEEPER_CA_FILE) } : {}),
    });
    expect(await broker.ended).toBe(1);
    expect(broker.said()).toContain(message);
  });
});

describe('a broker whose secrets are all released', () => {
  let redis: TestRedis | undefined;
  let postgres: TestPostgres;
  let provider: FakeProvider;
  let service: Service;
  let keeper: TestKeeper;
  /** Stands in for hardware: it checks the values that simulated evidence binds, and all else about the evidence. */
  const trustSimulation: KeeperOptions['verify'] = async (document, challenge) => {
    const verified = await verifyGateway(document, challenge);
    const failed = verified.checks.flatMap(({ name, outcome }) => (outcome === 'failed' ? [name] : []));
    return failed.join() === 'simulated.hardware' ? { ...verified, verdict: 'hardware_verified' } : verified;
  };

  beforeAll(async () => {
    redis = await startTestRedis();
    if (redis === undefined) return noteSkip('a broker whose secrets are released', redisSkipReason);
    postgres = await startTestPostgres();
    provider = await startProvider();
    const files = filesOf(
      [providerEntry('p', provider.baseUrl, { api_key_env: 'ACME_API_KEY' })],
      [textModel('m/one', [routeEntry('p')])],
    );
    await writeFile(file('providers.yaml'), files.registry);
    service = await startService({
      planes: 'two',
      databaseUrl: await postgres.createDatabase(),
      redisUrl: redis.url,
      ...files,
      brokerEnvironment: { ACME_API_KEY: 'sk-from-the-environment' },
    });
    keeper = await makeKeeper({
      verify: trustSimulation,
      pins: () => ({}),
      secrets: () => ({
        REDIS_URL: redis?.url ?? '',
        TICKET_SEALING_KEY: service.secrets.TICKET_SEALING_KEY,
        SETTLEMENT_MAC_KEY: service.secrets.SETTLEMENT_MAC_KEY,
        ACME_API_KEY: 'sk-from-the-keeper',
      }),
    });
    await writeFile(file('keeper-ca.pem'), keeper.ca);
  });
  afterAll(async () => {
    await service?.stop();
    await keeper?.stop();
    await provider?.stop();
    await postgres?.stop();
    await redis?.stop();
  });

  it('starts once the keeper answers, and serves with the released secrets', async (context) => {
    if (redis === undefined) return context.skip('no Redis');
    const account = await service.createAccount();
    await service.broker.terminate();
    const without = { REDIS_URL: undefined, TICKET_SEALING_KEY: undefined, SETTLEMENT_MAC_KEY: undefined };
    const ready = service.broker.restart({
      ...without,
      ACME_API_KEY: undefined,
      ATTESTATION: 'simulated',
      KEEPER_ORIGIN: keeper.origin,
      KEEPER_CA_FILE: file('keeper-ca.pem'),
    });
    await until(() => service.logs().includes('waiting for secrets'), 'the broker waits');
    await keeper.start();
    await ready;
    expect(keeper.released).toEqual([4]);
    const answer = await fetch(`${service.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { ...bearer(account.inferenceKey), 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm/one', messages: [{ role: 'user', content: 'Hi' }] }),
    });
    expect(answer.status).toBe(200);
    expect(provider.seen.at(-1)?.headers.authorization).toBe('Bearer sk-from-the-keeper');
    expect(service.logs()).not.toContain('sk-from-the-keeper');
    await service.settled(account);
  }, 60_000);

  it('does not start if a secret is also set in its environment', async (context) => {
    if (redis === undefined) return context.skip('no Redis');
    const broker = run('apps/confidential/src/main.ts', {
      ...brokerSettings(keeper.origin),
      KEEPER_CA_FILE: file('keeper-ca.pem'),
      PROVIDERS_FILE: file('providers.yaml'),
      ACME_API_KEY: 'sk-beside',
    });
    expect(await broker.ended).toBe(1);
    expect(broker.said()).toContain('ACME_API_KEY is set here and also released by the keeper. Remove one of them');
  });
});

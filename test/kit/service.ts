import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createAccount, creditAccount, insertKey } from '@sotto/control/testing';
import { nusdToUsd } from '@sotto/money';
import { freePort, openTestPool, until } from '@sotto/test-servers';
import { initialPreferences, type Preferences } from '@sotto/wire';
import type pg from 'pg';
import { type OwnPlane, Plane, type TestProcess } from './plane.ts';
import { fromSource, programOf, runToEnd } from './programs.ts';
import { runningOutputs } from './running-outputs.ts';

export { until } from '@sotto/test-servers';

export interface ServiceOptions {
  /** `one`: embedded mode, both planes in one process with state in memory. `two`: two processes on Redis. */
  readonly planes: 'one' | 'two';
  /** With the schema. */
  readonly databaseUrl: string;
  /** Required for `two`. */
  readonly redisUrl?: string | undefined;
  /** YAML of PROVIDERS_FILE and CATALOG_FILE. */
  readonly registry: string;
  readonly catalog: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** Variables for only one of two processes. They extend or replace the common ones. */
  readonly controlEnvironment?: Readonly<Record<string, string>> | undefined;
  readonly brokerEnvironment?: Readonly<Record<string, string>> | undefined;
  /** The broker's port, if a test must know it in advance. */
  readonly brokerPort?: number | undefined;
  /** Keeps only the newest output of the processes, for those that run for hours. */
  readonly discardLogs?: boolean | undefined;
  /** Flags of Node, for every process. */
  readonly nodeFlags?: readonly string[] | undefined;
  /** The host name of control. Default: 127.0.0.1. Passkeys need a name. */
  readonly controlHost?: 'localhost' | undefined;
  /**
   * How the broker verifies enclaves, if not under the vendors' roots. `assumed` skips verification, for tests about
   * other things. Any other value is the file of a `TestGround`. The broker then starts from a main in `mains/`.
   */
  readonly enclaves?: string | undefined;
  /** Options for only one of two processes. */
  readonly own?: { readonly broker?: OwnPlane; readonly control?: OwnPlane };
}

export interface TestAccount {
  readonly accountId: string;
  readonly workspaceId: string;
  readonly inferenceKey: string;
  readonly managementKey: string;
}

/** The addresses of a plane, and its options. */
interface PlaneOptions extends OwnPlane {
  readonly origins: readonly string[];
}

type SecretName = 'TICKET_SEALING_KEY' | 'SETTLEMENT_MAC_KEY' | 'ACCOUNT_REF_KEY' | 'SESSION_SECRET';

/** The service as its users see it: real processes, over HTTP. */
export interface Service {
  readonly controlUrl: string;
  readonly baseUrl: string;
  readonly pool: pg.Pool;
  /** The Redis that the planes share; undefined if both are one process. */
  readonly redisUrl: string | undefined;
  readonly control: TestProcess;
  /** The same process as `control` if both planes are one process. */
  readonly broker: TestProcess;
  /** The secrets of the processes, by the names of their variables. */
  readonly secrets: Readonly<Record<SecretName, string>>;
  /** Returns all output of the processes so far, stdout and stderr. */
  logs(): string;
  /** Creates an account with money and a key of each kind, ready for use. Default: 10 USD. */
  createAccount(options?: { readonly usd?: number; readonly preferences?: Partial<Preferences> }): Promise<TestAccount>;
  /** Credits an account, and waits until its next request and `GET /balance` see the money. */
  credit(accountId: string, usd: number): Promise<void>;
  /** Creates a further key of an account, ready for use. */
  createKey(
    account: TestAccount,
    options?: {
      readonly kind?: 'inference' | 'management';
      readonly limitUsd?: number;
      readonly openaiCompatible?: boolean;
    },
  ): Promise<string>;
  /** Replaces preferences of an account's workspace, and waits until the brokers have them. */
  setPreferences(account: TestAccount, preferences: Partial<Preferences>): Promise<void>;
  /** Buys a ticket and returns the answer of `POST /inference/tickets`. Throws if the request is rejected. */
  mintTicket(key: string, request: object): Promise<{ ticket: string; privacy_class: string; expires_at: string }>;
  /** Starts a further broker. It ends with the service. */
  addBroker(options?: { readonly port?: number }): Promise<{ readonly process: TestProcess; readonly baseUrl: string }>;
  /** Starts a further control. It ends with the service. */
  addControl(): Promise<{ readonly process: TestProcess; readonly controlUrl: string }>;
  /** Activates another catalog by SIGHUP, and waits until control shows it. */
  replaceCatalog(catalog: string): Promise<void>;
  /** Runs a command of `sotto-control` on this service's database and Redis. */
  runControl(args: readonly string[]): Promise<{ readonly code: number; readonly output: string }>;
  /** Waits until nothing is held or unbooked and the wallet equals the ledger. Returns the balance in nano-USD. */
  settled(account: TestAccount): Promise<bigint>;
  stop(): Promise<void>;
}

const node = process.execPath;
const root = fileURLToPath(new URL('../../', import.meta.url));
const newestLogs = 50;
/**
 * A killed broker keeps its holds until its lease expires. Its shards may wait for another broker before they are
 * rebuilt.
 */
const settledWithinMs = 60_000;

export async function startService(options: ServiceOptions): Promise<Service> {
  const folder = await mkdtemp(join(tmpdir(), 'sotto-test-service-'));
  const registryFile = join(folder, 'providers.yaml');
  const catalogFile = join(folder, 'catalog.yaml');
  await writeFile(registryFile, options.registry);
  await writeFile(catalogFile, options.catalog);
  const ports = { control: await freePort(), confidential: options.brokerPort ?? (await freePort()) };
  const controlOrigin = `http://${options.controlHost ?? '127.0.0.1'}:${ports.control}`;
  const confidentialOrigin = `http://127.0.0.1:${ports.confidential}`;
  const secret = (): string => randomBytes(32).toString('base64');
  const sharedSecrets = { TICKET_SEALING_KEY: secret(), SETTLEMENT_MAC_KEY: secret() };
  // The broker has neither these secrets nor a database.
  const controlSecrets = { ACCOUNT_REF_KEY: secret(), SESSION_SECRET: secret() };
  const shared = {
    PATH: process.env.PATH ?? '',
    HOST: '127.0.0.1',
    LOG_LEVEL: 'info',
    LOG_FORMAT: 'json',
    SIGN_UP: 'open',
    PROVIDERS_FILE: registryFile,
    CATALOG_FILE: catalogFile,
    CONTROL_PORT: String(ports.control),
    ...(options.controlHost === undefined ? {} : { CONTROL_ORIGIN: controlOrigin }),
    CONFIDENTIAL_PORT: String(ports.confidential),
    RATE_LIMIT_CONTROL: '1000000',
    RATE_LIMIT_REQUESTS: '1000000',
    RATE_LIMIT_TOKENS: '1000000000',
    ...sharedSecrets,
  };
  const output: string[] = [];
  runningOutputs.add(output);
  if (options.discardLogs === true) setInterval(() => output.splice(0, output.length - newestLogs), 1000).unref();
  const mains =
    options.enclaves === undefined
      ? { confidential: 'apps/confidential/src/main.ts', embedded: 'apps/embedded/src/main.ts' }
      : { confidential: 'test/kit/mains/confidential.ts', embedded: 'test/kit/mains/embedded.ts' };
  const verification: Record<string, string> =
    options.enclaves === undefined ? {} : { TEST_ENCLAVES: options.enclaves };
  const controlSettings: Record<string, string> = {
    ...shared,
    ...controlSecrets,
    CONFIDENTIAL_ORIGIN: confidentialOrigin,
    DATABASE_URL: options.databaseUrl,
    REDIS_URL: options.redisUrl ?? '',
    ...options.environment,
    ...options.controlEnvironment,
  };
  const brokerSettings: Record<string, string> = {
    ...shared,
    ...verification,
    CONFIDENTIAL_TLS: 'off',
    REDIS_URL: options.redisUrl ?? '',
    ...options.environment,
    ...options.brokerEnvironment,
  };
  const brokerCommand = [mains.confidential];
  const controlCommand = ['apps/control/src/main.ts', 'serve'];
  const planeOf = (command: readonly string[], settings: Record<string, string>, own: PlaneOptions): Plane =>
    new Plane(command, { ...settings, ...own.environment }, own.origins, output, {
      ...own,
      flags: [...(options.nodeFlags ?? []), ...(own.flags ?? [])],
    });
  const planes =
    options.planes === 'one'
      ? [
          planeOf(
            [mains.embedded],
            {
              ...shared,
              ...verification,
              ...controlSecrets,
              SOTTO_DATA_DIR: join(folder, 'data'),
              DATABASE_URL: options.databaseUrl,
              ...options.environment,
            },
            { origins: [controlOrigin, confidentialOrigin] },
          ),
        ]
      : [
          planeOf(brokerCommand, brokerSettings, { origins: [confidentialOrigin], ...options.own?.broker }),
          planeOf(controlCommand, controlSettings, { origins: [controlOrigin], ...options.own?.control }),
        ];
  /** Starts a further plane on a port. It ends with the service. */
  const addPlane = async (command: readonly string[], settings: Record<string, string>, origin: string) => {
    const plane = planeOf(command, settings, { origins: [origin] });
    planes.push(plane);
    plane.start();
    await plane.ready();
    return plane;
  };
  const [broker, control = broker] = planes;
  if (broker === undefined || control === undefined) throw new Error('no planes');
  for (const plane of planes) plane.start();
  try {
    // All at once, so that the error is of the plane that has ended, and not of one that waits for it.
    await Promise.all(planes.map((plane) => plane.ready()));
  } catch (error) {
    for (const plane of planes) await plane.kill9();
    throw error;
  }

  const pool = openTestPool(options.databaseUrl);
  const baseUrl = `${confidentialOrigin}/v1`;
  const controlUrl = `${controlOrigin}/v1`;
  const usable = (key: string): Promise<void> =>
    until(async () => {
      const answer = await fetch(`${baseUrl}/models`, { headers: { authorization: `Bearer ${key}` } });
      await answer.body?.cancel();
      return answer.status === 200 || answer.status === 403;
    }, 'the key is usable');

  const credit = async (accountId: string, usd: number): Promise<void> => {
    const amountNusd = BigInt(Math.round(usd * 1e9));
    await creditAccount(pool, { accountId, amountNusd, kind: 'top_up', reference: `test:${randomUUID()}` });
  };

  const service: Service = {
    controlUrl,
    baseUrl,
    pool,
    redisUrl: options.planes === 'two' ? options.redisUrl : undefined,
    control,
    broker,
    secrets: { ...sharedSecrets, ...controlSecrets },
    logs: () => output.join(''),

    async credit(accountId, usd) {
      await credit(accountId, usd);
      await until(async () => projected(pool, accountId), 'the credit is projected');
    },

    async createAccount({ usd = 10, preferences } = {}) {
      const ids = await createAccount(pool, { userId: undefined, name: 'test' });
      const { accountId, defaultWorkspaceId: workspaceId } = ids;
      if (usd > 0) await credit(accountId, usd);
      if (preferences !== undefined) await writePreferences(pool, workspaceId, preferences);
      const make = async (kind: 'inference' | 'management'): Promise<string> =>
        (
          await insertKey(pool, {
            accountId,
            workspaceId,
            kind,
            name: kind,
            creditLimitNusd: undefined,
            openaiCompatible: true,
          })
        ).key;
      const account = {
        accountId,
        workspaceId,
        inferenceKey: await make('inference'),
        managementKey: await make('management'),
      };
      // All of it is projected in one round.
      await until(async () => projected(pool, accountId), 'the account is projected');
      await Promise.all([usable(account.inferenceKey), usable(account.managementKey)]);
      return account;
    },

    async createKey({ accountId, workspaceId }, { kind = 'inference', limitUsd, openaiCompatible = true } = {}) {
      const creditLimitNusd = limitUsd === undefined ? undefined : BigInt(Math.round(limitUsd * 1e9));
      const { key } = await insertKey(pool, {
        accountId,
        workspaceId,
        kind,
        name: 'further',
        creditLimitNusd,
        openaiCompatible,
      });
      await usable(key);
      return key;
    },

    async setPreferences({ accountId, workspaceId }, preferences) {
      await writePreferences(pool, workspaceId, preferences);
      await until(async () => projected(pool, accountId), 'the preferences are projected');
    },

    async mintTicket(key, request) {
      const answer = await fetch(`${controlUrl}/inference/tickets`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(request),
      });
      const body = (await answer.json()) as { ticket: string; privacy_class: string; expires_at: string };
      if (answer.status !== 200) throw new Error(`no ticket: ${answer.status} ${JSON.stringify(body)}`);
      return body;
    },

    async addBroker({ port: given } = {}) {
      const port = given ?? (await freePort());
      const origin = `http://127.0.0.1:${port}`;
      const settings = { ...brokerSettings, CONFIDENTIAL_PORT: String(port) };
      return { process: await addPlane(brokerCommand, settings, origin), baseUrl: `${origin}/v1` };
    },

    async addControl() {
      const port = await freePort();
      const origin = `http://127.0.0.1:${port}`;
      const settings = { ...controlSettings, CONTROL_ORIGIN: controlOrigin, CONTROL_PORT: String(port) };
      return { process: await addPlane(controlCommand, settings, origin), controlUrl: `${origin}/v1` };
    },

    async replaceCatalog(catalog) {
      const listed = async (): Promise<string> => (await fetch(`${controlUrl}/catalog/models`)).text();
      const before = await listed();
      await writeFile(catalogFile, catalog);
      process.kill(control.pid, 'SIGHUP');
      await until(async () => (await listed()) !== before, 'the catalog is in force');
    },

    async runControl(args) {
      const command = [...fromSource, programOf('apps/control/src/main.ts'), ...args];
      const redis: Record<string, string> = service.redisUrl === undefined ? {} : { REDIS_URL: service.redisUrl };
      const env = { DATABASE_URL: options.databaseUrl, CONTROL_ORIGIN: controlOrigin, ...redis };
      const { code, out, error } = await runToEnd(node, command, root, env);
      return { code, output: `${out}\n${error}` };
    },

    async settled({ accountId, managementKey }) {
      let balance = 0n;
      let last = 'no answer yet';
      await until(
        async () => {
          const answer = await fetch(`${controlUrl}/balance`, {
            headers: { authorization: `Bearer ${managementKey}` },
          });
          last = `${answer.status} ${await answer.clone().text()}`;
          if (answer.status !== 200) return false;
          const { available, reserved } = (await answer.json()) as { available: number; reserved: number };
          const { rows } = await pool.query<{ balance: string; ledger: string }>(
            `select balance_nusd as balance,
             (select coalesce(sum(amount_nusd), 0) from ledger_entries where ledger_account = 'wallet:' || a.id) as ledger
           from accounts a where id = $1`,
            [accountId],
          );
          const [row] = rows;
          last += `, in Postgres ${JSON.stringify(row)}`;
          if (row === undefined || row.balance !== row.ledger) return false;
          balance = BigInt(row.balance);
          // The comparison is in USD, because converting nine million dollars back to nano-USD would be off by one.
          return reserved === 0 && available === nusdToUsd(balance);
        },
        () => `everything is settled; last seen: ${last}`,
        settledWithinMs,
      );
      return balance;
    },

    async stop() {
      for (const plane of planes) await plane.terminate();
      runningOutputs.delete(output);
      await pool.end();
      await rm(folder, { recursive: true, force: true });
    },
  };
  return service;
}

async function writePreferences(pool: pg.Pool, workspaceId: string, preferences: Partial<Preferences>): Promise<void> {
  await pool.query(
    'update workspaces set preferences = $2, version = version + 1, tickets_since = version + 1 where id = $1',
    [workspaceId, JSON.stringify({ ...initialPreferences, ...preferences })],
  );
}

async function projected(pool: pg.Pool, accountId: string): Promise<boolean> {
  const { rowCount } = await pool.query(
    `select 1 from api_keys where account_id = $1 and projected_generation < generation
     union all select 1 from accounts where id = $1 and projected_version < version
     union all select 1 from workspaces where account_id = $1 and projected_version < version`,
    [accountId],
  );
  return rowCount === 0;
}

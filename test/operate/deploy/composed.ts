import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, onPath, startTestPostgres } from '@sotto/test-servers';
import { parse } from 'yaml';
import { filesOf, providerEntry, routeEntry, textModel } from '../../kit/catalog.ts';
import { documentedBlock } from '../../kit/documented.ts';
import { fromSource, runToEnd } from '../../kit/programs.ts';
import { startProvider } from '../../kit/provider.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

type Environment = Record<string, string>;

interface Ran {
  readonly code: number;
  readonly out: string;
}

/** The deployment that `docker compose up` makes, as processes of this machine: the same files, settings and commands. */
export interface Composed {
  readonly folder: string;
  readonly ports: Readonly<
    Record<'control' | 'broker' | 'front' | 'plainFront' | 'caddy' | 'plainCaddy' | 'acme', number>
  >;
  /** The environment that Compose gives a service, with this machine's paths and ports. */
  environmentOf(service: string): Environment;
  /** Starts a plane with these changes of its environment. Resolves to a function that ends it. */
  startPlane(plane: 'control' | 'broker', changes?: Environment): () => Promise<void>;
  /** Starts another program. */
  run(command: readonly string[], environment?: Environment): void;
  /** Runs a command of `sotto-control`, as `docker compose run --rm control` does. */
  control(args: readonly string[], changes?: Environment): Promise<Ran>;
  /** Runs JavaScript with the `openai` SDK in a new process. */
  script(text: string, environment: Environment): Promise<Ran>;
  readonly output: () => string;
  stop(): Promise<void>;
}

/** A text of a file, and what replaces it. */
type Change = readonly [RegExp, string];

const mains = { control: 'apps/control/src/main.ts', broker: 'apps/confidential/src/main.ts' } as const;

/**
 * Follows the guide with these changes of `.env` and `sotto.yaml`, and starts Redis with the files of Compose.
 *
 * @param under - The beginning of a command line that all processes run under.
 */
export async function compose(
  changes: { readonly dotEnv: readonly Change[]; readonly settings: readonly Change[] },
  under: readonly string[],
): Promise<Composed> {
  const folder = mkdtempSync(join(tmpdir(), 'sotto-test-composed-'));
  const at = (path: string): string => join(folder, path);
  for (const path of ['deploy', 'docker-compose.yml', '.env.example'])
    cpSync(join(root, path), at(path), {
      recursive: true,
      filter: (from) => !/\/compose\/(secrets|config|tls)$/.test(from),
    });
  execFileSync('bash', ['-euc', documentedBlock('docs/operate/compose.md', 'compose')], { cwd: folder, stdio: 'pipe' });
  const edit = (path: string, edits: readonly Change[]): string => {
    let text = readFileSync(at(path), 'utf8');
    for (const [from, to] of edits) {
      if (!from.test(text)) throw new Error(`${path} has no ${from}`);
      text = text.replace(from, to);
    }
    writeFileSync(at(path), text);
    return text;
  };
  edit('.env', changes.dotEnv);
  const settings = edit('deploy/compose/config/sotto.yaml', [
    ...changes.settings,
    [/^# (providers_file: .*)$/m, '$1'],
    [/^# (models_file: .*)$/m, '$1'],
  ]);
  const config = parse(execFileSync('docker-compose', ['config'], { cwd: folder, encoding: 'utf8' })) as {
    readonly services: Record<string, { readonly environment: Record<string, string | number | null> }>;
  };

  const provider = await startProvider();
  const { registry, catalog } = filesOf(
    [providerEntry('near', provider.baseUrl, { insecure_http: true })],
    [textModel('acme/small', [routeEntry('near')])],
  );
  writeFileSync(at('deploy/compose/config/providers.yaml'), registry);
  writeFileSync(at('deploy/compose/config/catalog.yaml'), catalog);
  const postgres = await startTestPostgres();
  const [redis, control, broker, front, plainFront, caddy, plainCaddy, acme] = await Promise.all(
    Array.from({ length: 8 }, () => freePort()),
  );
  const ports = { control, broker, front, plainFront, caddy, plainCaddy, acme } as Composed['ports'];
  const secret = (name: string): string => readFileSync(at(`deploy/compose/secrets/${name}`), 'utf8');
  const redisUrl = (name: string): string => secret(name).replace('@redis:6379', `@127.0.0.1:${redis}`);
  const shared = Object.fromEntries(['ticket_sealing_key', 'settlement_mac_key'].map((name) => [name, secret(name)]));
  const mounted = {
    control: {
      ...shared,
      ...Object.fromEntries(['account_ref_key', 'session_secret'].map((name) => [name, secret(name)])),
      ...{ database_url: await postgres.createEmptyDatabase(), redis_url: redisUrl('redis_url') },
    },
    broker: { ...shared, redis_url: redisUrl('broker_redis_url') },
  };
  // Each plane has its own mounts, so each gets sotto.yaml with its own paths.
  for (const plane of ['control', 'broker'] as const) {
    mkdirSync(at(`run-secrets/${plane}`), { recursive: true });
    for (const [name, text] of Object.entries(mounted[plane])) writeFileSync(at(`run-secrets/${plane}/${name}`), text);
    writeFileSync(
      at(`deploy/compose/config/${plane}.yaml`),
      settings
        .replaceAll('/run/secrets/', `${at(`run-secrets/${plane}`)}/`)
        .replaceAll('/var/lib/sotto-broker/', `${at('state')}/`)
        // A front of this machine has another port, and another address than in Docker's networks.
        .replaceAll(/(origin: https:\/\/[a-z.]+)$/gm, `$1:${front}`)
        .replace('[10.0.0.0/8, ', '[127.0.0.0/8, 10.0.0.0/8, '),
    );
  }
  mkdirSync(at('state/tls'), { recursive: true });
  mkdirSync(at('state/key'));

  const children: ChildProcess[] = [];
  const said: string[] = [];
  const start = (command: readonly string[], environment: Environment, cwd = folder): (() => Promise<void>) => {
    const [program = '', ...args] = [...under, ...command];
    const child = spawn(program, args, { cwd, env: { PATH: process.env.PATH, HOME: folder, ...environment } });
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => said.push(String(bytes)));
    children.push(child);
    return () =>
      new Promise((resolve) => {
        if (child.exitCode !== null || child.signalCode !== null) return resolve();
        child.once('exit', () => resolve());
        child.kill('SIGTERM');
      });
  };
  writeFileSync(
    at('redis.conf'),
    readFileSync(at('deploy/compose/redis.conf'), 'utf8').replace('dir /data', `dir ${folder}`),
  );
  const users = at('deploy/compose/secrets/redis_users');
  start(['redis-server', at('redis.conf'), '--aclfile', users, '--port', String(redis), '--bind', '127.0.0.1'], {});

  const environmentOf = (service: string): Environment =>
    Object.fromEntries(
      Object.entries(config.services[service]?.environment ?? {}).map(([name, value]) => [
        name,
        String(value ?? '')
          .replace(/^\/var\/lib\/sotto-broker\//, `${at('state')}/`)
          .replace(/^(http:\/\/localhost)(:\d+)?$/, `$1:${front}`),
      ]),
    );
  const planeEnvironment = (plane: 'control' | 'broker'): Environment => ({
    ...environmentOf(plane),
    CONFIG_FILE: at(`deploy/compose/config/${plane}.yaml`),
    // Production takes no flags of Node, and these processes run from their sources.
    NODE_ENV: '',
    METRICS_PORT: 'off',
    DRAIN_DELAY_S: '0',
    [plane === 'control' ? 'CONTROL_PORT' : 'CONFIDENTIAL_PORT']: String(ports[plane]),
  });
  const ran = async (command: readonly string[], environment: Environment, cwd: string): Promise<Ran> => {
    const [program = '', ...args] = [...under, ...command];
    const { code, out, error } = await runToEnd(program, args, cwd, { HOME: folder, ...environment });
    return { code, out: `${out}\n${error}` };
  };
  return {
    folder,
    ports,
    environmentOf,
    startPlane: (plane, changes = {}) =>
      start(
        [
          'prlimit',
          '--core=0:0',
          process.execPath,
          ...fromSource,
          '--disable-sigusr1',
          join(root, mains[plane]),
          ...(plane === 'control' ? ['serve'] : []),
        ],
        { ...planeEnvironment(plane), ...changes },
        root,
      ),
    run: (command, environment = {}) => void start(command, environment),
    control: (args, changes = {}) =>
      ran(
        [process.execPath, ...fromSource, mains.control, ...args],
        { ...planeEnvironment('control'), ...changes },
        root,
      ),
    script: (text, environment) =>
      ran([process.execPath, '--input-type=module', '-e', text], environment, join(root, 'test')),
    output: () => said.join('').slice(-6000),
    async stop() {
      for (const child of children.reverse()) {
        const gone = new Promise((resolve) => child.once('exit', resolve));
        if (child.exitCode === null && child.signalCode === null && child.kill('SIGTERM')) await gone;
      }
      await provider.stop();
      await postgres.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Creates an account with money, as the guide does. Resolves to its key. */
export async function createKey({ control, output }: Composed): Promise<string> {
  const told = async (...args: string[]): Promise<string> => {
    const { code, out } = await control(args);
    if (code !== 0) throw new Error(`${out}\n${output()}`);
    return out;
  };
  const account = /[0-9a-f-]{36}/.exec(await told('account', 'create', '--name', 'First'))?.[0] ?? '';
  await told('account', 'credit', account, '10', '--reference', 'start');
  return /sotto_inf_\S+/.exec(await told('key', 'create', '--account', account))?.[0] ?? '';
}

/** Whether this machine has what plays the parts of the deployment. */
export const canCompose = (): boolean =>
  ['docker-compose', 'haproxy', 'redis-server'].every((name) => onPath(name) !== undefined);
export const howToCompose = 'install its parts (`apt install docker-compose haproxy redis-server`).';

export const fileIn = (folder: string, path: string): string | undefined =>
  existsSync(join(folder, path)) ? readFileSync(join(folder, path), 'utf8') : undefined;

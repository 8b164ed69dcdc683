import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer as createTlsServer, type Server } from 'node:https';
import { type AddressInfo, BlockList, connect as connectTcp, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { takeProxyHeaders } from '../../../packages/http/src/proxy-protocol/behind-proxies.ts';
import { balancerSkipReason, hasBalancer } from '../../kit/balancer.ts';
import { freePort } from '../../kit/free-port.ts';
import { noteSkip } from '../../kit/skips.ts';
import { until } from '../../kit/until.ts';
import { problemOf } from './given-settings.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

interface ComposeService {
  readonly image: string;
  readonly environment?: Record<string, string>;
  readonly networks: readonly string[];
  readonly secrets?: readonly string[];
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly build?: { readonly dockerfile: string };
  readonly depends_on?: Record<string, { readonly condition: string }>;
  readonly stop_grace_period?: string;
  // biome-ignore lint/suspicious/noExplicitAny: what a test expects of an object is what it tests.
  readonly [name: string]: any;
}
interface ComposeFile {
  readonly services: Record<string, ComposeService>;
  readonly networks: Record<string, { readonly internal?: boolean }>;
  readonly secrets: Record<string, { readonly file: string }>;
}

const variables = Object.fromEntries(
  read('.env.example')
    .split('\n')
    .filter((line) => /^[A-Z]/.test(line))
    .map((line) => line.split('=') as [string, string]),
);
/** As Compose reads `${NAME}`, `${NAME:-default}` and `${NAME:?error}`. */
const interpolated = (value: unknown, env: Readonly<Record<string, string>>): unknown => {
  if (Array.isArray(value)) return value.map((each) => interpolated(each, env));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, interpolated(each, env)]));
  if (typeof value !== 'string') return value;
  return value.replace(
    /\$\{([A-Z_]+)(?::([-?])([^}]*))?\}/g,
    (_, name: string, how: string | undefined, other = '') => {
      if (env[name]) return env[name];
      if (how === '?') throw new Error(`${name}: ${other}`);
      return other;
    },
  );
};
const composeWith = (env: Readonly<Record<string, string>>): ComposeFile =>
  interpolated(parse(read('docker-compose.yml'), { merge: true }), env) as ComposeFile;
const compose = composeWith(variables);
const { control, broker } = compose.services as { control: ComposeService; broker: ComposeService };

describe('docker-compose.yml', () => {
  it('gives each plane settings that it takes, with the example of .env and with everything in it switched on', () => {
    const commented = [...read('.env.example').matchAll(/^#([A-Z_]+)=(.*)$/gm)].map(([, name = '', value = '']) => [
      name,
      value,
    ]);
    const full = composeWith({ ...variables, ...Object.fromEntries(commented) });
    expect(commented.length).toBeGreaterThan(5);
    for (const { services } of [compose, full]) {
      expect(problemOf('control', services.control?.environment ?? {})).toBeUndefined();
      expect(problemOf('broker', services.broker?.environment ?? {})).toBeUndefined();
    }
    // What is mounted is where the planes look for it.
    for (const { environment = {}, volumes = [] } of [full.services.control, full.services.broker].map(
      (each) => each ?? broker,
    ))
      for (const [name, path] of Object.entries(environment))
        if (/^(CATALOG|PROVIDERS|TLS_CERT|TLS_KEY)_FILE$/.test(name))
          expect(
            volumes.some((volume) => path.startsWith(volume.split(':')[1] ?? '-')),
            `${name} is mounted`,
          ).toBe(true);
    expect(full.services.control?.environment).toMatchObject({ CONNECTED_APPS: 'on' });
    expect(() => composeWith({})).toThrow('set it in .env');
  });

  it('gives each service no secret but its own, as a file', () => {
    const of = (service: ComposeService): string[] => [...(service.secrets ?? [])].sort();
    expect(of(broker)).toEqual(['broker_redis_url', 'settlement_mac_key', 'ticket_sealing_key']);
    expect(of(control)).toHaveLength(6);
    expect(of(control)).not.toContain('broker_redis_url');
    for (const [name, service] of Object.entries(compose.services)) {
      for (const secret of of(service)) expect(compose.secrets, name).toHaveProperty(secret);
      const inEnvironment = Object.entries(service.environment ?? {}).filter(
        ([key, value]) => /KEY$|SECRET$|PASSWORD$|(DATABASE|REDIS)_URL$/.test(key) && value !== '',
      );
      expect(inEnvironment, name).toEqual([]);
    }
  });

  it('lets the world reach the balancer alone, and the broker reach no database', () => {
    const open = Object.entries(compose.services).filter(([, { ports }]) => ports !== undefined);
    expect(open.map(([name]) => name)).toEqual(['balancer']);
    const shares = (one: string, other: string): boolean =>
      compose.services[one]?.networks.some((network) => compose.services[other]?.networks.includes(network)) === true;
    expect(shares('broker', 'postgres')).toBe(false);
    expect(shares('broker', 'redis')).toBe(true);
    expect(shares('broker', 'control')).toBe(false);
    expect(shares('broker', 'caddy')).toBe(false);
    expect(shares('broker', 'balancer')).toBe(true);
    expect(shares('control', 'postgres')).toBe(true);
    expect(shares('caddy', 'redis')).toBe(false);
    for (const network of ['data', 'state', 'planes', 'edge']) expect(compose.networks[network]?.internal).toBe(true);
  });

  it('pins what is not built here, starts in order of health, and gives what ends time to end', () => {
    for (const [name, { image, build, depends_on: needs = {}, logging, deploy }] of Object.entries(compose.services)) {
      if (build === undefined) expect(image, name).toMatch(/^docker\.io\/[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}$/);
      else expect(read(build.dockerfile)).toContain('HEALTHCHECK');
      for (const [needed, { condition }] of Object.entries(needs)) {
        expect(condition, `${name} needs ${needed}`).toBe('service_healthy');
        const service = compose.services[needed];
        expect(service?.healthcheck ?? service?.build, needed).toBeDefined();
      }
      expect(logging.options['max-size'], name).toBeDefined();
      expect(deploy.resources.limits.memory, name).toBeDefined();
    }
    // 5 s of going, 30 s of ending, and what is settled after it.
    for (const plane of [control, broker])
      expect(Number.parseInt(plane.stop_grace_period ?? '0', 10)).toBeGreaterThanOrEqual(50);
  });

  it('runs the planes without rights', () => {
    for (const plane of [control, broker])
      expect(plane).toMatchObject({
        ...{ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] },
        ulimits: { core: 0 },
      });
  });
});

describe('its parts', () => {
  let folder: string;
  const running: ChildProcess[] = [];
  const servers: { close(): unknown }[] = [];
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'sotto-test-compose-'));
    mkdirSync(join(folder, 'deploy'));
    cpSync(join(root, 'deploy/compose'), join(folder, 'deploy/compose'), {
      recursive: true,
      filter: (path) => !/\/(secrets|config|tls)$/.test(path),
    });
    cpSync(join(root, 'deploy/redis'), join(folder, 'deploy/redis'), { recursive: true });
    cpSync(join(root, 'docker-compose.yml'), join(folder, 'docker-compose.yml'));
    for (const file of ['apps/control/catalog.yaml', 'apps/confidential/providers.yaml'])
      cpSync(join(root, file), join(folder, file), { recursive: true });
    cpSync(join(root, '.env.example'), join(folder, '.env.example'));
  });
  afterEach(async () => {
    for (const child of running.splice(0)) {
      const gone = new Promise((resolve) => child.once('exit', resolve));
      if (child.exitCode === null && child.kill('SIGTERM')) await gone;
    }
    for (const server of servers.splice(0)) server.close();
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const secretsFolder = () => join(folder, 'deploy/compose/secrets');
  const contentsOf = (): Record<string, string> =>
    Object.fromEntries(
      readdirSync(secretsFolder()).map((name) => [name, readFileSync(join(secretsFolder(), name), 'utf8')]),
    );

  it('the guide’s commands: the secrets are made once, and Compose takes the file', () => {
    const guide = read('docs/guides/deploy.md');
    const block = (name: string): string =>
      new RegExp(`<!-- test: ${name} -->\\n\`\`\`sh\\n(.*?)\`\`\``, 's').exec(guide)?.[1] ?? 'exit 1';
    // In place of Docker: what it is told is kept, and the file is read by Compose, where that is installed.
    const bin = join(folder, 'bin');
    mkdirSync(bin);
    const hasCompose = spawnSync('docker-compose', ['version']).status === 0;
    if (!hasCompose) noteSkip('docker-compose.yml, read by Compose', 'install it (`apt install docker-compose`).');
    writeFileSync(
      join(bin, 'docker'),
      `#!/bin/sh\necho "$@" >> ${folder}/told\n${hasCompose ? 'docker-compose config --quiet 1>&2 || exit 1\n' : ''}echo made\n`,
      { mode: 0o755 },
    );
    const run = (script: string): void => {
      execFileSync('bash', ['-euc', script], {
        cwd: folder,
        env: { PATH: `${bin}:${process.env.PATH}`, HOME: folder },
        stdio: 'pipe',
      });
    };
    run(block('compose'));
    const made = contentsOf();
    expect(Object.keys(made).sort()).toEqual([
      ...['account_ref_key', 'broker_redis_url', 'control.env', 'database_url', 'postgres_password', 'providers.env'],
      ...['redis_url', 'redis_users'],
      ...['session_secret', 'settlement_mac_key', 'ticket_sealing_key'],
    ]);
    expect(Object.keys(made)).toEqual(expect.arrayContaining(Object.keys(compose.secrets)));
    for (const name of ['ticket_sealing_key', 'settlement_mac_key', 'account_ref_key'])
      expect(Buffer.from(made[name] ?? '', 'base64')).toHaveLength(32);
    expect(statSync(secretsFolder()).mode & 0o777).toBe(0o700);
    run(`${block('compose')}\n${block('compose-account')}`);
    expect(contentsOf()).toEqual(made);
    expect(readFileSync(join(folder, 'told'), 'utf8').split('\n').slice(0, 4)).toEqual([
      'compose up -d --build --wait',
      'compose up -d --build --wait',
      'compose run --rm control doctor',
      'compose run --rm control account create --name First',
    ]);
  });

  const makeSecrets = (): void => {
    execFileSync(join(folder, 'deploy/compose/make-secrets.sh'), { stdio: 'pipe' });
  };
  /** What the commands of `make-secrets.sh` left there, as an earlier version did it. */
  const asBefore = (url: string): void => {
    const files = { redis_users: 'user default on >hunter2 ~* &* +@all\n', redis_url: url };
    for (const [name, text] of Object.entries(files)) {
      rmSync(join(secretsFolder(), name));
      writeFileSync(join(secretsFolder(), name), text, { mode: 0o444 });
    }
    rmSync(join(secretsFolder(), 'broker_redis_url'));
  };

  /** A Redis with the users that were made, reached by one of the URLs that were. */
  async function startRedis() {
    const port = await freePort();
    writeFileSync(join(folder, 'users.acl'), contentsOf().redis_users ?? '');
    const file = join(folder, 'redis.conf');
    writeFileSync(file, read('deploy/compose/redis.conf').replace('dir /data', `dir ${folder}`));
    const args = [file, '--aclfile', join(folder, 'users.acl')];
    running.push(spawn('redis-server', [...args, '--port', String(port), '--bind', '127.0.0.1'], { stdio: 'ignore' }));
    const { Redis } = await import('ioredis');
    const open = async (url: string) => {
      const redis = new Redis(url.replace('@redis:6379', `@127.0.0.1:${port}`), { lazyConnect: true });
      redis.on('error', () => {});
      await until(async () => (await redis.ping()) === 'PONG', 'Redis answers');
      return redis;
    };
    return { Redis, port, open };
  }

  it('a deployment from before the users of Redis gains the broker’s, and nothing that it has is changed', async (context) => {
    if (spawnSync('redis-server', ['--version']).status !== 0) return context.skip('no redis-server');
    const fresh = contentsOf();
    asBefore('redis://:hunter2@redis:6379');
    const before = contentsOf();
    makeSecrets();
    const { broker_redis_url: url = '', redis_users: users = '', ...rest } = contentsOf();
    const { redis_users: usersBefore = '', ...restBefore } = before;
    expect(rest).toEqual(restBefore);
    expect(users.startsWith(usersBefore)).toBe(true);
    expect(users.split('\n').map((line) => line.split(' ')[1])).toEqual(['default', 'broker', undefined]);
    expect(url).not.toBe(fresh.broker_redis_url);
    makeSecrets();
    expect(contentsOf()).toEqual({ ...rest, broker_redis_url: url, redis_users: users });
    // Control goes on as it did, and the broker's user is good.
    const { open } = await startRedis();
    const [control, broker] = [await open('redis://:hunter2@redis:6379'), await open(url)];
    await control.set('control:limit:x', '1');
    await broker.set('sotto:registry', '{}');
    await expect(broker.get('control:limit:x')).rejects.toThrow(/NOPERM/);
    for (const redis of [control, broker]) redis.disconnect();

    // Where Redis is another, its users are for its operator to make.
    asBefore('rediss://me:secret@redis.example.com:6380');
    makeSecrets();
    expect(contentsOf()).toMatchObject({
      broker_redis_url: 'rediss://me:secret@redis.example.com:6380',
      redis_users: usersBefore,
    });
    for (const [name, text] of Object.entries(fresh)) {
      rmSync(join(secretsFolder(), name));
      writeFileSync(join(secretsFolder(), name), text, { mode: 0o444 });
    }
  });

  it('a Redis with these settings takes its passwords, and keeps what it has answered', async (context) => {
    if (spawnSync('redis-server', ['--version']).status !== 0) return context.skip('no redis-server');
    const { redis_url: url = '' } = contentsOf();
    expect(url).toMatch(/^redis:\/\/control:/);
    const { Redis, port, open } = await startRedis();
    const redis = await open(url);
    for (const [name, value] of [
      ['appendonly', 'yes'],
      ['appendfsync', 'always'],
      ['maxmemory-policy', 'noeviction'],
    ])
      expect(await redis.config('GET', name ?? '')).toEqual([name, value]);
    redis.disconnect();
    const stranger = new Redis({ port, lazyConnect: true, retryStrategy: () => null });
    stranger.on('error', () => {});
    await expect(stranger.get('x')).rejects.toThrow(/NOAUTH/);
    stranger.disconnect();
  });

  it('the balancer hands on by name, unopened, what is for the broker, and all else to control’s proxy', async (context) => {
    if (!hasBalancer()) {
      noteSkip('the balancer of docker-compose.yml', balancerSkipReason);
      return context.skip('no HAProxy');
    }
    // Control's proxy is told whose connection it is; here it only says what it was told.
    const proxy = createServer((socket) => {
      socket.once('data', (bytes) => socket.end(Buffer.from(bytes).subarray(0, 12)));
    });
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    const named = ['-subj', '/CN=api.example.com', '-addext', 'subjectAltName=DNS:api.example.com'];
    const fresh = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
    execFileSync('openssl', ['req', '-x509', ...fresh, ...named, '-keyout', key, '-out', cert], { stdio: 'ignore' });
    const own = { key: readFileSync(key), cert: readFileSync(cert) };
    const tls: Server = createTlsServer(own, ({ socket }, answer) =>
      answer.end(`the broker, to ${socket.remoteAddress}`),
    );
    const balancers = new BlockList();
    balancers.addAddress('127.0.0.1');
    takeProxyHeaders(tls, balancers);
    for (const server of [proxy, tls]) {
      await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
      servers.push(server);
    }
    const portOf = (server: Server | ReturnType<typeof createServer>): number => (server.address() as AddressInfo).port;
    const port = await freePort();
    const file = join(folder, 'haproxy.cfg');
    writeFileSync(
      file,
      read('deploy/compose/haproxy.cfg')
        // As many as a machine for tests lets a process open.
        .replace('maxconn 20000', 'maxconn 100')
        .replace('bind :443', `bind 127.0.0.1:${port}`)
        .replace(/frontend plain\n(.*\n)*?\n/, '')
        .replace(/server-template broker- 4 broker:4001/, `server broker 127.0.0.1:${portOf(tls)}`)
        .replaceAll(' resolvers docker init-addr none', '')
        .replaceAll(/caddy:(443|80)/g, `127.0.0.1:${portOf(proxy)}`),
    );
    expect(
      spawnSync('haproxy', ['-c', '-f', join(root, 'deploy/compose/haproxy.cfg')], {
        env: { ...process.env, CONFIDENTIAL_HOST: 'x' },
      }).status,
    ).toBe(0);
    running.push(
      spawn('haproxy', ['-db', '-f', file], {
        stdio: 'ignore',
        env: { ...process.env, CONFIDENTIAL_HOST: 'api.example.com' },
      }),
    );
    const ask = (servername: string): Promise<string> =>
      new Promise((resolve, reject) => {
        const tcp = connectTcp({ port, host: '127.0.0.1', localAddress: '127.0.0.9' });
        const socket = connect({ socket: tcp, servername, ca: own.cert }, () =>
          socket.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'),
        );
        let text = '';
        socket.on('data', (bytes) => {
          text += String(bytes);
        });
        socket.on('error', reject);
        socket.on('close', () => resolve(text));
      });
    await until(
      async () => (await ask('api.example.com')).endsWith('the broker, to 127.0.0.9'),
      'the broker is reached, shows its own key, and is told whose connection it is',
    );
    // No TLS comes back from what is not the broker: the PROXY protocol's first bytes do.
    await expect(ask('control.example.com')).rejects.toThrow();
  });
});

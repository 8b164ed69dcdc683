import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer as createTlsServer, type Server } from 'node:https';
import { type AddressInfo, BlockList, connect as connectTcp, createServer } from 'node:net';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { takeProxyHeaders } from '@sotto/server/testing';
import { freePort, noteSkip, until } from '@sotto/test-servers';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { balancerSkipReason, hasBalancer } from '../../kit/balancer.ts';
import { documentedBlock } from '../../kit/documented.ts';
import { useFolder } from '../../kit/folder.ts';
import { composeWith, readOwn as read, variables } from './compose-file.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

describe('parts of docker-compose.yml', () => {
  const folder = useFolder('compose');
  const running: ChildProcess[] = [];
  const servers: { close(): unknown }[] = [];
  beforeAll(() => {
    mkdirSync(join(folder, 'deploy'));
    cpSync(join(root, 'deploy/compose'), join(folder, 'deploy/compose'), {
      recursive: true,
      filter: (path) => !/\/(secrets|config|tls)$/.test(path),
    });
    cpSync(join(root, 'deploy/redis'), join(folder, 'deploy/redis'), { recursive: true });
    cpSync(join(root, 'docker-compose.yml'), join(folder, 'docker-compose.yml'));
    cpSync(join(root, '.env.example'), join(folder, '.env.example'));
  });
  afterEach(async () => {
    for (const child of running.splice(0)) {
      const gone = new Promise((resolve) => child.once('exit', resolve));
      if (child.exitCode === null && child.kill('SIGTERM')) await gone;
    }
    for (const server of servers.splice(0)) server.close();
  });

  const secretsFolder = () => join(folder, 'deploy/compose/secrets');
  const contentsOf = (): Record<string, string> =>
    Object.fromEntries(
      readdirSync(secretsFolder()).map((name) => [name, readFileSync(join(secretsFolder(), name), 'utf8')]),
    );

  it('the guide’s commands: the secrets are made once, and Compose takes the file', () => {
    const block = (name: string): string => documentedBlock('docs/operate/compose.md', name);
    // A stand-in for Docker that records its arguments. Compose itself reads the file if it is installed.
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
    const install = `${block('compose')}\n${block('compose-start')}`;
    run(install);
    const made = contentsOf();
    expect(Object.keys(made).sort()).toEqual([
      ...['account_ref_key', 'broker_redis_url', 'control.env', 'database_url', 'postgres_password', 'providers.env'],
      ...['redis_url', 'redis_users'],
      ...['session_secret', 'settlement_mac_key', 'ticket_sealing_key'],
    ]);
    const { secrets } = composeWith(variables);
    expect(Object.keys(made)).toEqual(expect.arrayContaining(Object.keys(secrets)));
    const settings = join(folder, 'deploy/compose/config/sotto.yaml');
    expect(readFileSync(settings, 'utf8')).toBe(read('deploy/compose/sotto.yaml'));
    writeFileSync(settings, 'log: {level: warn}\n');
    for (const name of ['ticket_sealing_key', 'settlement_mac_key', 'account_ref_key'])
      expect(Buffer.from(made[name] ?? '', 'base64')).toHaveLength(32);
    expect(statSync(secretsFolder()).mode & 0o777).toBe(0o700);
    run(`${install}\n${block('compose-account')}`);
    expect(contentsOf()).toEqual(made);
    expect(readFileSync(settings, 'utf8')).toBe('log: {level: warn}\n');
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
  /** Sets up the files as an earlier version of `make-secrets.sh` left them. */
  const asBefore = (url: string): void => {
    const files = { redis_users: 'user default on >hunter2 ~* &* +@all\n', redis_url: url };
    for (const [name, text] of Object.entries(files)) {
      rmSync(join(secretsFolder(), name));
      writeFileSync(join(secretsFolder(), name), text, { mode: 0o444 });
    }
    rmSync(join(secretsFolder(), 'broker_redis_url'));
  };

  /** Starts a Redis with the created users. Connects with one of the created URLs. */
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
    // Control continues as before, and the broker's user works.
    const { open } = await startRedis();
    const [control, broker] = [await open('redis://:hunter2@redis:6379'), await open(url)];
    await control.set('control:limit:x', '1');
    await broker.set('sotto:registry', '{}');
    await expect(broker.get('control:limit:x')).rejects.toThrow(/NOPERM/);
    for (const redis of [control, broker]) redis.disconnect();

    // With an external Redis, its operator must create the users.
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

  it('a Redis with these settings accepts its passwords, and keeps the data it has acknowledged', async (context) => {
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

  it('the balancer forwards the broker’s traffic by name, unopened, and all else to control’s proxy', async (context) => {
    if (!hasBalancer()) {
      noteSkip('the balancer of docker-compose.yml', balancerSkipReason);
      return context.skip('no HAProxy');
    }
    // Control's proxy receives the client's address in a header. This stand-in returns the header that it received.
    const proxy = createServer((socket) => {
      socket.once('data', (bytes) => socket.end(Buffer.from(bytes).subarray(0, 12)));
    });
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    const subject = ['-subj', '/CN=api.example.com', '-addext', 'subjectAltName=DNS:api.example.com'];
    const fresh = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
    execFileSync('openssl', ['req', '-x509', ...fresh, ...subject, '-keyout', key, '-out', cert], { stdio: 'ignore' });
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
        // The number of open connections that a test machine allows one process.
        .replace('maxconn 20000', 'maxconn 100')
        .replace('bind :443', `bind 127.0.0.1:${port}`)
        .replace(/frontend plain\n(.*\n)*?\n/, '')
        .replace(/server-template broker- 4 broker:4001/, `server broker 127.0.0.1:${portOf(tls)}`)
        .replaceAll(' resolvers docker init-addr none', '')
        .replace('certificate:8443', '127.0.0.1:1')
        .replaceAll(/caddy:(443|80)/g, `127.0.0.1:${portOf(proxy)}`),
    );
    // As in Compose, the names come from sotto.yaml.
    const named = join(root, 'deploy/compose/with-names.sh');
    const env = { ...process.env, CONFIG_FILE: join(root, 'deploy/compose/sotto.yaml') };
    const checked = spawnSync('sh', [named, 'haproxy', '-c', '-f', join(root, 'deploy/compose/haproxy.cfg')], { env });
    expect(checked.status).toBe(0);
    running.push(spawn('sh', [named, 'haproxy', '-db', '-f', file], { stdio: 'ignore', env }));
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
    // This is not the broker, so it answers with the first bytes of the PROXY protocol and not with TLS.
    await expect(ask('control.example.com')).rejects.toThrow();
  });

  it('the proxies take the names of both origins from sotto.yaml, or say what is wrong', () => {
    const names = (text: string) => {
      const file = join(folder, 'names.yaml');
      writeFileSync(file, text);
      const show = ['sh', '-c', 'echo "$CONTROL_HOST $CONFIDENTIAL_HOST"'];
      const script = join(root, 'deploy/compose/with-names.sh');
      return spawnSync('sh', [script, ...show], {
        encoding: 'utf8',
        env: { PATH: process.env.PATH, CONFIG_FILE: file },
      });
    };
    expect(names(read('deploy/compose/sotto.yaml')).stdout).toBe('control.example.com api.example.com\n');
    const quoted =
      'broker:\n  tls: {mode: self}\n  origin: "https://b.test:8443" # here\ncontrol:\n  origin: https://a.test\n';
    expect(names(quoted).stdout).toBe('a.test b.test\n');
    const missing = names('control:\n  origin: https://a.test\nkeeper:\n  origin: https://k.test\n');
    expect(missing).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringContaining('below `control:` and `broker:`'),
    });
  });
});

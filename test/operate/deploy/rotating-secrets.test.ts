import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseEnv } from 'node:util';
import { startOwnRedis } from '@sotto/test-servers';
import { beforeEach, describe, expect, it } from 'vitest';
import { documentedBlock } from '../../kit/documented.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const block = (name: string): string => documentedBlock('docs/operate/rotating-secrets.md', name);
const names = ['ticket_sealing_key', 'settlement_mac_key', 'account_ref_key', 'session_secret'] as const;

/** The variables of both planes at the end of a round. */
interface Round {
  readonly broker: Readonly<Record<string, string | undefined>>;
  readonly control: Readonly<Record<string, string | undefined>>;
}

/**
 * Checks each secret's X and OTHER_X through the three rounds. X of round 1 is the old secret, and X of round 2 the new
 * one.
 */
function expectRotated(rounds: readonly Round[], before: Readonly<Record<string, string>>): void {
  expect(rounds).toHaveLength(3);
  for (const name of names.map((each) => each.toUpperCase())) {
    const inControl = rounds.map(({ control }) => [control[name], control[`OTHER_${name}`]]);
    const inBroker = rounds.map(({ broker }) => [broker[name], broker[`OTHER_${name}`]]);
    const old = before[name];
    const fresh = inControl[2]?.[0];
    expect(Buffer.from(fresh ?? '', 'base64'), name).toHaveLength(32);
    expect(fresh).not.toBe(old);
    const both = [
      [old, fresh],
      [fresh, old],
      [fresh, undefined],
    ];
    const one = [
      [old, undefined],
      [fresh, undefined],
      [fresh, undefined],
    ];
    expect(inControl, name).toEqual(name === 'TICKET_SEALING_KEY' ? one : both);
    if (name === 'TICKET_SEALING_KEY') expect(inBroker, name).toEqual(both);
    if (name === 'SETTLEMENT_MAC_KEY') expect(inBroker, name).toEqual(one);
  }
}

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sotto-test-rotating-'));
  mkdirSync(join(folder, 'bin'));
  return () => rmSync(folder, { recursive: true });
});
const command = (name: string, script: string): void =>
  writeFileSync(join(folder, 'bin', name), script, { mode: 0o755 });
const run = (script: string, environment: Readonly<Record<string, string>> = {}): string =>
  execFileSync('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: `${join(folder, 'bin')}:${process.env.PATH}`, HOME: folder, ...environment },
  });
const rounds = ['rotate-1', 'rotate-2', 'rotate-3'];

describe.each([
  {
    target: 'compose',
    start: 'rotate-compose',
    secrets: 'deploy/compose/secrets',
    other: 'control.env',
    restarts: 'docker',
  },
  {
    target: 'systemd',
    start: 'rotate-systemd',
    secrets: 'etc/sotto/secrets',
    other: 'other.env',
    restarts: 'systemctl',
  },
])('the commands for $target', ({ target, start, secrets, other, restarts }) => {
  it('take each secret through three rounds', () => {
    const place = join(folder, secrets);
    mkdirSync(place, { recursive: true });
    const before = Object.fromEntries(names.map((name) => [name.toUpperCase(), `old-${name}`]));
    for (const name of names) writeFileSync(join(place, name), `old-${name}`, { mode: 0o444 });
    // Without a line break at its end, as an editor may leave it.
    writeFileSync(join(place, 'providers.env'), 'OPENAI_API_KEY=sk-x');
    command(restarts, `#!/bin/sh\necho "$@" >> ${folder}/told\n`);
    const seen: Round[] = [];
    const read = (name: string): string => readFileSync(join(place, name), 'utf8');
    for (const round of rounds) {
      run([block(start), block('rotate-steps'), block(round)].join('\n'), { DESTDIR: folder });
      const files = (of: readonly string[]) => Object.fromEntries(of.map((n) => [n.toUpperCase(), read(n).trim()]));
      const broker = { ...files(names.slice(0, 2)), ...parseEnv(read('providers.env')) };
      expect(broker).toMatchObject({ OPENAI_API_KEY: 'sk-x' });
      seen.push({ broker, control: { ...files(names), ...parseEnv(read(other)) } });
    }
    expectRotated(seen, before);
    expect(readdirSync(place).sort()).toEqual([...names, other, 'providers.env'].sort());
    const told = readFileSync(join(folder, 'told'), 'utf8').split('\n');
    expect(told.filter((line) => line.endsWith('broker'))).toHaveLength(3);
    expect(told.filter((line) => line.endsWith('control'))).toHaveLength(3);
    if (target !== 'systemd') return;
    const dropIn = join(folder, 'etc/systemd/system/sotto-control.service.d/other.conf');
    expect(readFileSync(dropIn, 'utf8')).toContain(`EnvironmentFile=-/${secrets}/${other}`);
  });
});

it('the commands for Kubernetes take each secret through three rounds', () => {
  const state = join(folder, 'state.json');
  const before = Object.fromEntries(names.map((name) => [name.toUpperCase(), `old-${name}`]));
  const initial = Object.fromEntries(names.map((name) => [name.replaceAll('_', '-'), `old-${name}`]));
  const shared = Object.fromEntries(Object.entries(initial).slice(0, 2));
  /** What the chart's sotto.yaml refers to. */
  const named = (of: object) =>
    Object.fromEntries(
      Object.keys(of).map((key) => [`${key.toUpperCase().replaceAll('-', '_')}_FILE`, `/run/secrets/sotto/${key}`]),
    );
  writeFileSync(
    state,
    JSON.stringify({
      secrets: { 'sotto-control': initial, 'sotto-broker': shared },
      env: { 'deployment/sotto-control': {}, 'deployment/sotto-broker': {} },
    }),
  );
  command(
    'kubectl',
    `#!${process.execPath}
const { readFileSync, writeFileSync } = require('node:fs');
const [verb, ...args] = process.argv.slice(2);
const state = JSON.parse(readFileSync('${state}', 'utf8'));
if (verb === 'patch') Object.assign(state.secrets[args[1]], JSON.parse(args[args.indexOf('-p') + 1]).stringData);
if (verb === 'get') {
  const [, key] = /^\\{\\.data\\.(.*)\\}$/.exec(args[args.indexOf('-o') + 1].replace('jsonpath=', ''));
  process.stdout.write(Buffer.from(state.secrets[args[1]][key]).toString('base64'));
}
if (verb === 'set')
  for (const change of args.slice(4)) {
    const [name, value] = change.split('=');
    if (value === undefined) delete state.env[args[1]][name.slice(0, -1)];
    else state.env[args[1]][name] = value;
  }
writeFileSync('${state}', JSON.stringify(state));
`,
  );
  const put = /put\(\) \{.*?\n\}/s.exec(block('rotate-kubernetes-1'))?.[0] ?? 'exit 1';
  const seen = ['rotate-kubernetes-1', 'rotate-kubernetes-2', 'rotate-kubernetes-3'].map((round) => {
    run(`${put}\n${block(round)}`);
    const { secrets, env } = JSON.parse(readFileSync(state, 'utf8'));
    const of = (plane: string) =>
      Object.fromEntries(
        Object.entries<string>({
          ...named(plane === 'control' ? initial : shared),
          ...env[`deployment/sotto-${plane}`],
        }).map(([name, path]) => [
          name.replace(/_FILE$/, ''),
          secrets[`sotto-${plane}`][path.replace('/run/secrets/sotto/', '')],
        ]),
      );
    return { broker: of('broker'), control: of('control') };
  });
  expectRotated(seen, before);
});

it('the commands for a keeper take the broker’s secrets through three rounds', () => {
  const file = join(folder, 'etc/sotto/keeper/secrets.env');
  mkdirSync(join(folder, 'etc/sotto/keeper'), { recursive: true });
  mkdirSync(join(folder, 'next'));
  for (const name of names) writeFileSync(join(folder, 'next', name), `new-${name}\n`);
  writeFileSync(file, 'TICKET_SEALING_KEY=old-a\nSETTLEMENT_MAC_KEY=old-b\nREDIS_URL=rediss://x');
  command('systemctl', '#!/bin/sh\nexit 0\n');
  const definitions = block('rotate-keeper-1').split('put OTHER_')[0];
  const seen = ['rotate-keeper-1', 'rotate-keeper-2', 'rotate-keeper-3'].map((round) => {
    run(`${definitions}\n${block(round)}`, { DESTDIR: folder });
    return parseEnv(readFileSync(file, 'utf8'));
  });
  const [a, b] = ['new-ticket_sealing_key', 'new-settlement_mac_key'];
  const rest = { REDIS_URL: 'rediss://x' };
  expect(seen).toEqual([
    { TICKET_SEALING_KEY: 'old-a', OTHER_TICKET_SEALING_KEY: a, SETTLEMENT_MAC_KEY: 'old-b', ...rest },
    { TICKET_SEALING_KEY: a, OTHER_TICKET_SEALING_KEY: 'old-a', SETTLEMENT_MAC_KEY: b, ...rest },
    { TICKET_SEALING_KEY: a, SETTLEMENT_MAC_KEY: b, ...rest },
  ]);
});

describe('the commands for Redis', () => {
  it('replace the password of a user of Compose, in the form of make-secrets.sh', () => {
    const place = join(folder, 'deploy/compose');
    mkdirSync(place, { recursive: true });
    execFileSync('cp', ['-r', join(root, 'deploy/redis'), join(folder, 'deploy/')]);
    for (const file of ['make-secrets.sh', 'sotto.yaml'])
      copyFileSync(join(root, 'deploy/compose', file), join(place, file));
    const make = (): string => run('deploy/compose/make-secrets.sh 2>&1');
    make();
    command('docker', `#!/bin/sh\necho "$@" >> ${folder}/told\n`);
    const read = (name: string): string => readFileSync(join(place, 'secrets', name), 'utf8');
    const [url, users] = [read('broker_redis_url'), read('redis_users')];
    run(block('rotate-compose-redis'));
    expect(read('broker_redis_url')).not.toBe(url);
    expect(read('redis_users').split('\n')).toHaveLength(users.split('\n').length);
    // make-secrets.sh would report a line that does not match its URL.
    expect(make()).toBe('');
  });

  it('add a second password to a user', async (context) => {
    const aclFile = join(folder, 'users.acl');
    writeFileSync(aclFile, 'user default on nopass ~* &* +@all\nuser broker on >old +ping\n');
    const redis = await startOwnRedis({ cluster: false, aclFile });
    if (redis === undefined) return context.skip('no Redis');
    const password = run(`${block('rotate-redis')}\necho "$PASSWORD"`, { ADMIN_REDIS_URL: redis.url })
      .trim()
      .split('\n')
      .at(-1);
    for (const each of ['old', password]) {
      const url = redis.url.replace('redis://', `redis://broker:${each}@`);
      expect(run(`redis-cli -u ${url} ping 2>/dev/null`).trim()).toBe('PONG');
    }
    await redis.stop();
  });
});

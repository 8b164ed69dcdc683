import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, noteSkip, until } from '@sotto/test-servers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { documentedBlock } from '../../kit/documented.ts';
import { useFolder } from '../../kit/folder.ts';
import {
  askPrivately,
  editSettings,
  openSurroundings,
  problemOf,
  problemsOfFile,
  type Surroundings,
  writeFiles,
} from './installed-planes.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const block = (name: string): string => documentedBlock('docs/operate/systemd.md', name);

const units = ['sotto-control', 'sotto-broker'] as const;
type Unit = (typeof units)[number];
/** The settings of a unit, in order. */
const settingsOf = (unit: Unit): (readonly [string, string])[] =>
  [...readFileSync(join(root, `deploy/systemd/${unit}.service`), 'utf8').matchAll(/^([A-Za-z]+)=(.*)$/gm)].map(
    ([, name = '', value = '']) => [name, value],
  );
const allOf = (unit: Unit, wanted: string): string[] =>
  settingsOf(unit).flatMap(([name, value]) => (name === wanted ? [value] : []));

let around: Surroundings | undefined;
const folder = useFolder('systemd');
beforeAll(async () => {
  around = await openSurroundings('the guide for systemd');
});
afterAll(() => around?.stop());

/** Starts a unit's command, as systemd would, with paths below `folder`. */
function startUnit(unit: Unit): void {
  const credentials = join(folder, 'run', unit);
  mkdirSync(credentials, { recursive: true });
  const below = (path: string): string => join(folder, path);
  for (const credential of allOf(unit, 'LoadCredential')) {
    const [name = '', path = ''] = credential.split(':');
    cpSync(below(path), join(credentials, name));
  }
  const fromFiles = allOf(unit, 'EnvironmentFile').flatMap((path) =>
    readFileSync(below(path.replace(/^-/, '')), 'utf8')
      .split('\n')
      .filter((line) => /^[A-Z]/.test(line)),
  );
  const given = allOf(unit, 'Environment').flatMap((line) => line.split(' '));
  const environment = {
    ...Object.fromEntries(
      [...fromFiles, ...given].map((line) => [line.split('=', 1)[0], line.slice(line.indexOf('=') + 1)]),
    ),
    CONFIG_FILE: below('/etc/sotto/sotto.yaml'),
    CREDENTIALS_DIRECTORY: credentials,
  };
  const [command = ''] = allOf(unit, 'ExecStart');
  // systemd would apply LimitCORE=0. Here prlimit does.
  const child = spawn(
    'prlimit',
    ['--core=0:0', ...command.split(' ').map((word) => word.replace(/^\/opt/, below('/opt')))],
    {
      cwd: '/',
      env: environment as Record<string, string>,
    },
  );
  around?.adopt(child);
}

/** systemd's complaints about an installed unit. */
function complaintsAbout(unit: string, place: string): string[] {
  if (spawnSync('systemd-analyze', ['--version']).status !== 0) {
    noteSkip('the units, read by systemd', 'install it (`apt install systemd`).');
    return [];
  }
  const { stderr } = spawnSync('systemd-analyze', ['verify', `--root=${place}`, `${unit}.service`], {
    encoding: 'utf8',
  });
  return stderr
    .split('\n')
    .filter((line) => line.includes('sotto') && !/Failed to (load|create)|man page|\/bin\/kill/.test(line));
}

it('the units have the form that systemd reads, and deny everything that a plane does not need', async () => {
  const settings = readFileSync(join(root, 'deploy/systemd/sotto.yaml'), 'utf8');
  for (const unit of units) {
    const lines = new Map(settingsOf(unit));
    expect([...lines.keys()]).toEqual(
      expect.arrayContaining(['DynamicUser', 'NoNewPrivileges', 'ProtectSystem', 'PrivateTmp', 'RestrictNamespaces']),
    );
    expect(lines.get('LimitCORE')).toBe('0');
    // 5 s of drain delay, 30 s of ending streams, and the settlements after that.
    expect(Number(lines.get('TimeoutStopSec'))).toBeGreaterThanOrEqual(50);
    const given = allOf(unit, 'Environment').flatMap((line) => line.split(' '));
    expect(given).toEqual(['NODE_ENV=production', 'CONFIG_FILE=/etc/sotto/sotto.yaml']);
    const environment = { NODE_ENV: 'production', CONFIG_FILE: '/etc/sotto/sotto.yaml' };
    const plane = unit === 'sotto-control' ? 'control' : 'broker';
    expect(problemOf(plane, environment, settings)).toBeUndefined();
    // Each credential that it names is loaded.
    const loads = allOf(unit, 'LoadCredential').map((credential) => credential.split(':')[0] ?? '');
    const { data, secrets } = parse(settings);
    const named = Object.values<string>({ ...data, ...secrets }).map((reference) => reference.replace('file:', ''));
    expect(named).toEqual(expect.arrayContaining(loads));
    if (plane === 'control') expect(loads.toSorted()).toEqual(named.toSorted());
  }
  for (const file of ['sotto', 'keeper'])
    expect(await problemsOfFile(readFileSync(join(root, `deploy/systemd/${file}.yaml`), 'utf8'))).toBe('');
  const ofBroker = allOf('sotto-broker', 'LoadCredential').map((credential) => credential.split(':')[0]);
  expect(ofBroker).toEqual(['redis_url', 'ticket_sealing_key', 'settlement_mac_key']);
  expect(allOf('sotto-broker', 'LoadCredential')).toContain('redis_url:/etc/sotto/secrets/broker_redis_url');
});

it('the keeper is installed by its guide, and its unit has the form that systemd reads', () => {
  const script = documentedBlock('docs/operate/confidential-vm.md', 'keeper');
  const place = join(folder, 'keeper-machine');
  execFileSync('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: root,
    env: { PATH: process.env.PATH, HOME: folder, DESTDIR: place },
    stdio: 'pipe',
  });
  const unit = readFileSync(join(place, 'etc/systemd/system/sotto-keeper.service'), 'utf8');
  const command = /^ExecStart=(\S+) (\S+) (\S+)$/m.exec(unit)?.slice(1) ?? [];
  const [node = '', flag = '', main = ''] = command.map((word) => word.replace(/^\/opt/, `${place}/opt`));
  // All its settings except the files, which the unit names by their location.
  expect(unit).toContain('CONFIG_FILE=/etc/sotto/sotto.yaml');
  const env = { CONFIG_FILE: join(place, 'etc/sotto/sotto.yaml') };
  const started = spawnSync(node, [flag, main], { encoding: 'utf8', env });
  expect(started.stderr).toContain('sotto-keeper: TLS_CERT_FILE is not set');
  const files = [...unit.matchAll(/([A-Z_]+_FILE)=%d\/(\S+)/g)].map(([, name, file]) => [name, file]);
  expect(files).toEqual([
    ['TLS_CERT_FILE', 'cert.pem'],
    ['TLS_KEY_FILE', 'key.pem'],
    ['PINS_FILE', 'pins.json'],
    ['SECRETS_FILE', 'secrets.env'],
  ]);
  for (const [, file] of files) expect(unit).toContain(`LoadCredential=${file}:/etc/sotto/keeper/${file}`);
  expect(complaintsAbout('sotto-keeper', place)).toEqual([]);
});

it('a broker whose secrets a keeper releases loads none from its machine', () => {
  const dropIn = readFileSync(join(root, 'deploy/systemd/keeper.conf'), 'utf8');
  const lines = dropIn.split('\n').filter((line) => /^[A-Z]/.test(line));
  // An empty line removes the unit's own setting.
  expect(lines).toEqual(['LoadCredential=', 'EnvironmentFile=']);
});

it('the commands of the guide, from an empty machine, set up a service of two processes', async (context) => {
  if (around === undefined) return context.skip('no Redis');
  const { redis, postgres, provider, output } = around;
  const path = process.env.PATH ?? '';
  const run = (script: string, environment: Readonly<Record<string, string>> = {}): string =>
    execFileSync('bash', ['-euo', 'pipefail', '-c', script], {
      cwd: root,
      encoding: 'utf8',
      env: { PATH: path, HOME: folder, DESTDIR: folder, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  // Creates the users of Redis with redis-cli.
  const told = `${block('redis-users')}\necho "$CONTROL_PASSWORD $BROKER_PASSWORD"`;
  const passwords = run(told, { ADMIN_REDIS_URL: redis.url }).trim().split('\n').at(-1)?.split(' ');
  const [REDIS_URL, BROKER_REDIS_URL] = ['control', 'broker'].map((user, at) =>
    redis.url.replace('redis://', `redis://${user}:${passwords?.[at]}@`),
  ) as [string, string];
  run(block('systemd'), { DATABASE_URL: await postgres.createEmptyDatabase(), REDIS_URL, BROKER_REDIS_URL });
  const secrets = join(folder, 'etc/sotto/secrets');
  expect(readdirSync(secrets).sort()).toEqual([
    ...['account_ref_key', 'broker_redis_url', 'database_url', 'providers.env', 'redis_url', 'session_secret'],
    ...['settlement_mac_key', 'ticket_sealing_key'],
  ]);
  for (const unit of units) expect(complaintsAbout(unit, folder)).toEqual([]);

  // The guide says: "In sotto.yaml, set both origins; put your provider keys into providers.env."
  const ports = { control: await freePort(), broker: await freePort() };
  editSettings(join(folder, 'etc/sotto/sotto.yaml'), [
    ['https://control.example.com', `http://127.0.0.1:${ports.control}`],
    ['https://api.example.com', `https://127.0.0.1:${ports.broker}`],
    ['host: 127.0.0.1', `host: 127.0.0.1\n  port: ${ports.control}`],
    ['port: 4001', `host: 127.0.0.1\n  port: ${ports.broker}`],
    ['attestation: auto', 'attestation: off'],
    ['# providers_file', 'providers_file'],
    ['# models_file', 'models_file'],
  ]);
  writeFileSync(join(secrets, 'providers.env'), 'ACME_API_KEY=sk-of-the-operator\n');
  writeFiles(around, join(folder, 'etc/sotto'), { api_key_env: 'ACME_API_KEY' });

  // Replaces systemctl, which needs a machine that systemd runs.
  for (const unit of units) startUnit(unit);
  const controlUrl = `http://127.0.0.1:${ports.control}`;
  const isReady = async (): Promise<boolean> => (await fetch(`${controlUrl}/readyz`)).ok;
  await until(isReady, () => `control is ready; ${output.join('')}`, 60_000);
  await until(
    () => isBrokerReady(ports.broker),
    () => output.join(''),
    60_000,
  );
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'systemctl'), '#!/bin/sh\nexit 0\n', { mode: 0o755 });
  const installed = { PATH: `${bin}:${join(folder, 'usr/local/bin')}:${path}` };
  // The doctor contacts both origins. It reports that this origin's certificate is self-signed.
  const examined = spawnSync('bash', ['-uc', block('systemd-start')], {
    encoding: 'utf8',
    env: { HOME: folder, DESTDIR: folder, ...installed },
  });
  expect(examined.stdout, examined.stderr).toContain('Postgres');
  expect(examined.stdout).toContain('Redis’ users: brokers cannot read control’s keys');
  expect(examined.stdout).toContain('Redis’ durability: keeps acknowledged writes');
  expect(output.join('')).not.toContain("read control's keys");
  const inferenceKey = run(block('systemd-account'), installed).split('\n').at(-2) ?? '';
  expect(inferenceKey).toMatch(/^sotto_inf_/);

  const answered = await askPrivately({ controlUrl, brokerPort: ports.broker, inferenceKey });
  expect(answered.status, `${answered.text} ${output.join('')}`).toBe(200);
  expect(provider.seen.at(-1)?.headers.authorization).toBe('Bearer sk-of-the-operator');
  expect(run('sotto-control audit', installed)).not.toContain('differ');
}, 300_000);

/** Asks over TLS without checking the certificate, because the broker's is self-signed. */
function isBrokerReady(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path: '/readyz', rejectUnauthorized: false };
    request(options, (answer) => resolve(answer.resume().statusCode === 200))
      .on('error', reject)
      .end();
  });
}

const read = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');

it('docs/operate/sizing.md plans with the figures that the bench has written', () => {
  const measured = read('docs/PERFORMANCE.md');
  const guide = read('docs/operate/sizing.md');
  const section = /\n## Cost of a million requests\n(.*?)\n## /s.exec(measured)?.[1] ?? '';
  const rows = section.split('\n').filter((line) => /^\| (broker|control|Redis|Postgres) \|/.test(line));
  expect(rows).toHaveLength(4);
  for (const row of rows) expect(guide).toContain(row);
  const bytes = /grew by (\d+) bytes per request/.exec(section)?.[1];
  expect(guide).toContain(`grows by ${bytes} bytes per request`);
  const hours = rows.reduce((sum, row) => sum + Number(row.split('|')[3]), 0);
  expect(guide).toContain(`Together ${hours.toFixed(2)} core hours per million`);
  const growth = [...(/A request adds .*? \((.*?)\)/.exec(measured)?.[1] ?? '').matchAll(/(\w+) (\d+)/g)];
  expect(growth).toHaveLength(4);
  for (const [, table, size] of growth) expect(guide).toContain(`| \`${table}\` | ${size} per request |`);
  const [, daily, act] = /day take (\d+) bytes .* audit log (\d+)\./.exec(measured) ?? [];
  expect(guide).toContain(`| ${daily} per key, model and provider of a day |`);
  expect(guide).toContain(`| ${act} per entry of the audit log |`);
  const kib = Number(/\| Sotto, private flow \(tickets\) \| \d+ \| \d+ \| ([\d.]+) \|/.exec(measured)?.[1]);
  expect(guide).toContain(`take ${Math.round((kib * 1000) / 1024)} MiB`);
});

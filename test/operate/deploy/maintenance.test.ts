import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { documentedBlock } from '../../kit/documented.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const upgrade = (name: string): string => documentedBlock('docs/operate/upgrades.md', name);
const backup = (name: string): string => documentedBlock('docs/operate/backup-and-restore.md', name);

/** A clone of the files that the guides name. Stand-ins for servers' programs record their arguments. */
let folder: string;
const file = (path: string): string => join(folder, path);
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sotto-test-maintenance-'));
  for (const path of ['deploy', 'docker-compose.yml', '.env.example'])
    cpSync(join(root, path), file(path), { recursive: true });
  mkdirSync(file('bin'));
  const record = `echo "\${0##*/} $*" >> ${file('told')}\n`;
  for (const name of ['kubectl', 'helm', 'systemctl', 'sotto-control'])
    writeFileSync(file(`bin/${name}`), `#!/bin/sh\n${record}echo "of ${name}"\n`, { mode: 0o755 });
  // A dump is what comes out; what goes in is recorded.
  writeFileSync(
    file('bin/docker'),
    `#!/bin/sh\n${record}case "$*" in *pg_dump*) echo dump ;; *pg_restore*) cat >> ${file('restored')} ;; esac\n`,
    { mode: 0o755 },
  );
  writeFileSync(file('bin/git'), '#!/bin/sh\ncase "$1" in log) echo 1790000000 ;; *) echo v9 ;; esac\n', {
    mode: 0o755,
  });
  // npm run image -- PLANE FOLDER
  writeFileSync(file('bin/npm'), `#!/bin/sh\n${record}mkdir -p "$5" && echo "new $4" > "$5/version"\n`, {
    mode: 0o755,
  });
});
afterEach(() => rmSync(folder, { recursive: true }));

const run = (script: string): string[] => {
  const env = { PATH: `${file('bin')}:${process.env.PATH}`, HOME: folder, DESTDIR: folder };
  execFileSync('bash', ['-euo', 'pipefail', '-c', script], { cwd: folder, env, stdio: 'pipe' });
  return existsSync(file('told')) ? readFileSync(file('told'), 'utf8').trimEnd().split('\n') : [];
};
const text = (path: string): string => readFileSync(file(path), 'utf8');
const modeOf = (path: string): number => statSync(file(path)).mode & 0o777;

describe('docs/operate/upgrades.md', () => {
  it('replaces control before the brokers with Docker Compose, and adds missing secrets', () => {
    expect(run(upgrade('upgrade-compose'))).toEqual([
      'docker compose build',
      'docker compose up -d --wait control',
      'docker compose up -d --wait',
      'docker compose run --rm control doctor',
    ]);
    expect(existsSync(file('deploy/compose/secrets/broker_redis_url'))).toBe(true);
  });

  it('replaces one plane after the other with systemd, and keeps the former ones', () => {
    mkdirSync(file('etc/systemd/system'), { recursive: true });
    for (const plane of ['control', 'broker']) {
      mkdirSync(file(`opt/sotto/${plane}`), { recursive: true });
      writeFileSync(file(`opt/sotto/${plane}/version`), `old ${plane}\n`);
    }
    const told = run(upgrade('upgrade-systemd'));
    expect(told.filter((line) => line.startsWith('systemctl restart'))).toEqual([
      'systemctl restart sotto-control',
      'systemctl restart sotto-broker',
    ]);
    expect(told.at(-1)).toBe('sotto-control doctor');
    for (const plane of ['control', 'broker']) {
      expect(text(`opt/sotto/${plane}/version`)).toBe(`new ${plane}\n`);
      expect(text(`opt/sotto/${plane}.former/version`)).toBe(`old ${plane}\n`);
      expect(text(`etc/systemd/system/sotto-${plane}.service`)).toBe(text(`deploy/systemd/sotto-${plane}.service`));
    }
    // The next upgrade finds the folders of this one.
    run(upgrade('upgrade-systemd'));
    expect(text('opt/sotto/control.former/version')).toBe('new control\n');
  });

  it('builds and pushes both images before Kubernetes uses them, and keeps the values', () => {
    const told = run(upgrade('upgrade-kubernetes'));
    expect(told.map((line) => line.split(' ').slice(0, 2).join(' '))).toEqual([
      ...['docker build', 'docker push', 'docker build', 'docker push'],
      ...['helm upgrade', 'kubectl rollout', 'kubectl rollout'],
    ]);
    expect(told[2]).toContain('-f deploy/images/broker.Dockerfile');
    expect(told[3]).toBe('docker push registry.example.com/sotto-broker:v9');
    expect(told[4]).toContain('--reset-then-reuse-values --set control.image.tag=v9 --set broker.image.tag=v9');
  });

  it('replaces the keeper', () => {
    mkdirSync(file('opt/sotto/keeper'), { recursive: true });
    expect(run(upgrade('upgrade-keeper')).at(-1)).toBe('systemctl restart sotto-keeper');
    expect(text('opt/sotto/keeper/version')).toBe('new keeper\n');
    expect(existsSync(file('opt/sotto/keeper.former'))).toBe(true);
  });
});

describe('docs/operate/backup-and-restore.md', () => {
  it('restores with Docker Compose what it saved', () => {
    run(documentedBlock('docs/operate/compose.md', 'compose'));
    const saved = ['.env', 'deploy/compose/secrets/session_secret', 'deploy/compose/config/sotto.yaml'];
    const before = saved.map(text);
    run(backup('backup-compose'));
    for (const file of ['sotto-files.tar.gz', 'sotto.dump']) expect(modeOf(file), file).toBe(0o600);
    expect(text('sotto.dump')).toBe('dump\n');
    rmSync(file('deploy/compose/secrets'), { recursive: true });
    for (const path of ['.env', 'deploy/compose/config/sotto.yaml']) rmSync(file(path));
    rmSync(file('told'));
    expect(run(backup('restore-compose'))).toEqual([
      'docker compose up -d --wait postgres redis',
      'docker compose exec -T postgres pg_restore -U sotto --no-owner --exit-on-error --dbname=sotto',
      'docker compose up -d --build --wait',
      'docker compose run --rm control audit',
    ]);
    expect(saved.map(text)).toEqual(before);
    expect(text('restored')).toBe('dump\n');
  });

  it('saves the settings and secrets of systemd and of Kubernetes, for their owner alone', () => {
    mkdirSync(file('etc/sotto/secrets'), { recursive: true });
    writeFileSync(file('etc/sotto/secrets/session_secret'), 'x');
    run(backup('backup-systemd'));
    expect(modeOf('sotto-files.tar.gz')).toBe(0o600);
    const listed = execFileSync('tar', ['-tzf', file('sotto-files.tar.gz')], { encoding: 'utf8' });
    expect(listed).toContain('sotto/secrets/session_secret');
    run(backup('backup-kubernetes'));
    expect(text('sotto-secrets.yaml')).toBe('of kubectl\n');
    expect(modeOf('sotto-secrets.yaml')).toBe(0o600);
    expect(text('sotto-values.yaml')).toBe('of helm\n');
  });
});

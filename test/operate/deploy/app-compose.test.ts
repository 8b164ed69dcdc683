import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { vectorJson } from '@sotto/attestation/testing';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { documentedBlock } from '../../kit/documented.ts';
import { useFolder } from '../../kit/folder.ts';
import { runSotto } from '../../kit/run-sotto.ts';
import { problemOf } from './installed-planes.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const make = (...args: readonly string[]) =>
  spawnSync(process.execPath, ['deploy/confidential-vm/app-compose.mjs', ...args], { cwd: root, encoding: 'utf8' });
const folder = useFolder('app-compose');
const image = `registry.example.com/sotto-broker@sha256:${'a'.repeat(64)}`;
const origin = 'https://api.example.com';

describe('app-compose.json', () => {
  const { stdout, stderr, status } = make(image, origin, 'OPENAI_API_KEY', 'ACME_API_KEY', 'OPENAI_API_KEY');
  const app = JSON.parse(stdout) as Record<string, unknown> & { docker_compose_file: string; allowed_envs: string[] };
  const { services } = parse(app.docker_compose_file) as {
    services: Record<string, { image: string; environment: Record<string, string>; [name: string]: unknown }>;
  };

  it('is the same bytes for the same arguments, and prints the digest that clients pin', () => {
    expect(status).toBe(0);
    expect(make(image, origin, 'ACME_API_KEY', 'OPENAI_API_KEY').stdout).toBe(stdout);
    expect(make(image, 'https://b.example.com').stdout).not.toBe(stdout);
    expect(stderr).toBe(`compose_hash ${createHash('sha256').update(stdout).digest('hex')}\n`);
  });

  it('has the digest that `sotto measure` pins', async () => {
    const [recording, compose] = [join(folder, 'recorded.json'), join(folder, 'app-compose.json')];
    writeFileSync(recording, JSON.stringify(vectorJson('dstack/tdx-lite-getquote.json')));
    writeFileSync(compose, stdout);
    const measured = runSotto(['measure', 'dstack', recording, '--app-compose', compose]);
    expect(await measured.ended, measured.err()).toBe(0);
    const [, digest] = stderr.trim().split(' ');
    expect(measured.out()).toContain(`"compose_hash": "${digest}"`);
  });

  it('runs only the broker, by digest, with settings that it accepts', () => {
    expect(Object.keys(services)).toEqual(['broker']);
    const { environment, ...broker } = services.broker ?? { image: '', environment: {} as Record<string, string> };
    expect(broker).toMatchObject({ image, read_only: true, cap_drop: ['ALL'], ulimits: { core: 0 } });
    const secrets = ['REDIS_URL', 'TICKET_SEALING_KEY', 'SETTLEMENT_MAC_KEY', 'ACME_API_KEY', 'OPENAI_API_KEY'];
    const other = 'OTHER_TICKET_SEALING_KEY';
    expect(environment[other]).toBe(`\${${other}:-}`);
    for (const name of secrets) expect(environment[name]).toBe(`\${${name}}`);
    expect([...app.allowed_envs].sort()).toEqual([...secrets, other].sort());
    const { ACME_API_KEY, OPENAI_API_KEY, [other]: _, ...ours } = environment;
    const given = {
      REDIS_URL: 'redis://x:6379',
      TICKET_SEALING_KEY: 'A'.repeat(43),
      SETTLEMENT_MAC_KEY: 'A'.repeat(43),
    };
    expect(problemOf('broker', { ...ours, ...given })).toBeUndefined();
  });

  it('shows nothing to the host, and does not let it add anything', () => {
    expect(app).toMatchObject({ public_logs: false, public_sysinfo: false, kms_enabled: true, secure_time: true });
    expect(app).not.toHaveProperty('pre_launch_script');
    expect(app).not.toHaveProperty('init_script');
  });

  it('refuses settings that would not be measured, and lists the ones it takes', () => {
    for (const [args, message] of [
      [['sotto-broker:latest', origin], 'name it by digest'],
      [[image, 'http://api.example.com'], 'without a path'],
      [[image, `${origin}/v1`], 'without a path'],
      [[image, origin, 'openai'], 'is not the name of a variable'],
    ] as const) {
      const refused = make(...args);
      expect([refused.status, refused.stdout]).toEqual([2, '']);
      expect(refused.stderr).toContain(message);
    }
  });

  it('is created by the command of the guide', () => {
    const block = documentedBlock('docs/operate/confidential-vm.md', 'app-compose');
    const ran = spawnSync('bash', ['-euc', `cd ${root}; ${block.replaceAll('> app-compose.json', '')}`], {
      encoding: 'utf8',
      env: { PATH: `${process.execPath.replace(/\/node$/, '')}:${process.env.PATH}`, DIGEST: 'a'.repeat(64) },
    });
    expect(ran.stdout, ran.stderr).toBe(make(image, origin, 'OPENAI_API_KEY').stdout);
  });
});

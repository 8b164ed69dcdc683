import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { useFolder } from '../../kit/folder.ts';

// The workflow cannot run here. This reads what it would do.

const root = fileURLToPath(new URL('../../../', import.meta.url));
const workflows = join(root, '.github/workflows');
const read = (name: string): string => readFileSync(join(workflows, name), 'utf8');

interface Step {
  readonly name?: string;
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, string>>;
}
interface Job {
  readonly needs?: string;
  readonly permissions: Readonly<Record<string, string>>;
  readonly environment?: string;
  readonly 'timeout-minutes': number;
  readonly steps: readonly Step[];
}
const workflow = parse(read('release.yml')) as {
  readonly on: object;
  readonly permissions: object;
  readonly jobs: Readonly<Record<'build' | 'sign' | 'verify' | 'publish', Job>>;
};
const { build, sign, verify, publish } = workflow.jobs;
const stepsOf = (job: Job, action: string): readonly Step[] =>
  job.steps.filter(({ uses }) => uses?.startsWith(`${action}@`));

it.each(readdirSync(workflows))('%s names each action by the digest of its commit, with its version beside', (name) => {
  const uses = read(name).match(/^.*\buses:.*$/gm) ?? [];
  expect(uses.length).toBeGreaterThan(2);
  expect(uses.filter((line) => !/uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([]);
  const digests = new Map<string, Set<string>>();
  for (const line of readdirSync(workflows).flatMap((each) => read(each).match(/^.*\buses:.*$/gm) ?? [])) {
    const [, action = '', digest = ''] = /uses: (\S+)@(\S+)/.exec(line) ?? [];
    digests.set(action, (digests.get(action) ?? new Set()).add(digest));
  }
  expect([...digests].filter(([, { size }]) => size > 1)).toEqual([]);
});

describe('the workflow of a release', () => {
  it('runs for tags alone, each job after the one that it depends on, within a time', () => {
    expect(workflow.on).toEqual({ push: { tags: ['v*'] } });
    expect([sign.needs, verify.needs, publish.needs]).toEqual(['build', 'sign', 'verify']);
    for (const job of Object.values(workflow.jobs)) expect(job['timeout-minutes']).toBeGreaterThan(0);
  });

  it('gives each job only its rights: what builds cannot sign, and what signs runs no code of the release', () => {
    expect(workflow.permissions).toEqual({});
    expect(build.permissions).toEqual({ contents: 'read' });
    expect(verify.permissions).toEqual({ contents: 'read' });
    expect(sign.permissions).toEqual({ 'id-token': 'write', attestations: 'write' });
    expect(publish.permissions).toEqual({ contents: 'write', packages: 'write', 'id-token': 'write' });
    expect(publish.environment).toBe('release');
    for (const job of [sign, publish]) {
      expect(stepsOf(job, 'actions/checkout')).toEqual([]);
      expect(job.steps.filter(({ run = '' }) => /\b(?:npm (?:run|ci|install)|node|npx)\b/.test(run))).toEqual([]);
    }
    for (const job of [build, verify]) {
      for (const checkout of stepsOf(job, 'actions/checkout'))
        expect(checkout.with).toEqual({ 'persist-credentials': false });
    }
  });

  it('has no secret, and puts no text of an event into a script', () => {
    expect(read('release.yml')).not.toMatch(/secrets\./);
    const scripts = Object.values(workflow.jobs).flatMap(({ steps }) => steps.flatMap(({ run }) => run ?? []));
    expect(scripts.length).toBeGreaterThan(6);
    expect(scripts.filter((script) => script.includes('${{'))).toEqual([]);
  });

  it('signs the statement that `make-release.mjs` writes, states provenance and both bills of materials', () => {
    const attested = stepsOf(sign, 'actions/attest').map((step) => step.with);
    expect(attested[0]).toEqual({
      'subject-checksums': 'out/subjects.sha256',
      'predicate-type': 'urn:sotto:release:v1',
      'predicate-path': 'out/predicate.json',
    });
    // Without a predicate, the action states the provenance of a build.
    expect(attested[1]).toEqual({ 'subject-checksums': 'out/checksums.sha256' });
    expect(attested.slice(2).map((each) => each?.['sbom-path'])).toEqual([
      'out/sotto-broker.cdx.json',
      'out/sotto-control.cdx.json',
    ]);
  });

  it('runs programs that there are, and publishes to npm without a token', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: object };
    const text = read('release.yml');
    const names = [...text.matchAll(/npm run ([\w:-]+)/g)].flatMap(([, name]) => name ?? []);
    expect(names).toEqual(['check', 'sotto']);
    for (const name of names) expect(scripts).toHaveProperty([name]);
    const files = [...text.matchAll(/(?:node|bash) (deploy\/\S+)/g)].flatMap(([, file]) => file ?? []);
    expect(files).toEqual(['deploy/release/make-release.mjs', 'deploy/release/check-release.mjs']);
    for (const file of files) expect(existsSync(join(root, file)), file).toBe(true);
    expect(text).not.toContain('NODE_AUTH_TOKEN');
  });
});

describe('the scripts that publish', () => {
  const folder = useFolder('publish');
  const script = (name: string): string => publish.steps.find((step) => step.name === name)?.run ?? '';
  /** Runs a script as GitHub does, with stand-ins of programs. Returns its exit code and the calls. */
  const run = (name: string, programs: Readonly<Record<string, string>>) => {
    mkdirSync(join(folder, 'bin'), { recursive: true });
    writeFileSync(join(folder, 'calls'), '');
    for (const [program, body] of Object.entries(programs)) {
      const text = `#!/bin/bash\necho "${program} $*" >> '${folder}/calls'\n${body}\n`;
      writeFileSync(join(folder, 'bin', program), text, { mode: 0o755 });
    }
    const env = {
      ...{ PATH: `${join(folder, 'bin')}:${process.env.PATH}`, GITHUB_REF_NAME: 'v0.2.0' },
      ...{ GITHUB_REPOSITORY: 'Owner/Repo', GITHUB_ACTOR: 'actor', TOKEN: 'token' },
    };
    const { status } = spawnSync('bash', ['-e', '-c', script(name)], { cwd: folder, env });
    return { status, calls: readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n') };
  };

  it('give npm a file, not the name of a repository, and publish a version once', () => {
    for (const name of ['package', 'release']) mkdirSync(join(folder, name));
    writeFileSync(join(folder, 'package/package.json'), '{"name":"@sotto/client","version":"0.2.0"}');
    execFileSync('npm', ['pack', './package', '--pack-destination', 'release'], { cwd: folder, stdio: 'pipe' });
    const { status, calls } = run('Publish the client', { npm: '[ "$1" != view ]' });
    expect({ status, calls: calls.map((call) => call.split(' ')[1]) }).toEqual({
      status: 0,
      calls: ['view', 'publish'],
    });
    const argument = calls[1]?.split(' ')[2] ?? '';
    // npm would look a repository up on the network.
    const pack = ['pack', argument, '--dry-run', '--json', '--offline'];
    const packed = JSON.parse(execFileSync('npm', pack, { cwd: folder, encoding: 'utf8', stdio: 'pipe' }));
    expect(packed).toMatchObject([{ id: '@sotto/client@0.2.0' }]);
    expect(run('Publish the client', { npm: 'echo 0.2.0' }).calls).toEqual(['npm view @sotto/client@0.2.0 version']);
  });

  it('stop if a registry has another image than the release names', () => {
    mkdirSync(join(folder, 'release'), { recursive: true });
    writeFileSync(join(folder, 'release/subjects.sha256'), 'aa  sotto-broker\nbb  sotto-control\n');
    const publishing = (broker: string) =>
      run('Publish the images, whose digests the release names', {
        skopeo: `[ "$1" != inspect ] || case "$*" in */broker:*) echo sha256:${broker} ;; *) echo sha256:bb ;; esac`,
      });
    expect(publishing('aa').status).toBe(0);
    expect(publishing('bb')).toMatchObject({ status: 1, calls: { length: 3 } });
  });
});

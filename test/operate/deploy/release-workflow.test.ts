import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

// The workflow cannot run here. This reads what it would do.

const root = fileURLToPath(new URL('../../../', import.meta.url));
const workflows = join(root, '.github/workflows');
const read = (name: string): string => readFileSync(join(workflows, name), 'utf8');

interface Step {
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
    expect(files).toEqual(['deploy/release/make-release.mjs']);
    for (const file of files) expect(existsSync(join(root, file)), file).toBe(true);
    expect(text).toContain('npm publish release/*.tgz --provenance --access public');
    expect(text).not.toContain('NODE_AUTH_TOKEN');
  });
});

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const read = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
/** A Dockerfile's instructions, each with its continuation lines. */
const instructionsOf = (path: string): string[] =>
  read(path)
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n\s*/g, ' ')
    .split('\n')
    .filter((line) => line !== '');

describe.each([
  ['broker', 'apps/confidential/dist/main.js', 4001],
  ['control', 'apps/control/dist/main.js', 4000],
])('the Dockerfile of %s', (image, main, port) => {
  const path = `deploy/images/${image}.Dockerfile`;
  const instructions = instructionsOf(path);

  it('builds only on bases that are pinned by digest', () => {
    const bases = instructions.filter((line) => line.startsWith('FROM ')).map((line) => line.split(' ')[1]);
    expect(bases.map((base) => base?.replace(/[^A-Z_]/g, ''))).toEqual(['BUILD_BASE', 'RUN_BASE']);
    for (const name of ['BUILD_BASE', 'RUN_BASE']) {
      const pinned = instructions.find((line) => line.startsWith(`ARG ${name}=`));
      expect(pinned).toMatch(/=[a-z0-9./-]+:[\w.-]+@sha256:[0-9a-f]{64}$/);
    }
    expect(instructions.filter((line) => /^ADD |curl|wget/.test(line))).toEqual([]);
  });

  it("runs the project's Node as `nobody`, with its inspector closed and without core dumps", () => {
    expect(instructions).toContain('USER 65532:65532');
    expect(instructions.some((line) => /^ENV NODE_ENV=production( |$)/.test(line))).toBe(true);
    // Clears a variable of the base image, because the broker would refuse to start with it.
    if (image === 'broker') expect(instructions).toContain('ENV NODE_ENV=production SSL_CERT_FILE=');
    expect(instructions).toContain(`EXPOSE ${port}`);
    const entry = instructions.find((line) => line.startsWith('ENTRYPOINT '))?.slice('ENTRYPOINT '.length) ?? '[]';
    expect(JSON.parse(entry)).toEqual([
      ...['/usr/bin/prlimit', '--core=0:0', '/sotto/bin/node', '--disable-sigusr1', `/sotto/${main}`],
    ]);
    expect(instructions.some((line) => line.startsWith('HEALTHCHECK ') && line.includes(`"${image}"`))).toBe(true);
  });

  it('creates its content by a command that anyone can run', () => {
    const registry = image === 'broker' ? ' "$PROVIDERS"' : '';
    expect(instructions).toContain(`RUN npm run image -- ${image} /out${registry}`);
    expect(instructions).toContain('COPY --from=build /out/ /sotto/');
  });
});

it('the ACME client of Docker Compose is built on a pinned base, runs as `nobody`, and has only its own scripts', () => {
  const instructions = instructionsOf('deploy/images/certificate.Dockerfile');
  const bases = instructions.filter((line) => line.startsWith('FROM '));
  expect(bases).toEqual([expect.stringMatching(/^FROM \$\{BUILD_BASE\}$/)]);
  expect(instructions[0]).toBe(instructionsOf('deploy/images/broker.Dockerfile')[0]);
  expect(instructions).toContain('USER 65532:65532');
  expect(instructions.filter((line) => line.startsWith('COPY '))).toEqual([
    'COPY deploy/sign-request.sh deploy/keep-certificate.sh /usr/local/bin/',
  ]);
  expect(instructions.some((line) => line.startsWith('HEALTHCHECK ') && line.includes('"healthy"'))).toBe(true);
});

it('the build context contains only the sources of the images', () => {
  const rules = read('.dockerignore')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  expect(rules[0]).toBe('*');
  const wanted = rules.filter((rule) => rule.startsWith('!')).map((rule) => rule.slice(1));
  // The installer reads the manifests of the whole workspace.
  for (const needed of [
    'apps',
    'packages',
    'scripts',
    'deploy/images',
    'deploy/sign-request.sh',
    'deploy/keep-certificate.sh',
    'pnpm-lock.yaml',
    'test/package.json',
    'tools/package.json',
  ]) {
    expect(wanted).toContain(needed);
  }
  for (const kept of ['**/node_modules', '**/dist', '**/built']) expect(rules).toContain(kept);
});

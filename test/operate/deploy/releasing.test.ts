import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { documentedBlock } from '../../kit/documented.ts';
import { useFolder } from '../../kit/folder.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const folder = useFolder('releasing');

it('a pending change of the client becomes its next version and a line of its changelog', () => {
  // The parts of the workspace that versions need.
  for (const file of [
    'package.json',
    'pnpm-workspace.yaml',
    '.changeset/config.json',
    'packages/client/package.json',
  ]) {
    mkdirSync(join(folder, file, '..'), { recursive: true });
    cpSync(join(root, file), join(folder, file));
  }
  for (const name of ['attestation', 'money', 'wire']) {
    mkdirSync(join(folder, 'packages', name), { recursive: true });
    cpSync(join(root, 'packages', name, 'package.json'), join(folder, 'packages', name, 'package.json'));
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  // Does what `npm run changeset` does, in this copy.
  writeFileSync(
    join(bin, 'npm'),
    `#!/bin/sh\nshift 3\nexec ${process.execPath} ${root}node_modules/@changesets/cli/bin.js "$@"\n`,
    { mode: 0o755 },
  );
  const block = documentedBlock('docs/contribute/releasing.md', 'changeset');
  const env = { PATH: `${bin}:${process.env.PATH}`, HOME: folder, GIT_CONFIG_GLOBAL: '/dev/null' };
  execFileSync('git', ['init', '-q', '-b', 'main'], { cwd: folder, env });
  const before = JSON.parse(readFileSync(join(folder, 'packages/client/package.json'), 'utf8')) as { version: string };
  execFileSync('bash', ['-euc', block], { cwd: folder, env, stdio: 'pipe' });
  const after = JSON.parse(readFileSync(join(folder, 'packages/client/package.json'), 'utf8')) as { version: string };
  const [major, minor] = before.version.split('.').map(Number);
  expect(after.version).toBe(`${major}.${(minor ?? 0) + 1}.0`);
  expect(readFileSync(join(folder, 'packages/client/CHANGELOG.md'), 'utf8')).toContain('says which pins agreed');
});

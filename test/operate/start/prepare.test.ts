import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '@sotto/test-servers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { root } from '../../kit/npm-start.ts';

let folder: string;
let children: ChildProcess[];

/** Puts an installer in the place of npx. It notes each run in `installed`. */
const installer = (script: string): Promise<void> =>
  writeFile(join(folder, 'npx'), `#!/bin/sh\necho run >> installed\n${script}\n`, { mode: 0o755 });

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sotto-prepare-'));
  children = [];
  for (const path of ['scripts', 'package.json', 'pnpm-lock.yaml', 'pnpm-workspace.yaml', '.pnpmfile.cjs'])
    await cp(join(root, path), join(folder, path), { recursive: true });
});
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  await rm(folder, { recursive: true });
});

interface Command {
  output(): string;
  readonly ended: Promise<number | null>;
}

/** Runs a command of the copied project, which ends after the installation: nothing else is there. */
function command(flags: readonly string[] = []): Command {
  const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` };
  const child = spawn(process.execPath, [...flags, 'scripts/run.mjs', 'fuzz'], { cwd: folder, env });
  children.push(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (piece) => {
      output += piece;
    });
  return { output: () => output, ended: new Promise((resolve) => child.once('close', resolve)) };
}
const installs = async (): Promise<number> =>
  (await readFile(join(folder, 'installed'), 'utf8')).trim().split('\n').length;

describe('the first command in a checkout', () => {
  it('shows why the installation failed, whatever the exit code', async () => {
    await installer('echo "npm error EHOSTUNREACH"; exit 143');
    const { output, ended } = command();
    expect(await ended).toBe(1);
    expect(output()).toMatch(/Installing all dependencies.*npm error EHOSTUNREACH.*cannot install the dependencies/s);
  });

  it('waits for another that installs, and installs once', async () => {
    await installer('mkdir node_modules; until [ -e go ]; do sleep 0.05; done');
    const commands = [command(), command()];
    await until(
      async () => commands.some(({ output }) => output().includes('Waiting for another command')),
      'one waits',
    );
    await writeFile(join(folder, 'go'), '');
    for (const { ended } of commands) await ended;
    expect(await installs()).toBe(1);
  });

  it('does not wait for one that was killed', async () => {
    await writeFile(join(folder, '.preparing'), String(spawnSync('true').pid));
    await installer('mkdir node_modules');
    await command().ended;
    expect(await installs()).toBe(1);
  });

  it('says which Node it needs', async () => {
    const old = 'data:text/javascript,Object.defineProperty(process.versions, "node", { value: "16.20.2" })';
    const { output, ended } = command([`--import=${old}`]);
    expect(await ended).toBe(1);
    expect(output()).toBe(
      'sotto: this is Node 16.20.2; it needs Node 18 or later. Install one from https://nodejs.org.\n',
    );
  });
});

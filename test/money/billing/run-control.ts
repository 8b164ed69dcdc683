import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { fromSource } from '../../kit/from-source.ts';
import type { Service } from '../../kit/service.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** Runs `sotto-control` on a service's database; resolves to what it printed. */
export async function runControl({ pool }: Service, args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [...fromSource, 'apps/control/src/main.ts', ...args], {
    cwd: root,
    env: { PATH: process.env.PATH ?? '', DATABASE_URL: pool.options.connectionString ?? '' },
  });
  return stdout;
}

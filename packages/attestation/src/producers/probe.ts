import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { MachineAbilities } from './choose.ts';

const configfs = 'sys/kernel/config/tsm/report';
const sockets = ['var/run/dstack.sock', 'run/dstack.sock', 'var/run/dstack/dstack.sock'];
const devices = ['dev/tdx_guest', 'dev/tdx-guest', 'dev/sev-guest'];

/** Looks at what a machine has. `root` is where its file system begins. */
export async function probeMachine(root = '/'): Promise<MachineAbilities> {
  const [directory, socket, device] = await Promise.all([
    first(root, [configfs], 'isDirectory'),
    first(root, sockets, 'isSocket'),
    first(root, devices, 'isCharacterDevice'),
  ]);
  return { configfs: directory, dstack: socket, device };
}

async function first(
  root: string,
  candidates: readonly string[],
  kind: 'isDirectory' | 'isSocket' | 'isCharacterDevice',
): Promise<string | undefined> {
  for (const candidate of candidates) {
    const path = join(root, candidate);
    const found = await stat(path).then(
      (entry) => entry[kind](),
      () => false,
    );
    if (found) return path;
  }
  return undefined;
}

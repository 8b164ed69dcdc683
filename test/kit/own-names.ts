import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Names that only processes of ours can resolve, and cannot where a test says so. */
export interface OwnNames {
  /** A command that runs the one that follows it with these names and no others. */
  readonly under: readonly string[];
  /** All of them resolve to loopback, or none does. */
  resolve(works: boolean): void;
  stop(): Promise<void>;
}

/** Runs a command in a mount namespace of its own, whose resolver reads our files and asks a server that is not there. */
const script = 'mount --bind "$1" /etc/hosts && mount --bind "$2" /etc/resolv.conf && shift 2 && exec "$@"';

/** Undefined where this machine gives us no namespace. */
export async function openOwnNames(names: readonly string[]): Promise<OwnNames | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'sotto-test-names-'));
  const [hosts, resolver] = [join(folder, 'hosts'), join(folder, 'resolv.conf')];
  const lines = names.map((name) => `127.0.0.1 ${name}\n`).join('');
  await writeFile(hosts, lines);
  await writeFile(resolver, 'nameserver 127.0.0.1\noptions timeout:1 attempts:1\n');
  const under = ['unshare', '--mount', 'sh', '-c', script, 'sh', hosts, resolver];
  const [program = '', ...args] = under;
  try {
    await promisify(execFile)(program, [...args, 'true']);
  } catch {
    await rm(folder, { recursive: true, force: true });
    return undefined;
  }
  return {
    under,
    resolve(works) {
      // In place: what is mounted is this very file.
      writeFileSync(hosts, works ? lines : '');
    },
    async stop() {
      await rm(folder, { recursive: true, force: true });
    },
  };
}

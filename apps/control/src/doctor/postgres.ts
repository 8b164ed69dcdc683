import pg from 'pg';
import { counted } from '../counted.ts';
import { pendingMigrations } from '../database/migrate.ts';
import { compareClocks, type Finding, ok, reasonOf, warning, wrong } from './check.ts';

const subject = 'Postgres';
const oldest = 15;
const timeoutMs = 5000;

/** Checks that the database answers, is recent enough, has this release’s schema, and has the right time. */
export async function examinePostgres(url: string, now: () => number): Promise<Finding[]> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: timeoutMs,
    statement_timeout: timeoutMs,
  });
  client.on('error', () => {});
  const findings: Finding[] = [];
  try {
    await client.connect();
    const askedAt = now();
    const { rows } = await client.query<{ version: string; ms: string; replica: boolean }>(
      `select current_setting('server_version_num') as version, extract(epoch from clock_timestamp()) * 1000 as ms, pg_is_in_recovery() as replica`,
    );
    const ours = now();
    const [row] = rows;
    const major = Math.floor(Number(row?.version) / 10_000);
    findings.push(
      major >= oldest
        ? ok(subject, `version ${major} answers`)
        : wrong(subject, `version ${major} answers`, `Upgrade it: Sotto needs version ${oldest} or later.`),
      compareClocks('Postgres’ clock', { ours, theirs: Number(row?.ms), tookMs: ours - askedAt }),
    );
    if (row?.replica === true) {
      findings.push(wrong(subject, 'is a standby', 'Point DATABASE_URL to the primary, or promote this server.'));
    }
    findings.push(...(await examineRoom(client)));
    findings.push(await examineSchema(client));
    return findings;
  } catch (error) {
    const reason = reasonOf(error);
    const isConnected = findings.length > 0;
    const found = /^28/.test(reason)
      ? 'rejects the user or the password of DATABASE_URL'
      : isConnected
        ? 'fails'
        : 'cannot be reached';
    return [...findings, wrong(subject, `${found} (${reason})`, adviceFor(reason))];
  } finally {
    await client.end().catch(() => {});
  }
}

/** Returns how to fix a connection or a query that failed for this reason. */
function adviceFor(reason: string): string {
  switch (reason.replace(/ .*/, '')) {
    case '28000':
    case '28P01':
      return 'Correct the user and the password in DATABASE_URL.';
    case '3D000':
      return 'Create the database that DATABASE_URL names, or correct the name.';
    case '53100':
      return 'Its disk is full, so nothing is booked: free space, or enlarge the disk (docs/operate/overload-and-faults.md).';
    case '53200':
      return 'It has no memory left: give it more, or lower `work_mem` and `max_connections`.';
    case '57014':
      return 'A small query took longer than 5 s: look at the load of its disk and at its log.';
    case '58030':
    case '58P01':
      return 'Its disk fails: look at its log and at the kernel’s.';
    case '53300':
      return 'All its connections are taken: raise `max_connections`, or start fewer control processes.';
    case 'XX000':
    case 'XX001':
    case 'XX002':
      return 'It runs, but fails: its log says why. Often its disk is full or damaged.';
    case 'connection_timeout':
      return 'It accepts no connection in time: look whether it hangs, at its log and its load, and check DATABASE_URL.';
    case '57P03':
      return 'It starts, stops or recovers: its log says why, and how far it is.';
    default:
      return 'Check DATABASE_URL, and that the server accepts connections from this machine.';
  }
}

/** Bytes that a query sorts beyond its memory, so that Postgres must write them to its disk. */
const spilled =
  "select count(*) from (select repeat('x', 1000) || n as text from generate_series(1, 4000) as n order by 1) as lines";

/**
 * Checks that Postgres accepts writes and has room on its disk, and changes nothing. A sort that does not fit into its memory needs a
 * temporary file. The file is not in the write-ahead log, and the query deletes it.
 */
async function examineRoom(client: pg.Client): Promise<Finding[]> {
  const { rows } = await client.query<{ isReadOnly: boolean }>(
    `select current_setting('default_transaction_read_only') = 'on' as "isReadOnly"`,
  );
  if (rows[0]?.isReadOnly === true) {
    const advice = 'Many hosts make a database read-only when its disk is full: enlarge the disk, or lift it.';
    return [wrong(subject, 'accepts no writes (25006 read_only_sql_transaction), so nothing is booked', advice)];
  }
  try {
    await client.query('begin');
    await client.query("set local work_mem = '64kB'");
    await client.query(spilled);
    return [];
  } catch (error) {
    const reason = reasonOf(error);
    // A limit of temporary files, which no booking needs.
    if (reason.startsWith('53400')) return [];
    return [wrong(subject, `cannot write to its disk (${reason})`, adviceFor(reason))];
  } finally {
    await client.query('rollback').catch(() => {});
  }
}

async function examineSchema(client: pg.Client): Promise<Finding> {
  const { missing, unknown } = await pendingMigrations(client);
  if (missing.length > 0) {
    return wrong(
      'schema',
      `lacks ${counted(missing.length, 'migration')}, from ${missing[0]}`,
      'Run `sotto-control migrate`, or start control, which migrates first.',
    );
  }
  return unknown > 0
    ? warning(
        'schema',
        `is ${counted(unknown, 'migration')} newer than this release`,
        'Finish the upgrade: run the release that migrated it.',
      )
    : ok('schema', 'is up to date');
}

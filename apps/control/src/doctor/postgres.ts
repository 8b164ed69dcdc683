import pg from 'pg';
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
  try {
    await client.connect();
    const askedAt = now();
    const { rows } = await client.query<{ version: string; ms: string; replica: boolean }>(
      `select current_setting('server_version_num') as version, extract(epoch from clock_timestamp()) * 1000 as ms, pg_is_in_recovery() as replica`,
    );
    const ours = now();
    const [row] = rows;
    const major = Math.floor(Number(row?.version) / 10_000);
    const findings: Finding[] = [
      major >= oldest
        ? ok(subject, `version ${major} answers`)
        : wrong(subject, `version ${major} answers`, `Upgrade it: Sotto needs version ${oldest} or later.`),
      compareClocks('Postgres’ clock', { ours, theirs: Number(row?.ms), tookMs: ours - askedAt }),
    ];
    if (row?.replica === true) {
      findings.push(wrong(subject, 'is a standby', 'Point DATABASE_URL to the primary, or promote this server.'));
    }
    return [...findings, await examineSchema(client)];
  } catch (error) {
    return [
      wrong(
        subject,
        `cannot be reached (${reasonOf(error)})`,
        'Check DATABASE_URL, and that the server accepts connections from this machine.',
      ),
    ];
  } finally {
    await client.end().catch(() => {});
  }
}

async function examineSchema(client: pg.Client): Promise<Finding> {
  const { missing, unknown } = await pendingMigrations(client);
  if (missing.length > 0) {
    return wrong(
      'schema',
      `${missing.length} migrations are missing, from ${missing[0]}`,
      'Run `sotto-control migrate`, or start control, which migrates first.',
    );
  }
  return unknown > 0
    ? warning(
        'schema',
        `is ${unknown} migrations newer than this release`,
        'Finish the upgrade: run the release that migrated it.',
      )
    : ok('schema', 'is up to date');
}

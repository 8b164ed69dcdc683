import { codeLike } from '@sotto/server';

/** Names of the conditions that operators meet (PostgreSQL, appendix A). */
const conditions: Readonly<Record<string, string>> = {
  '08006': 'connection_failure',
  '22P02': 'invalid_text_representation',
  '23503': 'foreign_key_violation',
  '23505': 'unique_violation',
  '23514': 'check_violation',
  '25006': 'read_only_sql_transaction',
  '28000': 'invalid_authorization_specification',
  '28P01': 'invalid_password',
  '3D000': 'invalid_catalog_name',
  '40001': 'serialization_failure',
  '40P01': 'deadlock_detected',
  '42501': 'insufficient_privilege',
  '42703': 'undefined_column',
  '42P01': 'undefined_table',
  '53100': 'disk_full',
  '53200': 'out_of_memory',
  '53300': 'too_many_connections',
  '53400': 'configuration_limit_exceeded',
  '55P03': 'lock_not_available',
  '57014': 'query_canceled',
  '57P01': 'admin_shutdown',
  '57P02': 'crash_shutdown',
  '57P03': 'cannot_connect_now',
  '58030': 'io_error',
  '58P01': 'undefined_file',
  XX000: 'internal_error',
  XX001: 'data_corrupted',
  XX002: 'index_corrupted',
};

/** Names of errors without a code, by their constant messages: those of `pg` and `pg-pool` for a server that hangs or has gone. */
const withoutCode: ReadonlyMap<string, string> = new Map([
  ['timeout exceeded when trying to connect', 'connection_timeout'],
  ['timeout expired', 'connection_timeout'],
  ['Connection terminated due to connection timeout', 'connection_timeout'],
  ['Query read timeout', 'query_timeout'],
  ['Connection terminated', 'connection_lost'],
  ['Connection terminated unexpectedly', 'connection_lost'],
  ['Client has encountered a connection error and is not queryable', 'connection_lost'],
  ['Client was closed and is not queryable', 'connection_lost'],
]);

/**
 * Names the cause of an error of Postgres or of the network, such as `53100 disk_full`, `ECONNREFUSED` or `connection_timeout`. Libraries
 * wrap errors, so the cause may be that of a cause. Undefined if it is unknown. Never the message, which quotes rows.
 */
export function causeOf(error: unknown): string | undefined {
  for (let next: unknown = error; next instanceof Error; next = next.cause) {
    const named = withoutCode.get(next.message);
    if (named !== undefined) return named;
    if (!('code' in next) || typeof next.code !== 'string' || !codeLike.test(next.code)) continue;
    const condition = conditions[next.code];
    return condition === undefined ? next.code : `${next.code} ${condition}`;
  }
  return undefined;
}

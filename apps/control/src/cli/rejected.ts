import { nusdToDecimal } from '@sotto/money';
import { parseSettlement } from '@sotto/state';
import { CliError, type CliProcess, UsageError } from './cli-process.ts';
import { uuidPattern, withDatabase } from './with-database.ts';

interface RejectedRow {
  id: string;
  created_at: Date;
  shard: number;
  reason: string;
  payload: string;
}

/** Lists the settlements that were set aside and are not resolved, oldest first. */
export async function rejectedList(context: CliProcess): Promise<number> {
  const { rows } = await withDatabase(context, (pool) =>
    pool.query<RejectedRow>(
      `select id, created_at, shard, reason, payload from rejected_settlements
       where resolved_at is null order by created_at`,
    ),
  );
  if (rows.length === 0) context.out('No settlement is set aside.');
  for (const { id, created_at, shard, reason, payload } of rows) {
    const charge = parseSettlement(payload)?.chargeNusd;
    const amount = charge === undefined ? 'unreadable' : `${nusdToDecimal(BigInt(charge))} USD`;
    context.out(`${id}  ${created_at.toISOString()}  shard ${shard}  ${reason}  ${amount}`);
  }
  return 0;
}

/** Resolves a settlement that will not be booked, so that the audit no longer reports it. */
export async function rejectedDismiss(
  context: CliProcess,
  { id, why }: { readonly id: string | undefined; readonly why: unknown },
): Promise<number> {
  if (id === undefined || !uuidPattern.test(id)) {
    throw new UsageError(
      `ID is ${id === undefined ? 'missing' : `"${id}"`}; take it from \`sotto-control rejected list\``,
    );
  }
  if (typeof why !== 'string' || why.trim() === '') throw new UsageError('--why is missing; say why it is not booked');
  const { rowCount } = await withDatabase(context, (pool) =>
    pool.query(
      'update rejected_settlements set resolved_at = now(), resolution = $2 where id = $1 and resolved_at is null',
      [id.toLowerCase(), why.trim().slice(0, 500)],
    ),
  );
  if (rowCount === 0) throw new CliError(`no settlement with the id ${id} is set aside`);
  context.out(`${id} is dismissed`);
  return 0;
}

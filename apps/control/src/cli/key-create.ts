import { usdToNusd } from '@sotto/money';
import type pg from 'pg';
import { insertKey } from '../keys/key-store.ts';
import { CliError, type CliProcess } from './cli-process.ts';
import { uuidPattern, withDatabase } from './with-database.ts';

export async function keyCreate(
  context: CliProcess,
  values: Readonly<Record<string, string | boolean | undefined>>,
): Promise<number> {
  const { account, kind = 'inference', name = 'from the command line', limit } = values;
  if (typeof account !== 'string' || !uuidPattern.test(account))
    throw new CliError('--account takes the id of an account');
  if (kind !== 'inference' && kind !== 'management')
    throw new CliError(`--kind is \`${kind}\`: it takes inference or management`);
  const creditLimitNusd = typeof limit === 'string' ? usdToNusd(Number(limit)) : undefined;
  if (limit !== undefined && creditLimitNusd === undefined)
    throw new CliError(`--limit is \`${limit}\`: it takes an amount in USD`);
  const isKnown = await withDatabase(context, async (pool) => {
    const { rows } = await pool.query<{ id: string }>(
      'select id from workspaces where account_id = $1 and is_default',
      [account],
    );
    const [workspace] = rows;
    if (workspace === undefined) throw new CliError(`there is no account ${account}`);
    const created = await insertKey(pool, {
      accountId: account,
      workspaceId: workspace.id,
      kind,
      name: String(name),
      creditLimitNusd,
      openaiCompatible: values['no-compatibility'] !== true,
    });
    // At once: whatever comes, nobody else has it.
    context.out(created.key);
    return untilProjected(pool, created.id);
  });
  if (!isKnown)
    context.error('Brokers do not know the key yet: they will once a control plane runs and reaches Redis.');
  return 0;
}

const waitMs = 2000;
const lookMs = 100;

/** Whether a running control plane tells the brokers of a key soon: one that they do not know is answered 401. */
async function untilProjected(pool: pg.Pool, keyId: string): Promise<boolean> {
  for (let waitedMs = 0; ; waitedMs += lookMs) {
    const { rows } = await pool.query<{ known: boolean }>(
      'select projected_generation >= generation as known from api_keys where id = $1',
      [keyId],
    );
    if (rows[0]?.known === true || waitedMs >= waitMs) return rows[0]?.known === true;
    await new Promise((resolve) => setTimeout(resolve, lookMs));
  }
}

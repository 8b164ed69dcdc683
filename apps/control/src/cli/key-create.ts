import { usdToNusd } from '@sotto/money';
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
  const { key } = await withDatabase(context, async (pool) => {
    const { rows } = await pool.query<{ id: string }>(
      'select id from workspaces where account_id = $1 and is_default',
      [account],
    );
    const [workspace] = rows;
    if (workspace === undefined) throw new CliError(`there is no account ${account}`);
    return insertKey(pool, {
      accountId: account,
      workspaceId: workspace.id,
      kind,
      name: String(name),
      creditLimitNusd,
      openaiCompatible: values['no-compatibility'] !== true,
    });
  });
  context.out(key);
  return 0;
}

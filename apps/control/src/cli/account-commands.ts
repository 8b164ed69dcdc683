import { nusdToUsd, usdToNusd } from '@sotto/money';
import { createAccount } from '../accounts/ensure-account.ts';
import { creditAccount } from '../ledger/post-transaction.ts';
import { CliError, type CliProcess } from './cli-process.ts';
import { uuidPattern, withDatabase } from './with-database.ts';

type Option = string | boolean | undefined;

export async function accountCreate(context: CliProcess, name: Option): Promise<number> {
  if (typeof name !== 'string' || name.trim() === '') throw new CliError('--name takes the name of the account');
  const { accountId } = await withDatabase(context, (pool) => createAccount(pool, { userId: undefined, name }));
  context.out(accountId);
  return 0;
}

export async function accountCredit(
  context: CliProcess,
  {
    account,
    usd,
    reference,
  }: { readonly account: string | undefined; readonly usd: string | undefined; readonly reference: Option },
): Promise<number> {
  if (account === undefined || !uuidPattern.test(account))
    throw new CliError('the first argument takes the id of an account');
  const amountNusd = usd === undefined || !/^\d+(\.\d{1,9})?$/.test(usd) ? undefined : usdToNusd(Number(usd));
  if (amountNusd === undefined || amountNusd === 0n) {
    throw new CliError('the second argument takes an amount in USD, above 0, with at most nine decimals');
  }
  if (typeof reference !== 'string' || reference === '') {
    throw new CliError(
      '--reference takes a text of your own, such as an invoice number: it credits once, however often it is used',
    );
  }
  const credited = await withDatabase(context, (pool) =>
    creditAccount(pool, { accountId: account, amountNusd, kind: 'adjustment', reference: `cli:${reference}` }),
  );
  if (credited === undefined) throw new CliError(`there is no account ${account}`);
  context.out(`balance: ${nusdToUsd(credited.balanceNusd)} USD`);
  return 0;
}

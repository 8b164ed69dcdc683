import { maxNusd, type Nusd, nusdToDecimal, nusdToUsd, usdToNusd } from '@sotto/money';
import type pg from 'pg';
import * as z from 'zod';
import { deletedByOperatorMail, deletePerson } from '../account-deletion/delete-person.ts';
import { insertAccount } from '../accounts/ensure-account.ts';
import { recordAct } from '../audit-log/record-act.ts';
import { setMonthlyGrant } from '../billing/monthly-grants/account-grant.ts';
import { readLinkSettings } from '../config.ts';
import { inTransaction } from '../database/in-transaction.ts';
import { isUuid } from '../database/is-uuid.ts';
import { orError } from '../database/refused.ts';
import { insertKey } from '../keys/key-store.ts';
import { type Mail, namingService } from '../mail/mail.ts';
import { type SmtpSettings, smtpMail } from '../mail/smtp-mail.ts';
import { accountErrors, deletionErrors } from '../operator/account-errors.ts';
import { creditAsOperator, disableAccount, enableAccount, listAccounts } from '../operator/account-store.ts';
import { findUser } from '../operator/operator-store.ts';
import { pagesOf } from '../serve/page-cursor.ts';
import { authMails, setPasswordLink } from '../sessions/auth-mails.ts';
import { insertPerson, makePasswordLink } from '../sessions/create-person.ts';
import {
  CliError,
  type CliProcess,
  commandLine,
  type Option,
  printList,
  readId,
  required,
  UsageError,
  withDatabase,
  withTransaction,
} from './cli-process.ts';

/** Creates an account for a person, who signs in, or one with only a name, for programs. */
export async function accountCreate(context: CliProcess, email: string | undefined, name: Option): Promise<void> {
  if (email !== undefined) return createForPerson(context, email, name);
  if (typeof name !== 'string' || name.trim() === '')
    throw new UsageError('an email address is missing; for an account that only programs use, set --name instead');
  const accountId = await withTransaction(context, async (client) => {
    const created = await insertAccount(client, { userId: undefined, name });
    await recordAct(client, { actor: commandLine, act: 'account_created', accountId: created.accountId });
    return created.accountId;
  });
  // The id alone, because scripts keep it for the next command.
  context.out(accountId);
}

async function createForPerson(context: CliProcess, given: string, name: Option): Promise<void> {
  const email = readAddress(given);
  const { origin, signIn } = required(readLinkSettings(context.environment));
  const { openid } = signIn;
  const { accountId, token } = await withTransaction(context, async (client) => {
    const created = await insertPerson(client, { email, name: typeof name === 'string' ? name : email });
    if (created === undefined) throw new CliError(`${email} has an account already`);
    await recordAct(client, { actor: commandLine, act: 'account_created', accountId: created.accountId });
    const link = signIn.hasPasswords ? await makePasswordLink(client, created.userId, Date.now()) : undefined;
    return { accountId: created.accountId, token: link };
  });
  context.out(`account: ${accountId}`);
  if (token === undefined) {
    context.out(`sign in with ${openid?.name} at ${origin}/sign-in, by the address ${email}`);
    return;
  }
  context.out(`set a password within a day: ${setPasswordLink(origin, token)}`);
  if (signIn.smtp === undefined) return;
  await mailNow(signIn.smtp, origin, authMails(origin).created(email, token), 'link');
  context.out(`the link was mailed to ${email}`);
}

/** Sends a mail without another attempt. If that fails, the user has to pass on what it says. */
export async function mailNow(
  smtp: SmtpSettings,
  origin: string,
  mail: Mail,
  what: 'link' | 'address' | 'notice',
): Promise<void> {
  const mailer = namingService(smtpMail(smtp, []), origin);
  try {
    await mailer.send(mail);
  } catch {
    throw new CliError(`the mail could not be sent; check SMTP_URL, and pass the ${what} on yourself`);
  } finally {
    mailer.close();
  }
}

/** Prints a new link to set a password, for a person whose first one has expired or was lost. */
export async function accountLink(context: CliProcess, given: string | undefined): Promise<void> {
  const email = readAddress(given);
  const { origin, signIn } = required(readLinkSettings(context.environment));
  if (!signIn.hasPasswords)
    throw new CliError('passwords are off: set SIGN_IN_PASSWORD=on, start control again, and repeat this command');
  const token = await withTransaction(context, async (client) => {
    const user = await findUser(client, email);
    if (user === undefined) throw new CliError(`${email} has no account; create it with \`account create ${email}\``);
    await recordAct(client, { actor: commandLine, act: 'password_link_created', accountId: user.accountId });
    return makePasswordLink(client, user.userId, Date.now());
  });
  context.out(`set a password within a day: ${setPasswordLink(origin, token)}`);
}

/** Reads an email address of the command line. */
export function readAddress(given: string | undefined): string {
  const email = z.email().safeParse(given?.toLowerCase()).data;
  if (email !== undefined) return email;
  throw new UsageError(`the address is ${given === undefined ? 'missing' : `"${given}"`}; write it as ann@example.com`);
}

/** Lists accounts, newest first: id, address, state, balance, charges of this month, last day used. */
export async function accountList(context: CliProcess, search: Option): Promise<void> {
  await withDatabase(context, async (pool) => {
    const text = typeof search === 'string' ? search : undefined;
    const pages = pagesOf((cursor) =>
      listAccounts(pool, { limit: 100, search: text, cursor }, { now: Date.now, defaultGrantNusd: undefined }),
    );
    await printList(context, pages, (each) => {
      const money = `${each.balance_usd} USD, ${each.spent_this_month_usd} USD paid and ${each.used_this_month_usd} USD used this month`;
      const used = each.last_used_on === null ? 'never used' : `used on ${each.last_used_on}`;
      return `${each.id}  ${each.email ?? 'no address'}  ${each.state}  ${money}  ${used}`;
    });
  });
}

/** Disables or enables an account. A running control plane tells the brokers within a second. */
export async function accountSwitch(
  context: CliProcess,
  account: string | undefined,
  state: 'disabled' | 'enabled',
): Promise<void> {
  const accountId = readId('account', account);
  const change = state === 'disabled' ? disableAccount : enableAccount;
  const changed = await withDatabase(context, (pool) => change(pool, { accountId, actor: commandLine }));
  orError(changed, errorsOf(accountId));
  context.out(`${accountId} is ${state}`);
}

const errorsOf = (account: string) => ({
  ...accountErrors,
  no_account: () => new CliError(`account ${account} does not exist`),
});

/** Deletes a person on request. A running control plane tells the brokers within a second, and revokes the keys within some. */
export async function accountDelete(
  context: CliProcess,
  account: string | undefined,
  { email, 'with-workspaces': withWorkspaces }: Readonly<Record<string, Option>>,
): Promise<void> {
  const accountId = readId('account', account);
  if (typeof email !== 'string')
    throw new UsageError('--email is missing: it takes the address of the person, so that no other is deleted');
  const address = readAddress(email);
  const { origin, signIn } = required(readLinkSettings(context.environment));
  const deletion = { accountId, email: address, withWorkspaces: withWorkspaces === true, actor: commandLine };
  const deleted = await withDatabase(context, (pool) => deletePerson(pool, deletion, Date.now()));
  try {
    orError(deleted, { ...deletionErrors(address), no_account: errorsOf(accountId).no_account });
  } catch (error) {
    const message = (error as Error).message
      .replace('`with_workspaces`', '--with-workspaces')
      .replace('`email`', '--email');
    throw new CliError(`${message} Nothing was deleted`);
  }
  context.out(`${accountId} is deleted; its keys stop within seconds while control runs`);
  if (signIn.smtp === undefined) return;
  await mailNow(signIn.smtp, origin, deletedByOperatorMail(origin, address), 'notice');
  context.out(`${address} was told by mail`);
}

/** Sets the monthly grant of an account. A running control plane gives it what a higher amount adds to this month. */
export async function accountGrant(
  context: CliProcess,
  { account, usd }: { readonly account: string | undefined; readonly usd: string | undefined },
): Promise<void> {
  const amountNusd = usd === 'default' ? undefined : readUsd(usd);
  if (usd !== 'default' && amountNusd === undefined)
    throw new UsageError(
      `the amount is ${usd === undefined ? 'missing' : `"${usd}"`}; write USD with at most nine decimals, or default`,
    );
  await withDatabase(context, async (pool) => {
    const accountId = await findAccountId(pool, account);
    if (accountId === undefined || !(await setMonthlyGrant(pool, { accountId, amountNusd, actor: commandLine })))
      throw new CliError(`${account} has no account; list them with \`sotto-control account list\``);
  });
  context.out(
    `${account} gets ${amountNusd === undefined ? 'MONTHLY_GRANT_USD' : `${nusdToUsd(amountNusd)} USD`} each month with BILLING=none`,
  );
}

/** Finds an account by its id or the address of its user. */
async function findAccountId(pool: pg.Pool, account: string | undefined): Promise<string | undefined> {
  if (account !== undefined && isUuid(account)) return account.toLowerCase();
  const { rows } = await pool.query<{ id: string }>(
    'select a.id from accounts a join auth_user u on u.id = a.user_id where u.email = $1',
    [readAddress(account)],
  );
  return rows[0]?.id;
}

/** Reads an amount in USD with at most nine decimals. Returns undefined for other text. Throws if it is too large. */
export function readUsd(usd: string | undefined): Nusd | undefined {
  if (usd === undefined || !/^\d+(\.\d{1,9})?$/.test(usd)) return undefined;
  const nusd = usdToNusd(Number(usd));
  if (nusd === undefined) throw new UsageError(`the amount is ${usd} USD; the most is ${nusdToDecimal(maxNusd)} USD`);
  return nusd;
}

export async function accountCredit(
  context: CliProcess,
  {
    account,
    usd,
    reference,
  }: { readonly account: string | undefined; readonly usd: string | undefined; readonly reference: Option },
): Promise<void> {
  const accountId = readId('account', account);
  const amountNusd = readUsd(usd);
  if (amountNusd === undefined || amountNusd === 0n) {
    throw new UsageError(
      `the amount is ${usd === undefined ? 'missing' : `"${usd}"`}; write USD above 0, with at most nine decimals`,
    );
  }
  if (typeof reference !== 'string' || reference === '') {
    throw new UsageError(
      '--reference is missing; choose a text such as an invoice number. Each reference credits the account once',
    );
  }
  const booked = await withDatabase(context, (pool) =>
    creditAsOperator(pool, { accountId, amountNusd, reference, actor: commandLine }),
  );
  const credited = orError(booked, errorsOf(accountId));
  if (credited.outcome === 'used')
    throw new CliError(`the reference "${reference}" has credited another account or amount; nothing has changed`);
  context.out(`balance: ${nusdToUsd(credited.balanceNusd)} USD`);
}

export async function keyCreate(context: CliProcess, values: Readonly<Record<string, Option>>): Promise<void> {
  const { account, kind = 'inference', name = 'from the command line', limit } = values;
  const accountId = readId('account', account);
  if (kind !== 'inference' && kind !== 'management')
    throw new UsageError(`--kind is \`${kind}\`; use inference or management`);
  const creditLimitNusd = typeof limit === 'string' ? readUsd(limit) : undefined;
  if (limit !== undefined && creditLimitNusd === undefined)
    throw new UsageError(`--limit is \`${limit}\`; use an amount in USD, such as 5`);
  const isKnown = await withDatabase(context, async (pool) => {
    const created = await inTransaction(pool, async (client) => {
      const { rows } = await client.query<{ id: string }>(
        'select id from workspaces where account_id = $1 and is_default',
        [accountId],
      );
      const [workspace] = rows;
      if (workspace === undefined) throw errorsOf(accountId).no_account();
      const inserted = await insertKey(client, {
        accountId,
        workspaceId: workspace.id,
        kind,
        name: String(name),
        creditLimitNusd,
        openaiCompatible: values['no-compatibility'] !== true,
      });
      await recordAct(client, {
        actor: commandLine,
        act: 'key_created',
        accountId,
        workspaceId: workspace.id,
        details: { key_id: inserted.id, kind, credit_limit_usd: inserted.credit_limit_usd },
      });
      return inserted;
    });
    // Print the key before anything else can fail, because it is stored nowhere.
    context.out(created.key);
    return untilProjected(pool, created.id);
  });
  if (!isKnown)
    context.error('Brokers do not know the key yet. They accept it once a control plane runs and reaches Redis.');
}

const waitMs = 2000;
const lookMs = 100;

/** Waits for a running control plane to project a key. Until then, brokers answer 401 to the key. */
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

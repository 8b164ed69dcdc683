import { nusdToDecimal, nusdToUsd, orderTotal, returnedNusd, usdToNusd } from '@sotto/money';
import { pino } from 'pino';
import { recordAct } from '../audit-log/record-act.ts';
import { readBillingPlan, readBillingSettings } from '../billing/billing-settings.ts';
import { applyWithin } from '../billing/orders/apply-event.ts';
import { listAllOrders, lockOrder } from '../billing/orders/order-store.ts';
import { isUuid } from '../database/is-uuid.ts';
import { controlEvents } from '../events.ts';
import { type GrantOutcome, grantOperator, listOperators, revokeOperator } from '../operator/operator-store.ts';
import { spendByProvider } from '../operator/provider-list.ts';
import { dismissRejected, listRejected } from '../operator/rejected-settlements.ts';
import { pagesOf } from '../serve/page-cursor.ts';
import { readAddress, readUsd } from './account-commands.ts';
import {
  CliError,
  type CliProcess,
  commandLine,
  printList,
  readId,
  required,
  UsageError,
  withDatabase,
  withTransaction,
} from './cli-process.ts';

/** Why a user cannot become an operator, and what to do. */
const notGranted: Readonly<Partial<Record<GrantOutcome, (email: string) => string>>> = {
  'no account': (email) => `${email} has no account; create it with \`sotto-control account create ${email}\``,
  unverified: (email) =>
    `${email} is not verified; its user must follow the link of the mail that confirms the address`,
  'no second factor': (email) =>
    `${email} has no second factor; its user must first sign in and add an authenticator app or a passkey on the account page`,
};

export async function operatorGrant(context: CliProcess, address: string | undefined): Promise<void> {
  const email = readAddress(address);
  const outcome = await withDatabase(context, (pool) => grantOperator(pool, { email, actor: commandLine }));
  const refusal = notGranted[outcome];
  if (refusal !== undefined) throw new CliError(refusal(email));
  context.out(outcome === 'granted' ? `${email} is an operator` : `${email} was an operator already`);
}

/** Takes the role away. It ends at once, also in sessions. */
export async function operatorRevoke(context: CliProcess, address: string | undefined): Promise<void> {
  const email = readAddress(address);
  if (!(await withDatabase(context, (pool) => revokeOperator(pool, { email, actor: commandLine }))))
    throw new CliError(`${email} is not an operator`);
  context.out(`${email} is no longer an operator`);
}

export async function operatorList(context: CliProcess): Promise<void> {
  const operators = await withDatabase(context, listOperators);
  if (operators.length === 0) context.out('No user is an operator.');
  for (const { email, granted_at } of operators) context.out(`${email}  since ${granted_at.toISOString()}`);
}

/** Prints what accounts were charged for the answers of each provider this month. */
export async function providerSpend(context: CliProcess): Promise<void> {
  const spent = await withDatabase(context, (pool) => spendByProvider(pool, Date.now()));
  if (spent.length === 0) context.out('No charges this month.');
  for (const { provider, usd } of spent) context.out(`${provider}  ${usd} USD`);
}

/** Lists the orders of all accounts, newest first. */
export async function orderList(context: CliProcess): Promise<void> {
  await withDatabase(context, async (pool) => {
    const orders = pagesOf((cursor) => listAllOrders(pool, { limit: 100, cursor }));
    await printList(
      context,
      orders,
      ({ id, created_at, account_id, status, rail, total }) =>
        `${id}  ${created_at}  account ${account_id}  ${status}  ${rail}  ${total} USD`,
    );
  });
}

/** Lists the unresolved settlements that were set aside, oldest first. */
export async function rejectedList(context: CliProcess): Promise<void> {
  const rejected = await withDatabase(context, listRejected);
  if (rejected.length === 0) context.out('No settlements are set aside.');
  for (const { id, at, shard, reason, charge_usd } of rejected) {
    const amount = charge_usd === null ? 'unreadable' : `${nusdToDecimal(usdToNusd(charge_usd) ?? 0n)} USD`;
    context.out(`${id}  ${at}  shard ${shard}  ${reason}  ${amount}`);
  }
}

/** Resolves a settlement that will not be booked, so that the audit no longer reports it. */
export async function rejectedDismiss(
  context: CliProcess,
  { id, why }: { readonly id: string | undefined; readonly why: unknown },
): Promise<void> {
  if (id === undefined || !isUuid(id)) {
    throw new UsageError(
      `ID is ${id === undefined ? 'missing' : `"${id}"`}; take it from \`sotto-control rejected list\``,
    );
  }
  if (typeof why !== 'string' || why.trim() === '')
    throw new UsageError('--why is missing; state why the settlement is not booked');
  const settlement = { id: id.toLowerCase(), why: why.trim().slice(0, 500), actor: commandLine };
  if (!(await withDatabase(context, (pool) => dismissRejected(pool, settlement))))
    throw new CliError(`settlement ${id} is not in the list of rejected settlements`);
  context.out(`dismissed ${id}`);
}

/**
 * Records a refund that the rails do not report, such as one of a crypto payment. The amount is the total refunded so
 * far, so repeating the command changes nothing.
 */
export async function orderRefund(
  context: CliProcess,
  { order, usd }: { readonly order: string | undefined; readonly usd: string | undefined },
): Promise<void> {
  const orderId = readId('order', order);
  const totalNusd = readUsd(usd);
  if (totalNusd === undefined || totalNusd === 0n) {
    throw new UsageError(
      `the amount is ${usd === undefined ? 'missing' : `"${usd}"`}; write the total refunded for the order so far, in USD`,
    );
  }
  const { file } = required(readBillingSettings(context.environment, { testRail: 'off' }));
  const plan = required(await readBillingPlan(file));
  const refunded = await withTransaction(context, async (client) => {
    const before = await lockOrder(client, orderId);
    if (before === undefined) throw new CliError(`order ${orderId} does not exist`);
    // Recorded now, it would take back a payment that is still to come.
    if (before.payment === undefined)
      throw new CliError(`order ${orderId} is ${before.status}: it was not credited, so there is nothing to take back`);
    const most = orderTotal(before);
    if (totalNusd > most)
      throw new CliError(
        `the total refunded is ${nusdToDecimal(totalNusd)} USD; the most is the order's price, ${nusdToDecimal(most)} USD`,
      );
    const deps = { seller: plan.file.seller, events: controlEvents(pino({ level: 'silent' })), now: Date.now };
    const event = { type: 'refunded', totalNusd } as const;
    const applied = await applyWithin(client, deps, { orderId: before.id, event, source: 'operator' });
    if (applied?.outcome !== 'applied') return before;
    const { order: record } = applied;
    const details = { order_id: record.id, refunded_usd: nusdToUsd(returnedNusd(record)) };
    await recordAct(client, { actor: commandLine, act: 'order_refunded', accountId: record.accountId, details });
    return record;
  });
  context.out(`${refunded.status}: ${nusdToUsd(returnedNusd(refunded))} USD refunded`);
}

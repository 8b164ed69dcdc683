import { type Nusd, orderTotal } from '@sotto/money';
import type pg from 'pg';
import { isUniqueViolation } from '../../database/failures.ts';
import { inTransaction } from '../../database/in-transaction.ts';
import { Refused } from '../../database/refused.ts';
import type { Package } from '../billing-plan.ts';
import type { OrderRecord } from '../orders/order-record.ts';
import { createOrder, openOrder, type PlaceDependencies } from '../orders/place-order.ts';
import { type PaymentRail, RailError, type SavedCards } from '../rails/rail.ts';
import { pause, setOutcome } from './outcome.ts';

export interface AutoTopUpDependencies extends PlaceDependencies {
  readonly cards: (PaymentRail & SavedCards) | undefined;
}

interface Candidate {
  account_id: string;
  auto_package_id: string;
  auto_monthly_limit_nusd: string;
  /** Differs once the row was written again. */
  version: string;
}

/** An account whose top-up is due: not disabled, top-up enabled and not paused, balance below its threshold, and no automatic order open. */
const isDue = `s.auto_enabled and s.auto_paused is null and a.disabled_at is null and a.balance_nusd < s.auto_threshold_nusd
  and not exists (select 1 from orders o where o.account_id = a.id and o.automatic and o.status in ('created', 'pending'))`;

/** SQL condition: a top-up is due. `DueWork` asks it. */
export const topUpIsDue = `exists (select from billing_settings s join accounts a on a.id = s.account_id where ${isDue})`;

const batch = 50;

/**
 * Tops up the accounts that enabled it. It cannot loop. A package is at least the threshold (`account-settings.ts`),
 * so one top-up lifts the balance above it. A failed top-up pauses the account's. A limit holds the next one back until
 * the month, the day or the balance has changed.
 */
export async function topUpAccounts(deps: AutoTopUpDependencies): Promise<void> {
  const { cards, pool } = deps;
  if (cards === undefined) return;
  const { rows } = await pool.query<Candidate>(
    `select s.account_id, s.auto_package_id, s.auto_monthly_limit_nusd, s.xmin::text as version
     from billing_settings s join accounts a on a.id = s.account_id where ${isDue}
     -- In no order: those whom a limit holds back must not stand before the others each time.
     order by random() limit $1`,
    [batch],
  );
  for (const candidate of rows) {
    await topUp(deps, cards, candidate).catch((error: unknown) => {
      if (!(error instanceof RailError)) throw error;
      deps.events.railFailed({ rail: 'card', action: 'auto_top_up', code: error.code });
    });
  }
}

/**
 * Tops up one account. The payment service may take long to answer. If a person saves the settings meanwhile, this neither charges nor
 * pauses by the ones it has read: the next round reads them again.
 */
async function topUp(
  deps: AutoTopUpDependencies,
  cards: PaymentRail & SavedCards,
  { account_id: accountId, auto_package_id: packageId, auto_monthly_limit_nusd: monthlyLimit, version }: Candidate,
): Promise<void> {
  const { pool, plan, events } = deps;
  const at = new Date(deps.now());
  const stop = async (code: string): Promise<void> => {
    if (!(await pause(pool, { accountId, code, version }))) return;
    await setOutcome(pool, { accountId, code, at });
    events.autoTopUp({ outcome: code });
  };
  const bought = plan.packages.get(packageId);
  if (bought === undefined) return stop('package_gone');
  // Check before calling the rail: an account at its limit stays due until the month ends.
  if ((await spentThisMonth(pool, accountId, at)) + orderTotal(bought) > BigInt(monthlyLimit)) {
    if (await setOutcome(pool, { accountId, code: 'monthly_limit', at }))
      events.autoTopUp({ outcome: 'monthly_limit' });
    return;
  }
  const card = await cards.savedCard(accountId);
  if (card === undefined) return stop('no_saved_card');
  const made = await inTransaction(pool, (client) =>
    orderWithin(client, deps, { accountId, bought, card, monthlyLimitNusd: BigInt(monthlyLimit), version, at }),
  ).catch((error: unknown) => {
    // Another process was faster: a unique index allows one open automatic order per account.
    if (isUniqueViolation(error)) return undefined;
    throw error;
  });
  if (made === undefined) return;
  if (typeof made === 'string') {
    // Report it once. A limit is not a failure: top-ups continue by themselves when it allows.
    if (await setOutcome(pool, { accountId, code: made, at })) events.autoTopUp({ outcome: made });
    return;
  }
  const { order } = await openOrder(deps, { rail: cards, order: made, source: 'auto_top_up' });
  events.autoTopUp({ outcome: order.failure ?? order.status });
}

/**
 * Creates the order, or returns the limit that holds it back. Returns undefined if the top-up is not due any more, or not by these
 * settings.
 */
async function orderWithin(
  client: pg.PoolClient,
  deps: AutoTopUpDependencies,
  requested: {
    readonly accountId: string;
    readonly bought: Package;
    readonly card: string;
    readonly monthlyLimitNusd: bigint;
    readonly version: string;
    readonly at: Date;
  },
): Promise<OrderRecord | 'monthly_limit' | 'limit' | undefined> {
  const { accountId, bought, card, monthlyLimitNusd, version, at } = requested;
  // Lock the account and its settings before checking, so that a simultaneous charge, top-up or change of the settings counts.
  await client.query('select 1 from accounts where id = $1 for update', [accountId]);
  const due = await client.query(
    `select 1 from billing_settings s join accounts a on a.id = s.account_id
     where s.account_id = $1 and s.xmin::text = $2 and ${isDue} for share of s`,
    [accountId, version],
  );
  if (due.rowCount === 0) return undefined;
  if ((await spentThisMonth(client, accountId, at)) + orderTotal(bought) > monthlyLimitNusd) return 'monthly_limit';
  const made = await createOrder(client, deps, {
    accountId,
    rail: 'card',
    bought,
    automatic: true,
    saveCard: false,
    card,
    formId: undefined,
  });
  return made instanceof Refused ? 'limit' : made;
}

/** Returns the cost of this calendar month's (UTC) automatic orders, paid or still open, with fees. */
export async function spentThisMonth(db: pg.Pool | pg.PoolClient, accountId: string, now: Date): Promise<Nusd> {
  const { rows } = await db.query<{ spent: string }>(
    `select coalesce(sum(amount_nusd + fee_nusd), 0) as spent from orders
     where account_id = $1 and automatic and status not in ('failed', 'expired') and created_at >= $2`,
    [accountId, new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1))],
  );
  return BigInt(rows[0]?.spent ?? 0);
}

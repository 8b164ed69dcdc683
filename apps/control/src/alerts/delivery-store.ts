import type pg from 'pg';
import type { SqlRow } from '../database/columns.ts';
import type { alertDeliveries, budgetAlerts } from '../database/workspace-schema.ts';
import { type BudgetOwner, largestSum, oldestMonth, spentOf } from '../ledger/budget-months.ts';

export type Channel = 'mail' | 'webhook';

/** A claimed delivery: a mail to `recipientId`, or an event to the workspace’s webhook. */
export interface Delivery {
  readonly id: string;
  readonly recipientId: string | undefined;
  readonly attempts: number;
  readonly alertId: string;
  readonly notedAt: Date;
}

/** A process that has not renewed its deliveries for this time has died. */
const leaseMs = 5 * 60_000;
/** The interval at which a process renews its deliveries. */
export const renewMs = 60_000;
const firstPauseMs = 30_000;
/** How long to try before an alert is given up. */
const giveUpMs = 24 * 3_600_000;

/** SQL condition: a delivery is due. `DueWork` asks it. */
export const deliveryIsDue = 'exists (select from alert_deliveries where next_attempt_at <= $1)';

/**
 * Claims deliveries of a channel that are due, by moving their next attempt. Of two processes, only one finds a delivery. Claims at
 * most one delivery of each recipient or webhook, so that a webhook that fails often keeps no other alert waiting.
 */
export async function claimDeliveries(
  pool: pg.Pool,
  { channel, now, most }: { readonly channel: Channel; readonly now: number; readonly most: number },
): Promise<Delivery[]> {
  const { rows } = await pool.query<SqlRow<typeof alertDeliveries> & { created_at: Date }>(
    `update alert_deliveries d set next_attempt_at = $2, attempts = d.attempts + 1 from budget_alerts a
     where a.id = d.alert_id and d.next_attempt_at <= $1 and d.id in (
       select id from (
         select distinct on (coalesce(d.account_id, b.workspace_id)) d.id, d.next_attempt_at
         from alert_deliveries d join budget_alerts a on a.id = d.alert_id join budgets b on b.id = a.budget_id
         where d.next_attempt_at <= $1 and (d.account_id is null) = $4
         order by coalesce(d.account_id, b.workspace_id), d.next_attempt_at
       ) due order by next_attempt_at limit $3)
     returning d.*, a.created_at`,
    [new Date(now), new Date(now + leaseMs), most, channel === 'webhook'],
  );
  return rows.map((row) => ({
    id: row.id,
    recipientId: row.account_id ?? undefined,
    attempts: row.attempts,
    alertId: row.alert_id,
    notedAt: row.created_at,
  }));
}

/** Keeps deliveries that are under way from other processes. A mail may wait for many others, and be tried for minutes. */
export async function renewDeliveries(pool: pg.Pool, ids: readonly string[], now: number): Promise<void> {
  await pool.query('update alert_deliveries set next_attempt_at = $2 where id = any($1::uuid[])', [
    ids,
    new Date(now + leaseMs),
  ]);
}

/** Deletes a delivery that is done, given up, or has become pointless. */
export async function endDelivery(pool: pg.Pool, { id }: Delivery): Promise<void> {
  await pool.query('delete from alert_deliveries where id = $1', [id]);
}

/** Returns when to try again after a failure: with pauses that double, for a day. Undefined means never. */
export function nextAttempt(
  { attempts, notedAt }: Pick<Delivery, 'attempts' | 'notedAt'>,
  now: number,
): Date | undefined {
  const at = now + firstPauseMs * 2 ** (attempts - 1);
  return at > notedAt.getTime() + giveUpMs ? undefined : new Date(at);
}

export async function postponeDelivery(pool: pg.Pool, { id }: Delivery, at: Date): Promise<void> {
  await pool.query('update alert_deliveries set next_attempt_at = $2 where id = $1', [id, at]);
}

/** An alert with its budget, as they are now. */
export type AlertNow = SqlRow<typeof budgetAlerts, 'percent' | 'month' | 'budget_id'> &
  BudgetOwner & {
    workspace: string;
    limit_nusd: string;
    spent_nusd: string;
    member_email: string | null;
    key_name: string | null;
    /** The tag of the keys that the budget limits. */
    tag: string | null;
    /** Who created the key that the budget limits. */
    key_creator_id: string | null;
    key_creator_email: string | null;
    /** The address of the mail’s recipient, if it is verified and the account may still know of the alert. */
    recipient: string | null;
  };

/** Returns an alert, unless its budget has been removed since, or its workspace deleted or handed over. */
export async function readAlert(pool: pg.Pool, { alertId, recipientId }: Delivery): Promise<AlertNow | undefined> {
  const { rows } = await pool.query<AlertNow>(
    `select a.percent, a.month, a.budget_id, a.account_id, b.workspace_id, b.member_id, b.key_id, b.tag_id, b.tag, b.limit_nusd,
       w.name as workspace, mu.email as member_email, bk.name as key_name, bk.created_by as key_creator_id,
       cu.email as key_creator_email, ru.email as recipient,
       (select ${largestSum}::text from ${spentOf('w.account_id')} where m.month = a.month) as spent_nusd
     from budget_alerts a join budgets b on b.id = a.budget_id and b.limit_nusd is not null
     join workspaces w on w.id = b.workspace_id and w.account_id = a.account_id and w.deleted_at is null
     left join accounts ma on ma.id = b.member_id left join auth_user mu on mu.id = ma.user_id
     left join api_keys bk on bk.id = b.key_id
     left join accounts ca on ca.id = bk.created_by left join auth_user cu on cu.id = ca.user_id
     left join accounts ra on ra.id = $2 and ra.disabled_at is null and (ra.id = w.account_id or exists (
       select 1 from workspace_members wm where wm.workspace_id = w.id and wm.account_id = ra.id
         and (wm.role = 'admin' or ra.id = coalesce(b.member_id, bk.created_by))))
     left join auth_user ru on ru.id = ra.user_id and ru.email_verified
     where a.id = $1`,
    [alertId, recipientId ?? null],
  );
  return rows[0];
}

/** Deletes the alerts of old months. */
export async function purgeAlerts(pool: pg.Pool, now: number): Promise<void> {
  await pool.query('delete from budget_alerts where month < $1', [oldestMonth(now)]);
}

import { randomBytes, randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { pino } from 'pino';
import { beforeEach, describe, expect, it } from 'vitest';
import { createAccount } from '../../accounts/ensure-account.ts';
import { orError } from '../../database/refused.ts';
import { controlEvents } from '../../events.ts';
import { openTestDatabase } from '../../testing/test-database.integration.ts';
import { parseBilling } from '../billing-plan.ts';
import { builtInBilling } from '../billing-settings.ts';
import {
  type Observed,
  type Opened,
  type PaymentRail,
  type RailOrder,
  RailRefusedError,
  RailUnavailableError,
} from '../rails/rail.ts';
import { applyEvent } from './apply-event.ts';
import { orderErrors } from './order-errors.ts';
import { openingLeaseMs } from './order-record.ts';
import {
  type AskedWallet,
  forgetUnpaid,
  orderWallet as placeWalletOrder,
  walletOrdersAMinute,
} from './order-wallet.ts';
import { type AskedOrder, type PlaceDependencies, placeOrder } from './place-order.ts';
import { reconcileOrders } from './reconcile.ts';

const { pool } = await openTestDatabase();

const payTo = { method: 'BTC-LN', currency: 'BTC', amount: '0.0001', destination: 'lnbc1', link: 'lightning:lnbc1' };

/** A rail without idempotency keys. If an order is opened twice, it appears twice. */
class CountingRail implements PaymentRail {
  readonly name = 'crypto';
  readonly opened: string[] = [];
  /** Replaces the next answer. */
  next: (() => Promise<Opened>) | undefined;

  async open(order: RailOrder): Promise<Opened> {
    const { next } = this;
    this.next = undefined;
    if (next !== undefined) return next();
    this.opened.push(order.id);
    const reference = `invoice-${this.opened.length}${order.wallet === undefined ? '' : order.id}`;
    return order.wallet === undefined
      ? { reference, checkoutUrl: 'https://pay.example', events: [] }
      : { reference, checkoutUrl: undefined, payTo: [payTo], events: [] };
  }

  observe = async (): Promise<Observed> => ({ events: [], processing: false });
  close = async () => {};
}

async function till() {
  const plan = parseBilling(await readFile(builtInBilling, 'utf8'));
  if (!plan.ok) throw new Error('no plan');
  const { accountId } = await createAccount(pool, { userId: undefined, name: 'Ann' });
  const rail = new CountingRail();
  const [packageId = ''] = plan.value.packages.keys();
  const asked: AskedOrder = { accountId, packageId, rail: 'crypto', saveCard: false, formId: randomUUID() };
  const deps = (nowMs: number): PlaceDependencies => ({
    pool,
    plan: plan.value,
    rails: { card: undefined, crypto: rail, test: undefined },
    events: controlEvents(pino({ level: 'silent' })),
    project: async () => {},
    seller: plan.value.file.seller,
    now: () => nowMs,
  });
  return { rail, deps, place: async (nowMs: number) => orError(await placeOrder(deps(nowMs), asked), orderErrors) };
}

const orderWallet = async (deps: PlaceDependencies, asked: AskedWallet) =>
  orError(await placeWalletOrder(deps, asked), orderErrors);

/** Resolves when the rail is called. The call never returns, as if the process had died meanwhile. */
const askedInVain = (rail: CountingRail): Promise<void> =>
  new Promise((resolve) => {
    rail.next = () => {
      resolve();
      return new Promise(() => {});
    };
  });

const start = Date.UTC(2026, 10, 21);

it('a repeated form opens the order of a dead process once, after its lease has ended', async () => {
  const { rail, place } = await till();
  const asked = askedInVain(rail);
  void place(start);
  await asked;

  const early = await place(start + openingLeaseMs - 1);
  expect([early.isNew, early.order.status, rail.opened]).toEqual([false, 'created', []]);
  const late = await Promise.all([1, 2, 3, 4].map(() => place(start + openingLeaseMs)));
  expect(new Set(late.map(({ order }) => order.id))).toEqual(new Set([early.order.id]));
  expect(rail.opened).toEqual([early.order.id]);
  const after = await place(start + openingLeaseMs);
  expect(after.order).toMatchObject({ status: 'pending', reference: 'invoice-1', checkoutUrl: 'https://pay.example' });
});

it('a repeated form of an expired order opens nothing and returns the order', async () => {
  const { rail, place } = await till();
  const asked = askedInVain(rail);
  void place(start);
  await asked;
  const dayMs = 24 * 60 * 60 * 1000;
  const late = await place(start + dayMs);
  expect([late.isNew, late.order.status, rail.opened]).toEqual([false, 'created', []]);
});

describe('an order for a wallet', () => {
  const hash = (): string => randomBytes(32).toString('base64url');
  const wallet = (own: Partial<AskedWallet> = {}): AskedWallet => ({
    ...{ keyHash: hash(), closeHash: hash(), packageId: 'usd-10' },
    ...own,
  });
  const paid = { type: 'paid', payment: 'p', paidNusd: 10_500_000_000n, currency: 'USD' } as const;
  const dayMs = 24 * 60 * 60 * 1000;
  const refused = (type: string) => expect.objectContaining({ type });
  /** Each test begins another day, so that orders of one are not counted in the next. */
  let start = Date.UTC(2026, 11, 1);
  beforeEach(() => {
    start += 7 * dayMs;
  });

  const count = async (sql: string, ...values: unknown[]): Promise<number> =>
    (await pool.query<{ count: number }>(`select count(*)::int as count from ${sql}`, values)).rows[0]?.count ?? 0;
  /** What was made for a wallet: accounts, keys and payments, and nano-USD on its account. */
  const made = async ({ keyHash }: AskedWallet): Promise<(number | bigint)[]> => {
    const { rows } = await pool.query<{ id: string; nusd: string }>(
      'select a.id, a.balance_nusd as nusd from wallets w join accounts a on a.id = w.account_id where w.key_hash = $1',
      [keyHash],
    );
    const keys = await count('api_keys where hash = $1', keyHash);
    const payments = await count(
      "ledger_entries where ledger_account = 'wallet:' || $1 and amount_nusd > 0",
      rows[0]?.id,
    );
    return [rows.length, keys, payments, BigInt(rows[0]?.nusd ?? 0)];
  };
  const once = [1, 1, 1, 10_000_000_000n];
  const nothing = [0, 0, 0, 0n];
  const idOf = async ({ keyHash }: AskedWallet): Promise<string> =>
    (await pool.query<{ id: string }>('select id from orders where wallet_key_hash = $1', [keyHash])).rows[0]?.id ?? '';
  const tell = (deps: PlaceDependencies, id: string, event: Parameters<typeof applyEvent>[2]) =>
    applyEvent(deps, id, event, { source: 'webhook' });

  it('says where to pay, and makes account, key and credit once, whoever tells first and how often', async () => {
    const { rail, deps } = await till();
    const asked = wallet();
    const now = deps(start);
    const order = await orderWallet(now, asked);
    expect(order).toMatchObject({ status: 'pending', amount: 10, total: 10.5, pay_to: [payTo] });
    expect(order).not.toHaveProperty('checkout_url');
    expect(await orderWallet(now, asked)).toEqual(order);
    expect(await made(asked)).toEqual(nothing);
    expect(await count('accounts where id = (select account_id from orders where id = $1)', order?.id)).toBe(0);
    rail.observe = async () => ({ events: [paid], processing: false });
    const polled: unknown[] = [];
    await Promise.all([
      ...[1, 2, 3].map(() => tell(now, order?.id ?? '', paid)),
      ...[1, 2].map(() => reconcileOrders(deps(start + 60_000))),
      ...[1, 2, 3].map(async () => polled.push(await orderWallet(now, asked))),
    ]);
    expect(await made(asked)).toEqual(once);
    // A poll says either that it is unpaid, or that the wallet is there.
    for (const said of polled)
      expect([undefined, 'pending']).toContain((said as { status: string } | undefined)?.status);
    expect(await orderWallet(now, asked)).toBeUndefined();
    expect(
      await count(
        "receipts where order_id = $1 and account_name = 'Anonymous wallet' and account_email is null",
        order?.id,
      ),
    ).toBe(1);
  });

  it('is undone where control dies before the commit, and done by the next report', async () => {
    const { deps } = await till();
    const asked = wallet();
    await orderWallet(deps(start), asked);
    const died = new Error('control died');
    // The receipt names the seller, and comes after the money.
    const seller = {
      ...deps(start).seller,
      toJSON() {
        throw died;
      },
    };
    const dies = { ...deps(start), seller };
    await expect(tell(dies, await idOf(asked), paid)).rejects.toBe(died);
    expect([await made(asked), (await orderWallet(deps(start), asked))?.status]).toEqual([nothing, 'pending']);
    await tell(deps(start), await idOf(asked), paid);
    expect(await made(asked)).toEqual(once);
  });

  it('whose opener died is opened once, by a poll or the loop, after its lease', async () => {
    const { rail, deps } = await till();
    const asked = wallet();
    const opening = askedInVain(rail);
    void orderWallet(deps(start), asked);
    await opening;
    expect(await orderWallet(deps(start + openingLeaseMs - 1), asked)).toMatchObject({ status: 'created', pay_to: [] });
    const late = deps(start + openingLeaseMs);
    await Promise.all([orderWallet(late, asked), orderWallet(late, asked), reconcileOrders(late)]);
    expect(rail.opened).toEqual([await idOf(asked)]);
    expect(await orderWallet(late, asked)).toMatchObject({ status: 'pending', pay_to: [payTo] });
  });

  it('has its hashes alone: another request, wallet or key with one of them is a conflict', async () => {
    const { deps } = await till();
    for (const same of ['keyHash', 'closeHash'] as const) {
      const asked = wallet();
      const three = await Promise.allSettled(
        [asked, wallet({ [same]: asked[same] }), { ...asked, packageId: 'usd-25' }].map((each) =>
          orderWallet(deps(start), each),
        ),
      );
      expect(three.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      for (const each of three) if (each.status === 'rejected') expect(each.reason).toEqual(refused('conflict'));
      expect(
        await count('orders where wallet_key_hash = $1 or wallet_close_hash = $2', asked.keyHash, asked.closeHash),
      ).toBe(1);
    }

    const { accountId, defaultWorkspaceId } = await createAccount(pool, { userId: undefined, name: 'Ann' });
    const [keyId, first, rotated] = [randomUUID(), hash(), hash()];
    await pool.query(
      "insert into api_keys (id, account_id, workspace_id, created_by, kind, name, hash, preview) values ($1, $2, $3, $2, 'inference', 'x', $4, '')",
      [keyId, accountId, defaultWorkspaceId, first],
    );
    await pool.query("insert into key_secrets (hash, key_id, preview) values ($1, $2, '')", [rotated, keyId]);
    for (const keyHash of [first, rotated])
      await expect(orderWallet(deps(start), wallet({ keyHash }))).rejects.toEqual(refused('conflict'));
  });

  it.each(['expiry first', 'payment first', 'both at once'])('keeps a payment beside its expiry: %s', async (which) => {
    const { rail, deps } = await till();
    const asked = wallet();
    await orderWallet(deps(start), asked);
    const id = await idOf(asked);
    const over = deps(start + 61 * 60_000);
    const ends = () => reconcileOrders(over);
    const pays = () => tell(over, id, paid);
    if (which === 'both at once') await Promise.all([ends(), pays()]);
    else for (const step of which === 'expiry first' ? [ends, pays] : [pays, ends]) await step();
    expect(rail.opened).toHaveLength(1);
    expect([await made(asked), await orderWallet(over, asked)]).toEqual([once, undefined]);
  });

  /** An order for a wallet, and what remains of it some hours after it was placed. */
  const ageing = async () => {
    const { rail, deps } = await till();
    const asked = wallet();
    await orderWallet(deps(start), asked);
    const id = await idOf(asked);
    const passes = async (hours: number): Promise<number> => {
      const now = deps(start + hours * 60 * 60_000);
      await pool.query('update orders set next_check_at = $2 where id = $1 and next_check_at is not null', [
        id,
        new Date(now.now()),
      ]);
      await reconcileOrders(now);
      await forgetUnpaid(pool);
      return count('orders where id = $1', id);
    };
    return { rail, deps, asked, id, passes };
  };

  // Interleaving: the order expires, BTCPay sees the payment a little before it stops watching, and the chain confirms it later than
  // the rail is asked about an unpaid order. A webhook that comes then must find the order, and the loop must not need one.
  it.each(['told by its webhook', 'found by looking'])(
    'whose late payment takes days to confirm is kept for it: %s',
    async (how) => {
      const { rail, deps, asked, id, passes } = await ageing();
      expect(await passes(2)).toBe(1);
      rail.observe = async () => ({ events: [], processing: true });
      for (const hours of [20, 50, 61, 200]) expect(await passes(hours)).toBe(1);
      if (how === 'told by its webhook') await tell(deps(start + 201 * 60 * 60_000), id, paid);
      else {
        rail.observe = async () => ({ events: [paid], processing: false });
        expect(await passes(201)).toBe(1);
      }
      expect(await made(asked)).toEqual(once);
    },
  );

  it('is deleted two days after it expired unpaid, but not while its rail cannot be asked', async () => {
    const { rail, deps, asked, id, passes } = await ageing();
    expect(await passes(2)).toBe(1);
    expect(await orderWallet(deps(start + 2 * 60 * 60_000), asked)).toMatchObject({ status: 'expired', pay_to: [] });
    expect(await passes(48)).toBe(1);
    rail.observe = () => Promise.reject(new RailUnavailableError('unreachable'));
    expect(await passes(60)).toBe(1);
    rail.observe = async () => ({ events: [], processing: false });
    expect(await passes(61)).toBe(0);
    expect(await count('order_events where order_id = $1', id)).toBe(0);
  });

  it.each([
    ['paid partially', { type: 'noticed', flag: 'paid_partially' }, 'paid_partially'],
    ['paid in another currency', { ...paid, currency: 'EUR' }, 'currency_differs'],
    ['paid, but not confirmed', { type: 'failed', reason: 'payment_invalid' }, 'payment_invalid'],
  ] as const)('that was %s makes nothing, and is kept for the operator', async (_, event, code) => {
    const { deps } = await till();
    const asked = wallet();
    await orderWallet(deps(start), asked);
    const id = await idOf(asked);
    await tell(deps(start), id, event);
    await tell(deps(start), id, { type: 'expired' });
    expect(await orderWallet(deps(start), asked)).toMatchObject({ problem: { code }, pay_to: [] });
    await pool.query('update orders set next_check_at = null where id = $1', [id]);
    await forgetUnpaid(pool);
    expect([await count('orders where id = $1', id), await made(asked)]).toEqual([1, nothing]);
    // The confirmation may still come.
    await tell(deps(start), id, paid);
    expect(await made(asked)).toEqual(once);
  });

  it('is one of few in a minute, of all that anybody places', async () => {
    const { rail, deps } = await till();
    const orders = (nowMs: number) =>
      Promise.allSettled(Array.from({ length: walletOrdersAMinute + 3 }, () => orderWallet(deps(nowMs), wallet())));
    for (const nowMs of [start, start + 60_000]) {
      const placed = await orders(nowMs);
      const late = placed.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
      expect(late).toHaveLength(3);
      for (const reason of late) expect(reason).toMatchObject({ type: 'rate_limited', retryAfterS: 60 });
    }
    expect(rail.opened).toHaveLength(2 * walletOrdersAMinute);
  });

  it('is refused by name where nothing takes crypto, and for a package that is not sold', async () => {
    const { rail, deps } = await till();
    const off = { ...deps(start), rails: { card: undefined, crypto: undefined, test: undefined } };
    await expect(orderWallet(off, wallet())).rejects.toEqual(refused('rail_disabled'));
    await expect(orderWallet(deps(start), wallet({ packageId: 'none' }))).rejects.toEqual(refused('invalid_request'));
    // What was ordered before is answered all the same.
    const asked = wallet();
    rail.next = () => Promise.reject(new RailRefusedError('http_422'));
    await expect(orderWallet(deps(start), asked)).rejects.toEqual(refused('rail_error'));
    expect(await orderWallet(off, asked)).toMatchObject({ status: 'failed', problem: { code: 'refused' } });
  });
});

import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestPostgres, type TestPostgres } from '../../../../../test/kit/postgres.ts';
import { createAccount } from '../../accounts/ensure-account.ts';
import { type DatabaseConnection, migrateDatabase, openDatabase } from '../../database/database.ts';
import { controlEvents } from '../../events.ts';
import { parseBilling } from '../billing-plan.ts';
import { builtInBilling } from '../billing-settings.ts';
import type { Opened, PaymentRail, RailOrder } from '../rails/rail.ts';
import { openingLeaseMs } from './order-record.ts';
import { type AskedOrder, type PlaceDependencies, placeOrder } from './place-order.ts';

let postgres: TestPostgres;
let database: DatabaseConnection;
beforeAll(async () => {
  postgres = await startTestPostgres();
  const url = await postgres.createDatabase();
  await migrateDatabase(url);
  database = openDatabase(url);
});
afterAll(async () => {
  await database?.close();
  await postgres?.stop();
});

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
    return { reference: `invoice-${this.opened.length}`, checkoutUrl: 'https://pay.example', events: [] };
  }

  observe = async () => ({ events: [], processing: false });
  close = async () => {};
}

async function till(): Promise<{ rail: CountingRail; place: (nowMs: number) => ReturnType<typeof placeOrder> }> {
  const plan = parseBilling(await readFile(builtInBilling, 'utf8'));
  if (!plan.ok) throw new Error('no plan');
  const { accountId } = await createAccount(database.pool, { userId: undefined, name: 'Ann' });
  const rail = new CountingRail();
  const [packageId = ''] = plan.value.packages.keys();
  const asked: AskedOrder = { accountId, packageId, rail: 'crypto', saveCard: false, formId: randomUUID() };
  const deps = (nowMs: number): PlaceDependencies => ({
    pool: database.pool,
    plan: plan.value,
    rails: { card: undefined, crypto: rail, test: undefined },
    events: controlEvents(pino({ level: 'silent' })),
    project: async () => {},
    seller: plan.value.file.seller,
    now: () => nowMs,
  });
  return { rail, place: (nowMs) => placeOrder(deps(nowMs), asked) };
}

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

import { readFile } from 'node:fs/promises';
import { orderTotal } from '@sotto/money';
import { startTestPostgres, type TestPostgres } from '@sotto/test-servers';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createAccount } from '../../accounts/ensure-account.ts';
import { type DatabaseConnection, openDatabase } from '../../database/database.ts';
import { controlEvents } from '../../events.ts';
import { writeSettings } from '../account-settings.ts';
import { parseBilling } from '../billing-plan.ts';
import { builtInBilling } from '../billing-settings.ts';
import type { PaymentRail, RailOrder, SavedCards } from '../rails/rail.ts';
import { topUpAccounts } from './auto-top-up.ts';

let postgres: TestPostgres;
let processes: DatabaseConnection[];
beforeAll(async () => {
  postgres = await startTestPostgres();
  const url = await postgres.createDatabase();
  processes = [1, 2, 3, 4].map(() => openDatabase(url));
});
afterAll(async () => {
  for (const { close } of processes) await close();
  await postgres?.stop();
});

it('charges a card once when several processes see the same low balance at once', async () => {
  const [first] = processes;
  const plan = parseBilling(await readFile(builtInBilling, 'utf8'));
  if (!plan.ok || first === undefined) throw new Error('no plan');
  const [bought] = plan.value.packages.values();
  if (bought === undefined) throw new Error('no package');
  const { accountId } = await createAccount(first.pool, { userId: undefined, name: 'Ann' });
  await writeSettings(first.pool, accountId, {
    receiptDetails: undefined,
    lowBalanceNusd: undefined,
    auto: { enabled: true, thresholdNusd: 1n, packageId: bought.id, monthlyLimitNusd: 10n * orderTotal(bought) },
  });
  const charged: string[] = [];
  const cards: PaymentRail & SavedCards = {
    name: 'card',
    savedCard: async () => 'card-1',
    open: async (order: RailOrder) => {
      charged.push(order.id);
      const paidNusd = orderTotal(order);
      const paid = { type: 'paid', payment: `payment-${order.id}`, paidNusd, currency: 'USD' } as const;
      return { reference: `charge-${order.id}`, checkoutUrl: undefined, events: [paid] };
    },
    observe: async () => ({ events: [], processing: false }),
    close: async () => {},
  };
  const lookAt = ({ pool }: DatabaseConnection) =>
    topUpAccounts({
      pool,
      plan: plan.value,
      rails: { card: cards, crypto: undefined, test: undefined },
      cards,
      events: controlEvents(pino({ level: 'silent' })),
      project: async () => {},
      seller: plan.value.file.seller,
      now: () => Date.UTC(2026, 10, 21),
    });
  await Promise.all([...processes, ...processes].map(lookAt));
  expect(charged).toHaveLength(1);
  await Promise.all(processes.map(lookAt));
  expect(charged).toHaveLength(1);
  const { rows } = await first.pool.query('select balance_nusd from accounts where id = $1', [accountId]);
  expect(rows).toEqual([{ balance_nusd: String(bought.amountNusd) }]);
});

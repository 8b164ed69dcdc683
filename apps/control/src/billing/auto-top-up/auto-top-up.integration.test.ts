import { readFile } from 'node:fs/promises';
import { orderTotal } from '@sotto/money';
import { startTestPostgres, type TestPostgres, until } from '@sotto/test-servers';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAccount } from '../../accounts/ensure-account.ts';
import { type DatabaseConnection, openDatabase } from '../../database/database.ts';
import { controlEvents } from '../../events.ts';
import { writeSettings } from '../account-settings.ts';
import { type Package, parseBilling } from '../billing-plan.ts';
import { builtInBilling } from '../billing-settings.ts';
import type { PaymentRail, RailOrder, SavedCards } from '../rails/rail.ts';
import { topUpAccounts } from './auto-top-up.ts';

let postgres: TestPostgres;
let processes: [DatabaseConnection, DatabaseConnection, ...DatabaseConnection[]];
beforeAll(async () => {
  postgres = await startTestPostgres();
  const url = await postgres.createDatabase();
  processes = [openDatabase(url), openDatabase(url), openDatabase(url), openDatabase(url)];
});
afterAll(async () => {
  for (const { close } of processes) await close();
  await postgres?.stop();
});

/** Creates an account without balance whose top-up by the smaller of two packages is due. Its card is `card-1`. */
async function dueAccount() {
  const [{ pool }] = processes;
  const plan = parseBilling(await readFile(builtInBilling, 'utf8'));
  if (!plan.ok) throw new Error('no plan');
  const [small, large] = plan.value.packages.values();
  if (small === undefined || large === undefined) throw new Error('no packages');
  const { accountId } = await createAccount(pool, { userId: undefined, name: 'Ann' });
  const save = (bought: Package, monthlyLimitNusd = 10n * orderTotal(bought)): Promise<unknown> =>
    writeSettings(pool, accountId, {
      receiptDetails: undefined,
      lowBalanceNusd: undefined,
      auto: { enabled: true, thresholdNusd: 1n, packageId: bought.id, monthlyLimitNusd },
    });
  await save(small);
  const charged: bigint[] = [];
  const topUp = ({ pool }: DatabaseConnection, savedCard: SavedCards['savedCard'] = async () => 'card-1') => {
    const cards: PaymentRail & SavedCards = {
      name: 'card',
      savedCard,
      open: async (order: RailOrder) => {
        const paidNusd = orderTotal(order);
        charged.push(paidNusd);
        const paid = { type: 'paid', payment: `payment-${order.id}`, paidNusd, currency: 'USD' } as const;
        return { reference: `charge-${order.id}`, checkoutUrl: undefined, events: [paid] };
      },
      observe: async () => ({ events: [], processing: false }),
      close: async () => {},
    };
    return topUpAccounts({
      pool,
      plan: plan.value,
      rails: { card: cards, crypto: undefined, test: undefined },
      cards,
      events: controlEvents(pino({ level: 'silent' })),
      project: async () => {},
      seller: plan.value.file.seller,
      now: () => Date.UTC(2026, 10, 21),
    });
  };
  const read = async (columns: string): Promise<unknown> => {
    const { rows } = await pool.query(
      `select ${columns} from accounts a join billing_settings s on s.account_id = a.id where a.id = $1`,
      [accountId],
    );
    return rows[0];
  };
  return { pool, accountId, small, large, save, charged, topUp, read };
}

it('charges a card once when several processes see the same low balance at once', async () => {
  const { small, charged, topUp, read } = await dueAccount();
  await Promise.all([...processes, ...processes].map((each) => topUp(each)));
  expect(charged).toEqual([orderTotal(small)]);
  await Promise.all(processes.map((each) => topUp(each)));
  expect(charged).toHaveLength(1);
  expect(await read('balance_nusd')).toEqual({ balance_nusd: String(small.amountNusd) });
});

// Interleaving: a round reads the settings, then waits for Stripe's list of cards. The person saves other settings in that time.
describe('settings that are saved while a round waits for the card', () => {
  it('decide the package that is charged', async () => {
    const { small, large, save, charged, topUp } = await dueAccount();
    await save(large);
    await topUp(processes[0], async () => {
      await save(small);
      return 'card-1';
    });
    expect(charged).toEqual([]);
    await topUp(processes[0]);
    expect(charged).toEqual([orderTotal(small)]);
  });

  // The person's transaction has written and not committed when the order is about to be created, so the order must wait for it.
  it('decide the monthly limit, even if they are committed last', async () => {
    const { pool, accountId, charged, topUp } = await dueAccount();
    const person = await pool.connect();
    let round: Promise<void> | undefined;
    try {
      await person.query('begin');
      await person.query('update billing_settings set auto_monthly_limit_nusd = 1 where account_id = $1', [accountId]);
      round = topUp(processes[1]);
      await until(async () => {
        const { rowCount } = await pool.query(
          "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
        );
        return charged.length > 0 || rowCount === 1;
      }, 'the order is charged, or waits');
      await person.query('commit');
    } finally {
      person.release();
    }
    await round;
    expect(charged).toEqual([]);
    await topUp(processes[0]);
    expect(charged).toEqual([]);
  });

  it('are not paused for the card that was missing before', async () => {
    const { small, large, save, charged, topUp, read } = await dueAccount();
    await topUp(processes[0], async () => {
      await save(large);
      return undefined;
    });
    const state = 'auto_paused, auto_outcome';
    expect(await read(state)).toEqual({ auto_paused: null, auto_outcome: null });
    await save(small);
    await topUp(processes[0], async () => undefined);
    expect(await read(state)).toEqual({ auto_paused: 'no_saved_card', auto_outcome: 'no_saved_card' });
    expect(charged).toEqual([]);
  });
});

import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { costOf } from '../kit/books.ts';
import { oneModel } from '../kit/catalog.ts';
import { ask } from '../kit/client.ts';
import { type OwnPostgres, startOwnPostgres } from '../kit/postgres.ts';
import { answerChat, type FakeProvider, startProvider } from '../kit/provider.ts';
import { type Service, startService, type TestAccount, until } from '../kit/service.ts';
import { thoroughly } from '../kit/thoroughly.ts';

const credited = 10_000_000_000n;
const price = costOf({ prompt: 10, completion: 20 }, { input: 1, output: 2 });
/** The tables that the statements of a booking need, and how each of these begins. */
const statements = {
  accounts: 'select id, wallet_id, balance_nusd',
  settlements: 'insert into settlements',
  api_keys: 'update api_keys',
  key_months: 'insert into key_months',
  ledger_transactions: 'insert into ledger_transactions',
  ledger_entries: 'insert into ledger_transactions',
  usage: 'insert into usage',
  usage_daily_keys: 'insert into usage',
} as const;

const inEachRun = new Set(['settlements', 'usage']);

let postgres: OwnPostgres;
let provider: FakeProvider;
let service: Service;
let databaseUrl: string;
beforeAll(async () => {
  postgres = await startOwnPostgres({ durability: 'full' });
  provider = await startProvider(answerChat());
  databaseUrl = await postgres.createDatabase();
  service = await startService({ planes: 'one', databaseUrl, ...oneModel(provider) });
});
afterAll(async () => {
  await service?.stop();
  await provider?.stop();
  await postgres?.stop();
});

const chat = ({ inferenceKey }: TestAccount, at: Service = service) =>
  ask(at, inferenceKey, { model: 'm/one' }, { deadlineMs: 60_000 });

/** Runs a test while no statement can use a table. `isWaiting` tells whether a statement that begins so waits for that. */
async function heldUp<T>(
  table: string,
  test: (isWaiting: (statement: string) => Promise<boolean>) => Promise<T>,
): Promise<T> {
  const holder = new pg.Client({ connectionString: databaseUrl });
  await holder.connect();
  try {
    await holder.query(`begin; lock table ${table} in access exclusive mode`);
    return await test(async (statement) => {
      // Not in the holder's transaction, which sees the sessions as they were at its first look.
      const { rowCount } = await service.pool.query(
        `select 1 from pg_stat_activity where wait_event_type = 'Lock' and position($1 in query) > 0
           and pid <> pg_backend_pid() and datname = current_database()`,
        [statement],
      );
      return rowCount !== 0;
    });
  } finally {
    await holder.end();
  }
}

/** Returns the number of charges of an account that the ledger has. Throws if the ledger disagrees with itself. */
async function charges({ accountId }: TestAccount): Promise<number> {
  const { rows } = await service.pool.query<{ used: string; spent: string; balance: string }>(
    `select (select count(*) from usage where account_id = $1) as used,
       (select coalesce(sum(m.spent_nusd), 0) from key_months m join api_keys k on k.id = m.key_id where k.account_id = $1) as spent,
       (select balance_nusd from accounts where id = $1) as balance`,
    [accountId],
  );
  const [row] = rows;
  const count = Number(row?.used);
  expect(row).toEqual({
    used: String(count),
    spent: String(price * BigInt(count)),
    balance: String(credited - price * BigInt(count)),
  });
  return count;
}

// The interleaving: the process, and with it the memory that holds the charge, dies between two statements of the transaction that
// books it. Then nothing of the transaction stays: the charge is lost, and no part of it is booked.
describe('the default start, killed while it books an answer', () => {
  for (const [table, statement] of Object.entries(statements)) {
    const run = inEachRun.has(table) ? it : thoroughly;
    run(`at the statement that needs ${table}, has booked nothing of it, and all of the next one`, async () => {
      const account = await service.createAccount();
      expect((await chat(account)).status).toBe(200);
      // An answer leaves after 250 ms, booked or not.
      await until(async () => (await charges(account)) === 1, 'the first answer is booked');
      await heldUp(table, async (isWaiting) => {
        const answer = chat(account);
        await until(() => isWaiting(statement), `the booking waits for ${table}`);
        await service.broker.kill9();
        await answer;
      });
      await service.broker.restart();
      expect(await charges(account)).toBe(1);
      const { reserved } = (await (
        await fetch(`${service.controlUrl}/balance`, { headers: { authorization: `Bearer ${account.managementKey}` } })
      ).json()) as { reserved: number };
      expect(reserved).toBe(0);
      expect((await chat(account)).status).toBe(200);
      await until(async () => (await charges(account)) === 2, 'the next answer is booked');
      expect(await service.runControl(['audit'])).toMatchObject({ code: 0 });
    });
  }

  it('after the commit and before its client has the answer, has booked it once', async () => {
    const account = await service.createAccount();
    for (let round = 1; round <= 2; round += 1) {
      const asked = chat(account);
      await until(async () => {
        const { rows } = await service.pool.query('select 1 from usage where account_id = $1', [account.accountId]);
        return rows.length === round;
      }, 'the answer is booked');
      await service.broker.kill9();
      await asked;
      await service.broker.restart();
      expect(await charges(account)).toBe(round);
    }
    expect(await service.runControl(['audit'])).toMatchObject({ code: 0 });
  });
});

import { randomUUID } from 'node:crypto';
import { until, whileHeld } from '@sotto/test-servers';
import { describe, expect, it } from 'vitest';
import { deleteAccount } from '../../account-deletion/delete-account.ts';
import { createAccount } from '../../accounts/ensure-account.ts';
import { auditLedger } from '../../money-audit/audit-ledger.ts';
import { createPerson } from '../../sessions/create-person.ts';
import { openTestDatabase } from '../../testing/test-database.integration.ts';
import { adviseOnEmpty, setMonthlyGrant } from './account-grant.ts';
import { forgetIdentities, rememberIdentities } from './grant-identities.ts';
import { findDue, giveGrant } from './monthly-grants.ts';

const { pool } = await openTestDatabase();
const [november, december] = ['2026-11', '2026-12'];
const actor = { kind: 'command_line' } as const;
const terms = { month: november, defaultNusd: 20n, needsVerified: true };

const fresh = (): string => randomUUID();
const addressOf = (local: string): string => `${local}@people.example`;

async function signUp(local = fresh(), { subject }: { readonly subject?: string } = {}) {
  const person = await createPerson(pool, { email: addressOf(local), name: 'x' });
  if (person === undefined) throw new Error('the address has a user');
  if (subject !== undefined) await link(person.userId, subject);
  return person;
}
type SignedUp = Awaited<ReturnType<typeof signUp>>;

const link = (userId: string, subject: string) =>
  pool.query("insert into auth_account (id, account_id, provider_id, user_id) values ($1, $2, 'openid', $3)", [
    ...[fresh(), subject, userId],
  ]);
const move = ({ userId }: SignedUp, local: string) =>
  pool.query('update auth_user set email = $2 where id = $1', [userId, addressOf(local)]);
const give = ({ accountId }: { readonly accountId: string }, more: Partial<typeof terms> = {}) =>
  giveGrant(pool, accountId, { ...terms, ...more });
const leave = async ({ userId }: SignedUp, month = november): Promise<void> => {
  expect(await deleteAccount(pool, userId, { month })).toEqual({ accountId: expect.any(String) });
};
const grantOf = async ({ accountId }: { readonly accountId: string }, month = november): Promise<number> => {
  const { rows } = await pool.query<{ sum: number }>(
    `select coalesce(sum(e.amount_nusd), 0)::int as sum from ledger_entries e
     join ledger_transactions t on t.id = e.transaction_id
     where t.kind = 'grant' and e.ledger_account = 'wallet:' || $1 and split_part(t.reference, ':', 3) = $2`,
    [accountId, month],
  );
  return rows[0]?.sum ?? 0;
};
const granted = async (local: string, more: Parameters<typeof signUp>[1] = {}): Promise<number> => {
  const person = await signUp(local, more);
  await give(person);
  return grantOf(person);
};
const isDue = async ({ accountId }: { readonly accountId: string }, more: Partial<typeof terms> = {}) =>
  (await findDue(pool, { ...terms, ...more })).includes(accountId);

describe('an identity gets one grant a month', () => {
  it('whatever accounts its address had, with a tag or without', async () => {
    const name = fresh();
    const first = await signUp(name);
    await give(first);
    expect(await grantOf(first)).toBe(20);
    await leave(first);
    const second = await signUp(name);
    expect(await isDue(second)).toBe(true);
    await give(second);
    await give(second);
    expect(await grantOf(second)).toBe(0);
    // Otherwise a task would look at it every few seconds.
    expect(await isDue(second)).toBe(false);
    expect(await granted(`${name}+again`)).toBe(0);
    expect(await granted(fresh())).toBe(20);
  });

  it('whatever address an OpenID subject had', async () => {
    const subject = fresh();
    const person = await signUp(fresh(), { subject });
    await give(person);
    await leave(person);
    expect(await granted(fresh(), { subject })).toBe(0);
    expect(await granted(fresh(), { subject: fresh() })).toBe(20);
  });

  it('also the ones that an account had later, in any order', async () => {
    const [one, other, subject] = [fresh(), fresh(), fresh()];
    const person = await signUp(one);
    await give(person);
    for (const local of [other, one, other]) {
      await move(person, local);
      await give(person);
    }
    await link(person.userId, subject);
    await give(person);
    expect(await grantOf(person)).toBe(20);
    expect(await granted(one)).toBe(0);
    await leave(person);
    expect(await granted(other)).toBe(0);
    expect(await granted(fresh(), { subject })).toBe(0);
  });

  it('also the ones that an account had when it was deleted, if the change was not noted', async () => {
    const [one, other] = [fresh(), fresh()];
    const person = await signUp(one);
    await give(person);
    await move(person, other);
    await leave(person);
    expect(await granted(other)).toBe(0);
  });

  it('and those of a refused account', async () => {
    const [name, subject] = [fresh(), fresh()];
    expect(await granted(name)).toBe(20);
    const refused = await signUp(`${name}+1`, { subject });
    await give(refused);
    await leave(refused);
    expect(await granted(fresh(), { subject })).toBe(0);
  });

  it('but an account is not refused for a change of its own before the grant', async () => {
    const person = await signUp();
    await give(person);
    await move(person, fresh());
    await give(person, { month: december });
    expect(await grantOf(person, december)).toBe(20);
  });

  it('and a new one the next month', async () => {
    const name = fresh();
    const person = await signUp(name);
    await give(person);
    await leave(person);
    const again = await signUp(name);
    await give(again);
    expect(await grantOf(again)).toBe(0);
    await give(again, { month: december });
    expect(await grantOf(again, december)).toBe(20);
  });

  // Otherwise a stranger could use up the grant of an address.
  it('but not before its address is verified, where mail is sent', async () => {
    const name = fresh();
    const stranger = await signUp(`${name}+x`);
    await pool.query('update auth_user set email_verified = false where id = $1', [stranger.userId]);
    expect(await isDue(stranger)).toBe(false);
    expect(await isDue(stranger, { needsVerified: false })).toBe(true);
    await give(stranger);
    expect(await grantOf(stranger)).toBe(0);
    expect(await granted(name)).toBe(20);
  });

  it('while an account without a user has no identity', async () => {
    const accounts = [1, 2].map(() => createAccount(pool, { userId: undefined, name: 'a program' }));
    for (const account of await Promise.all(accounts)) {
      await give(account);
      expect(await grantOf(account)).toBe(20);
    }
  });

  it('while an operator can give a refused account an amount of its own', async () => {
    const name = fresh();
    expect(await granted(name)).toBe(20);
    const refused = await signUp(`${name}+1`);
    await give(refused);
    const now = () => Date.parse('2026-11-15T00:00:00Z');
    const advice = await adviseOnEmpty({ pool, monthlyGrantNusd: 20n, now }, refused.accountId);
    expect(advice).toMatch(/^Another account with your address or sign-in had the grant of this month\. .*2026-12-01/);
    await setMonthlyGrant(pool, { accountId: refused.accountId, amountNusd: 50n, actor });
    expect(await isDue(refused)).toBe(true);
    await give(refused);
    await give(refused);
    expect(await grantOf(refused)).toBe(50);
    expect(await isDue(refused)).toBe(false);
  });

  it('so a deletion does not replace an amount of the operator’s by the default', async () => {
    const name = fresh();
    const person = await signUp(name);
    await setMonthlyGrant(pool, { accountId: person.accountId, amountNusd: 0n, actor });
    await give(person);
    await leave(person);
    expect(await granted(name)).toBe(0);
  });
});

describe('at the same moment', () => {
  it('accounts of one identity: exactly one gets the grant', async () => {
    const name = fresh();
    const people = await Promise.all(
      Array.from({ length: 9 }, (_, index) => signUp(`${name}+${index}`, { subject: fresh() })),
    );
    await Promise.all([...people, ...people].map((person) => give(person)));
    const sums = await Promise.all(people.map((person) => grantOf(person)));
    expect(sums.filter((sum) => sum > 0)).toEqual([20]);
  });

  it('several processes that need the key of a new month: they use one', async () => {
    const name = fresh();
    const people = await Promise.all(Array.from({ length: 6 }, (_, index) => signUp(`${name}+${index}`)));
    await Promise.all(people.map((person) => give(person, { month: '2027-03' })));
    const sums = await Promise.all(people.map((person) => grantOf(person, '2027-03')));
    expect(sums.filter((sum) => sum > 0)).toEqual([20]);
    expect((await pool.query("select 1 from grant_keys where month = '2027-03'")).rowCount).toBe(1);
  });

  it.each([
    ['commit', 0],
    ['rollback', 20],
  ])('a grant waits for another of the same identity, which ends by %s', async (end, expected) => {
    const name = fresh();
    const person = await signUp(`${name}+1`);
    const other = await pool.connect();
    try {
      await other.query('begin');
      const address = { email: addressOf(name), isVerified: true };
      expect(await rememberIdentities(other, november, { address, subjects: [] })).toBe(true);
      const giving = give(person);
      await until(async () => {
        const { rowCount } = await pool.query(
          "select from pg_stat_activity where wait_event_type = 'Lock' and query like 'insert into grant_identities%'",
        );
        return rowCount === 1;
      }, 'the grant waits');
      await other.query(end);
      await giving;
      expect(await grantOf(person)).toBe(expected);
    } finally {
      other.release();
    }
  });

  it.each(['deletion first', 'grant first'])('a deletion and the grant (%s): the identity gets one', async (order) => {
    const name = fresh();
    const person = await signUp(name);
    const calls = [() => leave(person), () => give(person)];
    await whileHeld(
      pool,
      {
        rows: 'select 1 from accounts where id = $1 for update',
        values: [person.accountId],
        waiting: 'select ',
      },
      order === 'grant first' ? calls.toReversed() : calls,
    );
    const again = await signUp(name);
    await give(again);
    expect((await grantOf(person)) + (await grantOf(again))).toBe(20);
  });
});

describe('what is remembered', () => {
  it('names no account, and is gone with its key an hour after the month', async () => {
    const person = await signUp();
    await give(person);
    const columns = await pool.query<{ column_name: string }>(
      "select column_name from information_schema.columns where table_name = 'grant_identities' order by 1",
    );
    expect(columns.rows.map(({ column_name }) => column_name)).toEqual(['hash', 'month']);
    const counts = async () => {
      const { rows } = await pool.query<{ keys: number; hashes: number; refused: number }>(
        `select (select count(*)::int from grant_keys where month = $1) as keys,
           (select count(*)::int from grant_identities where month = $1) as hashes,
           (select count(*)::int from monthly_grants where month = $1 and (refused or amount_nusd = 0)) as refused`,
        [november],
      );
      return rows[0];
    };
    await forgetIdentities(pool, Date.parse('2026-12-01T00:59:59Z'));
    expect(await counts()).toMatchObject({ keys: 1 });
    expect((await counts())?.refused).toBeGreaterThan(0);
    await forgetIdentities(pool, Date.parse('2026-12-01T01:00:00Z'));
    expect(await counts()).toEqual({ keys: 0, hashes: 0, refused: 0 });
  });

  it('leaves the books right', async () => {
    expect(await auditLedger(pool)).toEqual([]);
  });
});

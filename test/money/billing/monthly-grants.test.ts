import { randomUUID } from 'node:crypto';
import { monthlyGrantAnswerSchema } from '@sotto/contract/control/billing';
import { expect, it } from 'vitest';
import type { Answer } from '../../kit/answer.ts';
import { usageOf } from '../../kit/books.ts';
import { ask, type Flow, mint } from '../../kit/client.ts';
import { expectError } from '../../kit/expect-error.ts';
import { openMovedClocks } from '../../kit/moved-clock.ts';
import { type Person, peopleOf } from '../../kit/people.ts';
import { scripted } from '../../kit/scripted-provider.ts';
import { get, post, send } from '../../kit/send.ts';
import { until } from '../../kit/service.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';

const grantUsd = 1;
/** A thousand completion tokens cost the whole grant. */
const pricing = { input: 0, output: 1000 };

/** A user with a key. */
interface Customer extends Person {
  readonly key: string;
}

await describeStage(
  'a service without payments',
  async () => {
    const clocks = await openMovedClocks();
    return {
      providers: { alpha: { server: 'scripted' } },
      models: { 'm/one': { routes: { alpha: { pricing } } }, 'm/free': { routes: { alpha: [0, 0] } } },
      environment: { BILLING: 'none', MONTHLY_GRANT_USD: String(grantUsd) },
      own: { control: clocks.node },
      standIns: { clocks },
      stop: () => clocks.stop(),
    };
  },
  (stage) => {
    const url = (path: string): string => `${stage.service.controlUrl}${path}`;
    const people = peopleOf(stage);

    const customer = async (): Promise<Customer> => {
      // Signed up at the front door, because that gives the first grant.
      const [email, password] = [`${randomUUID()}@people.example`, 'correct horse battery'];
      expect((await post(url('/auth/sign-up/email'), { name: 'x', email, password })).status).toBe(200);
      const session = await people.signIn({ email, password });
      const { id: accountId } = (await get(url('/account'), session)).json as { id: string };
      const person = { email, password, accountId, session };
      await people.verifyAddress(person);
      const made = await post(url('/keys'), { name: 'x', kind: 'inference' }, person.session);
      expect(made.status, made.text).toBe(201);
      return { ...person, key: (made.json as { key: string }).key };
    };
    const chat = ({ key }: Customer, flow: Flow, { model = 'm/one', tokens = 1000 } = {}): Promise<Answer> => {
      const act = { kind: 'answer', usage: usageOf(10, tokens) } as const;
      const messages = [{ role: 'user', content: scripted({ alpha: act }) }];
      return ask(stage.service, key, { model, max_completion_tokens: tokens, messages }, { flow });
    };
    const balance = async ({ session }: Person) => (await get(url('/balance'), session)).json;
    const hasLeft = (person: Person, usd: number): Promise<void> =>
      until(
        async () =>
          JSON.stringify(await balance(person)) === JSON.stringify({ currency: 'USD', available: usd, reserved: 0 }),
        `${usd} USD are available`,
      );
    const grantOf = async ({ session }: Person) =>
      monthlyGrantAnswerSchema.parse((await get(url('/billing/grant'), session)).json);

    it.each<Flow>(['ticket', 'compatibility'])('serves a fresh account from its grant (%s)', async (flow) => {
      const person = await customer();
      expect(await balance(person)).toEqual({ currency: 'USD', available: grantUsd, reserved: 0 });
      const answer = await chat(person, flow, { tokens: 400 });
      expect(answer.status, answer.text).toBe(200);
      await hasLeft(person, 0.6);
      await until(async () => (await grantOf(person)).spent === 0.4, 'the request is booked');
      expect(await grantOf(person)).toMatchObject({ amount: grantUsd, next_amount: grantUsd });
    });

    it('expires the grant of a deleted account, which forfeits nothing', async () => {
      const person = await customer();
      expect((await chat(person, 'compatibility', { tokens: 400 })).status).toBe(200);
      const { email, password } = person;
      expect((await post(url('/auth/delete-account'), { email, password }, person.session)).status).toBe(200);
      const { pool } = stage.service;
      const closed = async () =>
        (await pool.query('select 1 from accounts where id = $1 and closed_at is not null', [person.accountId]))
          .rowCount;
      await until(async () => (await closed()) === 1, 'the account is closed');
      const { rows } = await pool.query('select spent_nusd, expired_nusd from monthly_grants where account_id = $1', [
        person.accountId,
      ]);
      expect(rows).toEqual([{ spent_nusd: '400000000', expired_nusd: '600000000' }]);
      const forfeited = await pool.query('select 1 from ledger_transactions where reference = $1', [
        `account_deleted:${person.accountId}`,
      ]);
      expect(forfeited.rows).toEqual([]);
      const audit = await stage.service.runControl(['audit']);
      expect(audit.code, audit.output).toBe(0);
    });

    it('says when a used-up grant renews, and still serves models that cost nothing', async () => {
      const person = await customer();
      expect((await chat(person, 'compatibility')).status).toBe(200);
      await hasLeft(person, 0);
      const refused = await mint(stage.service, person.key, { model: 'm/one' });
      expect([refused.status, refused.error?.type]).toEqual([402, 'insufficient_balance']);
      const { renews_at: renewsAt } = await grantOf(person);
      expect(refused.error?.message).toContain(`renews on ${renewsAt.slice(0, 10)} 00:00 UTC`);
      expect((await chat(person, 'compatibility')).status).toBe(402);
      // An exhausted budget does not stop them either.
      const workspace = (await get(url('/workspaces'), person.session)).json as { data: { id: string }[] };
      const budget = await send('PUT', url(`/workspaces/${workspace.data[0]?.id}/budgets`), {
        headers: person.session,
        body: { limit_usd: 0 },
      });
      expect(budget.status, budget.text).toBe(200);
      for (const flow of ['ticket', 'compatibility'] as const) {
        const answer = await chat(person, flow, { model: 'm/free' });
        expect(answer.status, answer.text).toBe(200);
      }
      await hasLeft(person, 0);
    });

    it('sells nothing', async () => {
      const { session } = await customer();
      const catalog = (await get(url('/billing/catalog'))).json;
      expect(catalog).toMatchObject({ mode: 'none', packages: [], rails: { test: { enabled: false } } });
      const order = await post(url('/billing/orders'), { package_id: 'usd-10', rail: 'test' }, session);
      expectError(order, 503, 'rail_disabled');
      expect(order.text).toContain('takes no payments');
      const auto = { enabled: false, threshold_usd: 5, package_id: 'usd-10', monthly_limit_usd: 50 };
      const put = (body: object) => send('PUT', url('/billing/settings'), { headers: session, body });
      expectError(await put({ low_balance_usd: null, auto_top_up: auto }), 503, 'rail_disabled');
      expect((await put({ low_balance_usd: 1, auto_top_up: null })).status).toBe(200);
    });

    it('gives an account what the command line sets, in this month if it is more', async () => {
      const person = await customer();
      const grant = (usd: string) => stage.service.runControl(['account', 'grant', person.email, usd]);
      expect(await grant('2.5')).toMatchObject({ code: 0 });
      await hasLeft(person, 2.5);
      expect((await grant('0')).code).toBe(0);
      expect(await grantOf(person)).toMatchObject({ amount: 2.5, next_amount: 0 });
      expect(await grant('five')).toMatchObject({ code: 2, output: expect.stringContaining('"five"') });
      expect(await grant('default')).toMatchObject({ code: 0 });
      expect(await grantOf(person)).toMatchObject({ next_amount: grantUsd });
    });

    it('gives each account exactly its grant in the next month, whatever was left of the last one', async () => {
      const [idle, thrifty, spent] = [await customer(), await customer(), await customer()];
      expect((await chat(thrifty, 'ticket', { tokens: 250 })).status).toBe(200);
      expect((await chat(spent, 'ticket')).status).toBe(200);
      await hasLeft(thrifty, 0.75);
      const { month, renews_at: renewsAt } = await grantOf(idle);
      stage.standIns.clocks.setNode(Math.ceil((Date.parse(renewsAt) - Date.now()) / 1000) + 60);
      for (const person of [spent, thrifty, idle]) await hasLeft(person, grantUsd);
      const used = async () => {
        const { rows } = await stage.service.pool.query<{ spent: number; expired: number }>(
          `select spent_nusd::float8 / 1e9 as spent, expired_nusd::float8 / 1e9 as expired from monthly_grants
           where month = $1 and account_id = any($2::uuid[]) order by 1`,
          [month, [idle, thrifty, spent].map(({ accountId }) => accountId)],
        );
        return rows;
      };
      const isOver = async () => (await used()).every((grant) => grant.spent + grant.expired === grantUsd);
      await until(isOver, 'the grants of the last month have expired');
      expect(await used()).toEqual([
        { spent: 0, expired: 1 },
        { spent: 0.25, expired: 0.75 },
        { spent: 1, expired: 0 },
      ]);
      expect((await chat(spent, 'ticket')).status).toBe(200);
      await hasLeft(spent, 0);
      const audit = await stage.service.runControl(['audit']);
      expect(audit.code, audit.output).toBe(0);
    });
  },
  { planes: ['two'] },
);

import { randomUUID } from 'node:crypto';
import { whileHeld } from '@sotto/test-servers';
import { describe, expect, it } from 'vitest';
import { bearer, hello } from '../../kit/client.ts';
import { expectError } from '../../kit/expect-error.ts';
import { type Person, peopleOf } from '../../kit/people.ts';
import { answerChat } from '../../kit/provider.ts';
import { get, post } from '../../kit/send.ts';
import { until } from '../../kit/service.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';

const model = 'acme/small';
/** 10 prompt and 20 completion tokens, in nano-USD. */
const chargeNusd = 10n * 500n + 20n * 1500n;
const fundedNusd = 5_000_000_000n;
const insertOrder = `
  insert into orders
    (id, account_id, status, rail, package_id, amount_nusd, fee_nusd, automatic, save_card, created_at, expires_at)
  values (gen_random_uuid(), $1, $2, 'test', 'p', 1, 0, false, false, now(), now() + interval '1 hour')`;

const notebook = {
  ...{ name: 'Notebook of Ann', homepage: 'https://ann.example', type: 'public', scopes: ['openid'] },
  redirect_uris: ['https://ann.example/callback'],
};

await describeStage(
  'deleting an account',
  { providers: { acme: {} }, models: { [model]: { routes: { acme: [0.5, 1.5] } } }, features: ['connected apps'] },
  (stage) => {
    const people = peopleOf(stage);
    const { url } = people;
    const confirmation = ({ email, password }: Person) => ({ email, password });
    const remove = (person: Person, body: object = confirmation(person)) =>
      post(url('/auth/delete-account'), body, person.session);
    const defaultWorkspace = async ({ accountId }: Person): Promise<string> =>
      (await stage.service.pool.query('select id from workspaces where account_id = $1 and is_default', [accountId]))
        .rows[0].id;
    const customer = async () => {
      const person = await people.signUp();
      await people.fund(person);
      const { key, id } = await people.makeKey(person, await defaultWorkspace(person));
      return { ...person, key, keyId: id };
    };
    const ask = (key: string) =>
      post(`${stage.service.baseUrl}/chat/completions`, { model, messages: hello, max_tokens: 50 }, bearer(key));
    const entriesOf = async ({ accountId }: Person) => {
      const { rows } = await stage.service.pool.query<{ account: string; amount: string }>(
        `select e.ledger_account as account, e.amount_nusd::text as amount from ledger_entries e
         join ledger_transactions t on t.id = e.transaction_id
         where t.reference = 'account_deleted:' || $1 order by e.amount_nusd`,
        [accountId],
      );
      return rows;
    };
    const isBooked = async ({ accountId }: Person): Promise<boolean> =>
      (await stage.service.pool.query('select from usage where account_id = $1', [accountId])).rowCount === 1;
    const hasClosed = (person: Person): Promise<void> =>
      until(
        async () =>
          (
            await stage.service.pool.query('select 1 from accounts where id = $1 and closed_at is not null', [
              person.accountId,
            ])
          ).rowCount === 1,
        'the account is closed',
      );
    const expectCleanBooks = async (): Promise<void> => {
      const { code, output } = await stage.service.runControl(['audit']);
      expect(code, output).toBe(0);
    };

    it('charges a request that is under way, and then forfeits the rest', async () => {
      const person = await customer();
      const { promise: gate, resolve: open } = Promise.withResolvers<void>();
      const { promise: reached, resolve: arrive } = Promise.withResolvers<void>();
      stage.provider('acme').answer(async (request, response) => {
        arrive();
        await gate;
        await answerChat()(request, response);
      });
      const asked = ask(person.key);
      await reached;
      expect((await remove(person)).json).toEqual({ status: true });
      expectError(await ask(person.key), 401, 'invalid_api_key');
      // Another account is closed meanwhile, so the task has passed by this one.
      const idle = await people.signUp();
      expect((await remove(idle)).status).toBe(200);
      await hasClosed(idle);
      expect(await entriesOf(person)).toEqual([]);
      open();
      expect((await asked).status).toBe(200);
      await hasClosed(person);
      const restNusd = String(fundedNusd - chargeNusd);
      expect(await entriesOf(person)).toEqual([
        { account: `wallet:${person.accountId}`, amount: `-${restNusd}` },
        { account: 'forfeited', amount: restNusd },
      ]);
      await expectCleanBooks();
      stage.provider('acme').answer(answerChat());
    });

    it('refuses its keys at once, before they are revoked', async () => {
      const person = await customer();
      expect((await ask(person.key)).status).toBe(200);
      // A booking that waited for the key would hold the account, for which the deletion waits.
      await until(async () => isBooked(person), 'the charge is booked');
      await whileHeld(
        stage.service.pool,
        {
          rows: 'select 1 from api_keys where id = $1 for update',
          values: [person.keyId],
          waiting: 'select k.id',
          meanwhile: async () => {
            // Its wallet holds nothing. Once the projector has come by, the key is unknown, too.
            const refused = await ask(person.key);
            if (refused.status === 401) expectError(refused, 401, 'invalid_api_key');
            else expectError(refused, 402, 'insufficient_balance');
            expectError(await get(url('/models'), bearer(person.key)), 401, 'invalid_api_key');
            await expectCleanBooks();
          },
        },
        [async () => expect((await remove(person)).status).toBe(200)],
      );
      expectError(await ask(person.key), 401, 'invalid_api_key');
      await hasClosed(person);
      await expectCleanBooks();
    });

    it('takes every trace of the person, and frees the address for a new account', async () => {
      const [person, other] = [await customer(), await people.signUp()];
      await people.verifyAddress(person);
      const team = await people.makeWorkspace(other, 'Team');
      await people.invite(other, team, person.email, 'member');
      expect((await stage.service.runControl(['sign-up', 'invite', person.email])).code).toBe(0);
      const app = await post(url('/connect/apps'), notebook, person.session);
      expect(app.status, app.text).toBe(201);
      const cookies = (await remove(person)).headers.getSetCookie();
      expect(cookies.some((line) => /session_token=;.*max-age=0/i.test(line))).toBe(true);
      expectError(await get(url('/keys'), person.session), 401, 'unauthenticated');
      expectError(await post(url('/auth/sign-in/email'), confirmation(person)), 401, 'unauthenticated');
      await hasClosed(person);
      const traces = await stage.service.pool.query(
        `select name from accounts where id = $1 union all select name from workspaces where account_id = $1
         union all select name from api_keys where account_id = $1
         union all select concat(name, homepage, redirect_uris) from connect_apps where account_id = $1
         union all select email from sign_up_invitations where email = $2`,
        [person.accountId, person.email],
      );
      expect(traces.rows.map(({ name }) => name)).toEqual([
        'Deleted account',
        'Deleted workspace',
        'Deleted key',
        'Deleted app[]',
      ]);
      expect((await get(url(`/workspaces/${team}/invitations`), other.session)).json).toMatchObject({ data: [] });
      const again = { ...confirmation(person), name: 'x' };
      expect((await post(url('/auth/sign-up/email'), again)).status).toBe(200);
      const fresh = { ...person, session: await people.signIn(person) };
      expect((await get(url('/balance'), fresh.session)).json).toMatchObject({ available: 0 });
      await expectCleanBooks();
    });

    it('leaves the invitations of an address that it never proved to be its own', async () => {
      const [stranger, other] = [await people.signUp(), await people.signUp()];
      const team = await people.makeWorkspace(other, 'Team');
      await people.invite(other, team, stranger.email, 'member');
      await stage.service.pool.query('update auth_user set email_verified = false where email = $1', [stranger.email]);
      expect((await remove(stranger)).status).toBe(200);
      const left = await get(url(`/workspaces/${team}/invitations`), other.session);
      expect(left.json).toMatchObject({ data: [{ email: stranger.email }] });
    });

    it('is refused with the wrong password, another address or none', async () => {
      const person = await people.signUp();
      for (const body of [
        { ...confirmation(person), password: 'not it at all' },
        { ...confirmation(person), email: 'somebody@people.example' },
        { email: person.email },
        {},
      ])
        expectError(await remove(person, body), 400, 'invalid_request');
      expectError(await post(url('/auth/delete-account'), confirmation(person)), 401, 'unauthenticated');
      expect((await get(url('/keys'), person.session)).status).toBe(200);
    });

    it('is refused to an operator, to the owner of a shared workspace and while a payment is under way', async () => {
      const operator = await people.signUp();
      await people.makeOperator(operator);
      const answer = await remove(operator);
      expectError(answer, 409, 'conflict');
      expect(answer.text).toContain('operator role');

      const owner = await people.signUp();
      await people.verifyAddress(owner);
      const team = await people.makeWorkspace(owner, 'Team');
      const member = await people.join(owner, team, 'member');
      const shared = await remove(owner);
      expectError(shared, 409, 'conflict');
      expect(shared.text).toContain('Team');
      // The member may go, and their key in the workspace goes with them.
      const { key } = await people.makeKey(member, team);
      expect((await remove(member)).status).toBe(200);
      expectError(await get(url('/balance'), bearer(key)), 401, 'invalid_api_key');
      expect((await remove(owner)).status).toBe(200);

      const payer = await people.signUp();
      await stage.service.pool.query(insertOrder, [payer.accountId, 'pending']);
      const paying = await remove(payer);
      expectError(paying, 409, 'conflict');
      expect(paying.text).toContain('payment is under way');
    });

    it('waits for an order that is being placed, and is then refused', async () => {
      const payer = await people.signUp();
      await whileHeld(
        stage.service.pool,
        {
          rows: 'select 1 from accounts where id = $1 for update',
          values: [payer.accountId],
          waiting: 'select id from accounts where user_id',
          meanwhile: (holder) => holder.query(insertOrder, [payer.accountId, 'created']),
        },
        [async () => expectError(await remove(payer), 409, 'conflict')],
      );
      expect((await get(url('/keys'), payer.session)).status).toBe(200);
    });

    it('leaves nothing that an operator could enable or credit', async () => {
      const [person, operator] = [await people.signUp(), await people.signUp()];
      await people.makeOperator(operator);
      await remove(person);
      const { code, output } = await stage.service.runControl(['account', 'enable', person.accountId]);
      expect([code, output]).toEqual([1, expect.stringContaining('deleted')]);
      const listed = await get(url(`/operator/accounts/${person.accountId}`), operator.session);
      expect(listed.json).toMatchObject({ state: 'deleted', email: null });
    });

    it('is done by an operator on request, for the address of the account only', async () => {
      const person = await customer();
      const run = (...args: string[]) => stage.service.runControl(['account', 'delete', ...args]);
      for (const [args, said] of [
        [[person.accountId], '--email is missing'],
        [[person.accountId, '--email', 'somebody@people.example'], 'is not the address of this account'],
        [[randomUUID(), '--email', person.email], 'does not exist'],
      ] as const)
        expect(await run(...args)).toEqual({ code: expect.any(Number), output: expect.stringContaining(said) });
      expect((await ask(person.key)).status).toBe(200);

      expect(await run(person.accountId, '--email', person.email.toUpperCase())).toMatchObject({ code: 0 });
      await until(async () => (await ask(person.key)).status === 401, 'its key is refused');
      expectError(await get(url('/keys'), person.session), 401, 'unauthenticated');
      expectError(await post(url('/auth/sign-in/email'), confirmation(person)), 401, 'unauthenticated');
      await hasClosed(person);
      expect((await run(person.accountId, '--email', person.email)).output).toContain('deleted already');
      const { rows } = await stage.service.pool.query(
        "select actor, actor_account_id from acts where act = 'account_deleted' and account_id = $1",
        [person.accountId],
      );
      expect(rows).toEqual([{ actor: 'command_line', actor_account_id: null }]);
      await expectCleanBooks();
    });

    it('takes a workspace that others use only if the operator says so, and then their keys there, too', async () => {
      const owner = await people.signUp();
      const team = await people.makeWorkspace(owner, 'Team');
      const member = await people.join(owner, team, 'member');
      const [{ key }, own] = [
        await people.makeKey(member, team),
        await people.makeKey(member, await defaultWorkspace(member)),
      ];
      await people.fund(owner);
      await people.fund(member);
      const run = (...more: string[]) =>
        stage.service.runControl(['account', 'delete', owner.accountId, '--email', owner.email, ...more]);
      expect(await run()).toEqual({ code: 1, output: expect.stringContaining('use its workspace "Team"') });
      expect((await ask(key)).status).toBe(200);
      expect((await run('--with-workspaces')).code).toBe(0);
      await until(async () => (await ask(key)).status === 401, 'the key of the member is refused');
      await hasClosed(owner);
      expect((await ask(own.key)).status).toBe(200);
      const { rows } = await stage.service.pool.query('select actor from acts where act = $1 and workspace_id = $2', [
        'workspace_deleted',
        team,
      ]);
      expect(rows).toEqual([{ actor: 'command_line' }]);
      const listed = (await get(url('/workspaces'), member.session)).json as { data: { id: string }[] };
      expect(listed.data.map(({ id }) => id)).toEqual([await defaultWorkspace(member)]);
      await expectCleanBooks();
    });

    describe('and an invitation that is accepted in the same moment', () => {
      const membersOf = async (column: 'account_id' | 'workspace_id', id: string) =>
        (await stage.service.pool.query(`select 1 from workspace_members where ${column} = $1`, [id])).rows;

      it('of the owner: either somebody joined and the owner stays, or the workspace is gone', async () => {
        const [owner, guest] = [await people.signUp(), await people.signUp()];
        for (const person of [owner, guest]) await people.verifyAddress(person);
        const team = await people.makeWorkspace(owner, 'Team');
        const { token } = await people.invite(owner, team, guest.email, 'member');
        const [joined, removed] = await whileHeld(
          stage.service.pool,
          {
            rows: 'select 1 from workspaces where id = $1 for update',
            values: [team],
            waiting: 'select 1 from workspaces',
          },
          [() => people.accept(guest, token), () => remove(owner)],
        );
        expect([
          [200, 409],
          [404, 200],
        ]).toContainEqual([joined?.status, removed?.status]);
        expect(await membersOf('workspace_id', team)).toHaveLength(joined?.status === 200 ? 1 : 0);
      });

      it('of the guest: no membership stays behind', async () => {
        const [owner, guest] = [await people.signUp(), await people.signUp()];
        for (const person of [owner, guest]) await people.verifyAddress(person);
        const team = await people.makeWorkspace(owner, 'Team');
        const { token } = await people.invite(owner, team, guest.email, 'member');
        const [joined, removed] = await whileHeld(
          stage.service.pool,
          { rows: 'select 1 from accounts where id = $1 for update', values: [guest.accountId], waiting: 'select ' },
          [() => people.accept(guest, token), () => remove(guest)],
        );
        expect(removed?.status).toBe(200);
        expect([200, 401]).toContain(joined?.status);
        expect(await membersOf('account_id', guest.accountId)).toEqual([]);
      });
    });

    describe('many at once', () => {
      it('several deletions forfeit the money once, and keys that are made meanwhile do not survive', async () => {
        const person = await customer();
        const workspace = await defaultWorkspace(person);
        const made = Array.from({ length: 5 }, () =>
          post(url('/keys'), { name: 'x', kind: 'inference', workspace_id: workspace }, person.session),
        );
        const answers = await Promise.all([remove(person), remove(person), remove(person)]);
        expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(1);
        await Promise.all(made);
        const { rows } = await stage.service.pool.query(
          'select 1 from api_keys where account_id = $1 and revoked_at is null',
          [person.accountId],
        );
        expect(rows).toEqual([]);
        await hasClosed(person);
        expect(await entriesOf(person)).toHaveLength(2);
        await expectCleanBooks();
      });
    });
  },
  { planes: ['two'] },
);

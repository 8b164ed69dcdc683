import { describe, expect, it } from 'vitest';
import { bearer, hello } from '../../kit/client.ts';
import { expectError } from '../../kit/expect-error.ts';
import { get, post, send } from '../../kit/send.ts';
import { until } from '../../kit/service.ts';
import { describeBilling, type Person } from './world.ts';

const auto = (more: object = {}) => ({
  low_balance_usd: null,
  auto_top_up: { enabled: true, threshold_usd: 10, package_id: 'small', monthly_limit_usd: 100, ...more },
});

await describeBilling(
  'settings and auto top-up',
  (suite) => {
    /** A person who has paid 10 USD by card and agreed to save the card. */
    const withCard = async (): Promise<Person & { readonly key: string; readonly orderId: string }> => {
      const { till, person, order } = await suite.ordered({ package_id: 'small', rail: 'card', save_card: true });
      await till.told(till.payByCard(order.id));
      const made = await post(till.url('/keys'), { name: 'k', kind: 'inference' }, person.session);
      const { key } = made.json as { key: string };
      return { ...person, key, orderId: order.id };
    };
    /** One chat request. It costs less than a cent, which is enough to fall below a round threshold. */
    const spend = async ({ key }: { readonly key: string }): Promise<void> => {
      const body = { model: 'm/one', messages: [{ role: 'user', content: 'hi' }] };
      await until(
        async () => (await post(`${suite.service.baseUrl}/chat/completions`, body, bearer(key))).status === 200,
        'the request is served',
      );
    };
    const automatic = async (person: Person) => {
      const { rows } = await suite.service.pool.query<{ id: string; status: string }>(
        'select id, status from orders where account_id = $1 and automatic order by created_at',
        [person.accountId],
      );
      return rows;
    };
    /**
     * Waits until the auto top-up loop has certainly looked. An account that was due before the first witness is
     * handled in the same round or an earlier one. That round has ended once the second witness is topped up.
     */
    const loopHasLooked = async (): Promise<void> => {
      for (let round = 0; round < 2; round += 1) {
        const witness = await withCard();
        expect((await suite.till.putSettings(witness, auto())).status).toBe(200);
        await spend(witness);
        await until(async () => (await automatic(witness)).some(({ status }) => status === 'paid'), 'the loop looked');
      }
    };

    describe('settings', () => {
      // A write that put back what it has read before would undo the charges in between.
      it('leave the balance alone, however their writes and charges of requests interleave', async () => {
        const { service, till, person } = await suite.visited();
        await till.give(person, 5);
        const { key } = (await post(till.url('/keys'), { name: 'x', kind: 'inference' }, person.session)).json as {
          key: string;
        };
        const preferences = till.url('/routing/preferences');
        const known = (await get(preferences, person.session)).json as object;
        const writes = [
          () => till.putSettings(person, { low_balance_usd: 1, auto_top_up: null }),
          () => post(till.url('/auth/update-user'), { name: 'Ann' }, person.session),
          () => send('PUT', preferences, { headers: person.session, body: known }),
        ];
        const chat = () =>
          post(`${service.baseUrl}/chat/completions`, { model: 'm/one', messages: hello, max_tokens: 50 }, bearer(key));
        for (let round = 0; round < 5; round += 1) {
          const answers = await Promise.all(
            Array.from({ length: 4 }, () => [chat, ...writes].map((act) => act())).flat(),
          );
          expect(answers.map(({ status, text }) => `${status} ${status === 200 ? '' : text}`)).toEqual(
            answers.map(() => '200 '),
          );
        }
        // Twenty requests of 10 prompt and 20 completion tokens.
        await till.hasBalance(person, 5 - 20 * 0.00005);
        const refused = await till.putSettings(person, { low_balance_usd: 1, auto_top_up: null, balance: 5 });
        expect([refused.status, refused.text.includes('balance')]).toEqual([400, true]);
        const audit = await service.runControl(['audit']);
        expect(audit.code, audit.output).toBe(0);
      });

      it('are empty at first, and are replaced as a whole', async () => {
        const { till, person } = await suite.visited();
        expect(await till.settings(person)).toEqual({
          receipt_details: null,
          low_balance_usd: null,
          low_balance: false,
          low_balance_since: null,
          auto_top_up: null,
          auto_top_up_state: { paused: null, spent_this_month_usd: 0, last_outcome: null },
        });
        const put = await till.putSettings(person, { ...auto({ enabled: false }), low_balance_usd: 2.5 });
        expect(put.status, put.text).toBe(200);
        // The notice of the low balance may be written between the two answers.
        const { low_balance_since: _, ...shown } = await till.settings(person);
        expect(put.json).toMatchObject(shown);
        expect(await till.settings(person)).toMatchObject({
          low_balance_usd: 2.5,
          auto_top_up: { enabled: false, threshold_usd: 10, package_id: 'small', monthly_limit_usd: 100 },
        });
        await till.putSettings(person, { low_balance_usd: null, auto_top_up: null });
        // A page that still shows auto top-up as on cannot switch it on by saving an address.
        await till.putSettings(person, { receipt_details: 'Ann Ltd' });
        expect(await till.settings(person)).toMatchObject({ low_balance_usd: null, auto_top_up: null });
      });

      it.each<[string, object, string]>([
        ['a package that is not there', auto({ package_id: 'huge' }), 'auto_top_up.package_id'],
        [
          'a threshold above the package, which could loop',
          auto({ threshold_usd: 10.01 }),
          'auto_top_up.threshold_usd',
        ],
        ['a limit below one top-up', auto({ monthly_limit_usd: 10.49 }), 'auto_top_up.monthly_limit_usd'],
        ['a notice finer than a nano-dollar', { low_balance_usd: 1e-10, auto_top_up: null }, 'low_balance_usd'],
        ['a notice below zero', { low_balance_usd: -1, auto_top_up: null }, 'low_balance_usd'],
      ])('refuse %s, by name of the field', async (_, body, param) => {
        expectError(await suite.till.putSettings(await suite.person(), body), 400, 'invalid_request', param);
      });

      it('refuse auto top-up without a saved card, clearly', async () => {
        const { till, person } = await suite.visited();
        const never = await till.putSettings(person, auto());
        expectError(never, 409, 'conflict', 'auto_top_up.enabled');
        expect(never.text).toContain('save_card');
        // Paid by card, but without consent to save it.
        const order = await till.order(person, { package_id: 'small', rail: 'card' });
        await till.told(till.payByCard(order.id));
        expectError(await till.putSettings(person, auto()), 409, 'conflict', 'auto_top_up.enabled');
        expect((await till.settings(person)).auto_top_up).toBeNull();
      });
    });

    it('reports a low balance once for each crossing', async () => {
      const { till, service, person } = await suite.visited();
      const noticed = (): number => service.logs().split('balances have fallen below their notice').length - 1;
      const before = noticed();
      await till.putSettings(person, { low_balance_usd: 5, auto_top_up: null });
      await until(async () => (await till.settings(person)).low_balance_since !== null, 'it is noticed');
      const since = (await till.settings(person)).low_balance_since;
      await until(() => noticed() > before, 'it is logged');
      const times = noticed();
      expect(await till.settings(person)).toMatchObject({ low_balance: true });
      await till.order(person, { package_id: 'small', rail: 'test' });
      expect(await till.settings(person)).toMatchObject({ low_balance: false, low_balance_since: null });
      // The other account's crossing shows that the loop has passed, so ours was reported only once.
      const other = await suite.person();
      await till.putSettings(other, { low_balance_usd: 5, auto_top_up: null });
      await until(async () => (await till.settings(other)).low_balance_since !== null, 'the other is noticed');
      await until(() => noticed() > times, 'the other is logged');
      expect(noticed()).toBe(times + 1);
      expect(since).not.toBeNull();
    });

    describe('auto top-up', () => {
      it('charges no card of a disabled account', async () => {
        const { till, service } = suite;
        const person = await withCard();
        expect((await till.putSettings(person, auto())).status).toBe(200);
        expect((await service.runControl(['account', 'disable', person.accountId])).code).toBe(0);
        // As when a request that still ran is booked.
        await service.pool.query('update accounts set balance_nusd = balance_nusd - 1 where id = $1', [
          person.accountId,
        ]);
        await loopHasLooked();
        expect(await automatic(person)).toEqual([]);
        await service.pool.query('update accounts set balance_nusd = balance_nusd + 1 where id = $1', [
          person.accountId,
        ]);
      });

      it('charges the saved card once when the balance falls below the threshold', async () => {
        const { till, world } = suite;
        const person = await withCard();
        expect((await till.putSettings(person, auto())).status).toBe(200);
        await loopHasLooked();
        // A balance equal to the threshold is not below it.
        expect(await automatic(person)).toEqual([]);
        await spend(person);
        await until(async () => (await automatic(person)).some(({ status }) => status === 'paid'), 'it is topped up');
        const [order] = await automatic(person);
        expect(world.stripe.intentsOf(order?.id ?? '')).toMatchObject([{ amount: 1050, status: 'succeeded' }]);
        expect(await till.read(person, order?.id ?? '')).toMatchObject({
          automatic: true,
          status: 'paid',
          rail: 'card',
        });
        expect(await till.balance(person)).toBeCloseTo(20, 2);
        expect((await till.receipts(person)).length).toBe(2);
        expect(await till.settings(person)).toMatchObject({
          auto_top_up_state: { paused: null, spent_this_month_usd: 10.5, last_outcome: { code: 'paid' } },
        });
        await loopHasLooked();
        expect(await automatic(person)).toHaveLength(1);
      });

      it('that is declined is paused with its reason and not tried again, until the settings are saved', async () => {
        const { till, world } = suite;
        const person = await withCard();
        await till.putSettings(person, auto());
        world.stripe.decline = 'insufficient_funds';
        await spend(person);
        await until(async () => (await automatic(person)).some(({ status }) => status === 'failed'), 'it is declined');
        world.stripe.decline = undefined;
        const [failed] = await automatic(person);
        expect(await till.read(person, failed?.id ?? '')).toMatchObject({
          status: 'failed',
          problem: { code: 'insufficient_funds', message: expect.stringContaining('declined') },
        });
        expect(await till.settings(person)).toMatchObject({
          auto_top_up: { enabled: true },
          auto_top_up_state: {
            paused: { code: 'insufficient_funds' },
            spent_this_month_usd: 0,
            last_outcome: { code: 'insufficient_funds' },
          },
        });
        await loopHasLooked();
        expect(await automatic(person)).toHaveLength(1);
        expect(await till.ledger(person)).toHaveLength(1);
        // Saving the details of receipts does not ask for a charge.
        expect((await till.putSettings(person, { receipt_details: 'Ann Ltd' })).status).toBe(200);
        expect(await till.settings(person)).toMatchObject({
          receipt_details: 'Ann Ltd',
          auto_top_up: { enabled: true },
          auto_top_up_state: { paused: { code: 'insufficient_funds' } },
        });
        await till.putSettings(person, auto());
        await until(async () => (await automatic(person)).at(-1)?.status === 'paid', 'it goes on');
        expect((await till.settings(person)).auto_top_up_state.paused).toBeNull();
      });

      it('whose customer was deleted at Stripe is paused, until the next order saves a card with a new customer', async () => {
        const { till, world, service } = suite;
        const person = await withCard();
        await till.putSettings(person, auto());
        const customer = async (): Promise<string> => {
          const { rows } = await service.pool.query<{ customer: string }>(
            'select customer from rail_customers where account_id = $1',
            [person.accountId],
          );
          return rows[0]?.customer ?? '';
        };
        const deleted = await customer();
        world.stripe.deleteCustomer(deleted);
        await spend(person);
        await until(async () => (await till.settings(person)).auto_top_up_state.paused !== null, 'it is paused');
        expect((await till.settings(person)).auto_top_up_state.paused).toMatchObject({ code: 'no_saved_card' });
        expectError(await till.putSettings(person, auto()), 409, 'conflict', 'auto_top_up.enabled');
        const body = { package_id: 'small', rail: 'card', save_card: true };
        const orders = await Promise.all([till.order(person, body), till.order(person, body)]);
        for (const { id } of orders) {
          await till.due(id);
          await till.becomes(person, id, 'pending');
          expect(world.stripe.sessionOf(id).customer).toBe(await customer());
        }
        expect(await customer()).not.toBe(deleted);
        await till.told(till.payByCard(orders[0].id));
        expect((await till.putSettings(person, auto())).status).toBe(200);
      });

      it('that is paused goes on when an order is paid by hand', async () => {
        const { till, world } = suite;
        const person = await withCard();
        await till.putSettings(person, auto());
        world.stripe.decline = 'authentication_required';
        await spend(person);
        await until(async () => (await till.settings(person)).auto_top_up_state.paused !== null, 'it is paused');
        world.stripe.decline = undefined;
        expect((await till.settings(person)).auto_top_up_state.paused?.message).toContain('by hand');
        await till.order(person, { package_id: 'small', rail: 'test' });
        expect((await till.settings(person)).auto_top_up_state.paused).toBeNull();
      });

      it('stops at the monthly limit, and says so', async () => {
        const { till } = suite;
        const person = await withCard();
        await till.putSettings(person, auto({ monthly_limit_usd: 20 }));
        await spend(person);
        await until(async () => (await automatic(person)).some(({ status }) => status === 'paid'), 'the first is paid');
        // Raises the threshold above the balance again. Another 10.50 on top of 10.50 would exceed the limit of 20.
        await suite.service.pool.query(
          'update billing_settings set auto_threshold_nusd = 1000000000000 where account_id = $1',
          [person.accountId],
        );
        await until(
          async () => (await till.settings(person)).auto_top_up_state.last_outcome?.code === 'monthly_limit',
          'the limit holds',
        );
        await loopHasLooked();
        expect(await automatic(person)).toHaveLength(1);
        const { paused, spent_this_month_usd } = (await till.settings(person)).auto_top_up_state;
        expect([paused, spent_this_month_usd]).toEqual([null, 10.5]);
      });

      it('is charged once though its answer was lost and the process killed', async () => {
        const { till, world, service } = suite;
        const person = await withCard();
        await till.putSettings(person, auto());
        world.stripe.server.trouble = 'answers_are_lost';
        const carriedOut = world.stripe.server.carriedOut('/payment_intents');
        await spend(person);
        await carriedOut;
        await service.control.kill9();
        world.stripe.server.trouble = undefined;
        await service.control.restart();
        const [order] = await automatic(person);
        expect(order?.status).toBe('created');
        await till.due(order?.id ?? '');
        await until(async () => (await automatic(person))[0]?.status === 'paid', 'it is found');
        expect(world.stripe.intentsOf(order?.id ?? '')).toHaveLength(1);
        expect(await automatic(person)).toHaveLength(1);
        expect(await till.ledger(person)).toHaveLength(2);
      });

      it('whose time is up is looked for and not charged late', async () => {
        const { till, world, service } = suite;
        const person = await withCard();
        await till.putSettings(person, auto());
        const outages = (): number => service.logs().split('payment service failed').length - 1;
        const before = outages();
        // The service can list the card and the charges, but no write reaches Stripe. Only the charge meets an outage.
        world.stripe.server.refuseWrites = true;
        await spend(person);
        await until(async () => (await automatic(person)).length === 1, 'it was ordered');
        const [order] = await automatic(person);
        await until(() => outages() > before, 'it could not be charged');
        world.stripe.server.refuseWrites = false;
        await till.due(order?.id ?? '', { over: true });
        await until(async () => (await automatic(person))[0]?.status === 'failed', 'it has failed');
        expect(world.stripe.intentsOf(order?.id ?? '')).toEqual([]);
        expect((await till.settings(person)).auto_top_up_state.paused).toMatchObject({
          code: 'too_late',
          message: expect.stringContaining('in time'),
        });
      });

      // The refund takes the credit back and pauses in one transaction. If it paused later or not at all, the loop would see the low
      // balance first and charge the card that was just refunded. The order that is paid by hand was placed before the refund.
      it.each([
        ['refunded', 'charge.refunded'],
        ['disputed', 'charge.dispute.closed'],
      ])(
        'whose payment was %s charges nothing until its settings are saved, though an order is paid by hand',
        async (code, type) => {
          const { till, world } = suite;
          const person = await withCard();
          await till.putSettings(person, auto());
          const byHand = await till.order(person, { package_id: 'small', rail: 'card' });
          const gone =
            code === 'refunded'
              ? world.stripe.refund(person.orderId, 1050)
              : world.stripe.dispute(person.orderId, { id: 'dp', status: 'lost', amount: 1050 });
          await till.told(world.stripe.event(type, gone));
          await till.hasBalance(person, 0);
          await till.told(till.payByCard(byHand.id));
          await spend(person);
          await loopHasLooked();
          expect(await automatic(person)).toEqual([]);
          const { paused, last_outcome } = (await till.settings(person)).auto_top_up_state;
          expect([paused?.code, last_outcome]).toEqual([code, null]);
          expect(paused?.message).toContain(code);
          await till.putSettings(person, auto());
          await until(async () => (await automatic(person)).some(({ status }) => status === 'paid'), 'it goes on');
        },
      );

      it.each([
        ['told', 'created', 'needs_response'],
        // The loss may be reported before the beginning.
        ['told', 'closed', 'lost'],
        ['found by looking', 'created', 'needs_response'],
        ['found by looking', 'closed', 'lost'],
      ])('pauses when a payment is disputed, %s: charge.dispute.%s', async (how, type, status) => {
        const { till, world } = suite;
        const person = await withCard();
        await till.putSettings(person, auto());
        const dispute = world.stripe.dispute(person.orderId, { id: 'dp', status, amount: 1050 });
        const paused = async () => (await till.settings(person)).auto_top_up_state.paused;
        if (how === 'told') {
          await till.told(world.stripe.event(`charge.dispute.${type}`, dispute));
          expect(await paused()).toMatchObject({ code: 'disputed' });
        } else {
          await till.due(person.orderId);
          await expect.poll(paused).toMatchObject({ code: 'disputed' });
        }
      });
    });
  },
  { planes: ['one'] },
);

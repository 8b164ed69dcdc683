// Longer than 400 lines: all tests share one service, its Stripe and its till, which start once.

import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { expectError } from '../../kit/expect-error.ts';
import { until } from '../../kit/service.ts';
import { stripeSignature } from './stripe-stand-in.ts';
import { describeBilling } from './world.ts';

const small = { package_id: 'small', rail: 'card' };
const ten = 10_000_000_000n;

await describeBilling('payment by card', (suite) => {
  describe('an order', () => {
    it('is open with a place to pay it, and nothing is credited before', async () => {
      const { till, person, order } = await suite.ordered(small);
      expect(order).toMatchObject({ status: 'pending', amount: 10, fee: 0.5, total: 10.5, receipt_number: null });
      expect(order.checkout_url).toBe(suite.world.stripe.sessionOf(order.id).url);
      expect(suite.world.stripe.sessionOf(order.id).amount_total).toBe(1050);
      expect(await till.balance(person)).toBe(0);
      expect(await till.receipts(person)).toEqual([]);
    });

    it('is credited and receipted when it is paid, and the money can be spent when it says so', async () => {
      const { till, person, id } = await suite.ordered(small);
      expect(await till.told(till.payByCard(id))).toMatchObject({ outcome: 'applied', message: 'The order is paid.' });
      await till.hasBalance(person, 10);
      const order = await till.read(person, id);
      expect(order).toMatchObject({ status: 'paid', refunded: 0, problem: null });
      expect(order.checkout_url).toBeUndefined();
      const [receipt] = await till.receipts(person);
      expect(receipt).toMatchObject({
        number: order.receipt_number,
        kind: 'receipt',
        order_id: id,
        rail: 'card',
        amount: 10,
        fee: 0.5,
        total: 10.5,
        account: { id: person.accountId, email: person.email, details: null },
      });
    });

    it('gives a receipt with the details that the customer asked for before, and leaves earlier ones alone', async () => {
      const { till, person, id } = await suite.ordered(small);
      await till.told(till.payByCard(id));
      const details = 'Ann Ltd\n1 Street\nGB 123';
      const saved = { low_balance_usd: null, auto_top_up: null, receipt_details: `  ${details}\n` };
      expect((await till.putSettings(person, saved)).status).toBe(200);
      // A change without receipt details keeps the saved ones.
      expect((await till.putSettings(person, { low_balance_usd: 1, auto_top_up: null })).json).toMatchObject({
        receipt_details: details,
        low_balance_usd: 1,
      });
      const second = await till.order(person, small);
      await till.told(till.payByCard(second.id));
      const [newest, oldest] = await till.receipts(person);
      expect([newest?.account.details, oldest?.account.details]).toEqual([details, null]);
      const none = { ...saved, receipt_details: null };
      expect((await till.putSettings(person, none)).json).toMatchObject({ receipt_details: null });
      for (const [wrong, says] of [
        ['x'.repeat(401), '400'],
        [`${'a\n'.repeat(6)}b`, 'six lines'],
        ['a\u0007', 'control characters'],
        [7, 'receipt_details'],
      ] as const) {
        const refused = await till.putSettings(person, { ...saved, receipt_details: wrong });
        expect(refused.status, String(wrong)).toBe(400);
        expect(refused.text).toContain(says);
      }
    });

    it('sends Stripe no name or address of the customer', async () => {
      await suite.ordered(small);
      for (const { body, headers } of suite.world.stripe.server.calls) {
        expect(decodeURIComponent(body)).not.toContain('people.example');
        expect(JSON.stringify(headers)).not.toContain('people.example');
      }
    });
  });

  describe('a webhook', () => {
    it('delivered five times credits once, and says what it was', async () => {
      const { till, person, id } = await suite.ordered(small);
      const event = till.payByCard(id);
      const outcomes: string[] = [];
      for (let delivery = 0; delivery < 5; delivery += 1) outcomes.push((await till.told(event)).outcome);
      expect(outcomes).toEqual(['applied', 'unchanged', 'unchanged', 'unchanged', 'unchanged']);
      expect(await till.ledger(person)).toEqual([{ kind: 'top_up', amount: ten }]);
      expect(await till.receipts(person)).toHaveLength(1);
    });

    it('delivered twenty times at once, while the loop looks and the person polls, credits once', async () => {
      const { till, person, id } = await suite.ordered(small);
      const event = till.payByCard(id);
      await till.due(id);
      const told = await Promise.all([
        ...Array.from({ length: 20 }, () => till.told(event)),
        ...Array.from({ length: 5 }, () => till.read(person, id)),
      ]);
      expect(told.filter((answer) => 'outcome' in answer && answer.outcome === 'applied').length).toBeLessThanOrEqual(
        1,
      );
      expect(await till.ledger(person)).toEqual([{ kind: 'top_up', amount: ten }]);
      expect(await till.receipts(person)).toHaveLength(1);
      await till.hasBalance(person, 10);
    });

    it('that says expired before one that says paid does not keep the money', async () => {
      const { till, world, person, id } = await suite.ordered(small);
      const expired = world.stripe.event('checkout.session.expired', {
        ...world.stripe.sessionOf(id),
        status: 'expired',
      });
      const paid = till.payByCard(id);
      expect((await till.told(expired)).message).toBe('The order is expired.');
      expect((await till.told(paid)).message).toBe('The order is paid.');
      expect((await till.told(expired)).outcome).toBe('unchanged');
      expect((await till.read(person, id)).status).toBe('paid');
      expect(await till.ledger(person)).toHaveLength(1);
    });

    it('that says refunded before one that says paid leaves nothing, and two papers', async () => {
      const { till, world, person, id } = await suite.ordered(small);
      const paid = till.payByCard(id);
      const refunded = world.stripe.event('charge.refunded', world.stripe.refund(id, 1050));
      expect((await till.told(refunded)).outcome).toBe('applied');
      expect(await till.ledger(person)).toEqual([]);
      expect((await till.told(paid)).message).toBe('The order is refunded.');
      expect(await till.ledger(person)).toEqual([
        { kind: 'top_up', amount: ten },
        { kind: 'refund', amount: -ten },
      ]);
      expect((await till.receipts(person)).map(({ kind }) => kind).sort()).toEqual(['credit_note', 'receipt']);
      expect(await till.balance(person)).toBe(0);
    });

    it.each<[string, Parameters<typeof suite.till.deliver>[1]]>([
      ['signed with another secret', { secret: 'whsec_of_somebody_else' }],
      ['signed six minutes ago', { atMs: Date.now() - 6 * 60_000 }],
      ['whose signature is nonsense', { signature: 't=1,v1=00' }],
      ['whose signature names no scheme', { signature: 'v0=abc' }],
    ])('%s is 400 and changes nothing', async (_, how) => {
      const { till, person, id } = await suite.ordered(small);
      expectError(await till.deliver(till.payByCard(id), how), 400, 'invalid_request');
      expect((await till.read(person, id)).status).toBe('pending');
      expect(await till.ledger(person)).toEqual([]);
    });

    it('that is not signed, or was changed on its way, is 400 and changes nothing', async () => {
      const { till, world, person, id } = await suite.ordered(small);
      const event = till.payByCard(id);
      const url = till.url('/billing/webhooks/stripe');
      const headers = { 'content-type': 'application/json' };
      const unsigned = await fetch(url, { method: 'POST', headers, body: JSON.stringify(event) });
      expect(unsigned.status).toBe(400);
      const signature = stripeSignature(JSON.stringify(event));
      const changed = world.stripe.event('checkout.session.completed', {
        ...world.stripe.sessionOf(id),
        amount_total: 1,
      });
      expectError(await till.deliver(changed, { signature }), 400, 'invalid_request');
      expect(await till.ledger(person)).toEqual([]);
    });

    it('of an unknown order is answered with an explanation and credits no account', async () => {
      const { till, world, person, id } = await suite.ordered(small);
      const session = world.stripe.pay(id);
      const stranger = { ...session, id: 'cs_test_unknown', metadata: { sotto_order_id: randomUUID() } };
      const told = await till.told(world.stripe.event('checkout.session.completed', stranger));
      expect(told).toMatchObject({ outcome: 'unknown_order' });
      const nameless = { ...session, id: 'cs_test_other', metadata: {}, client_reference_id: null };
      expect(await till.told(world.stripe.event('checkout.session.completed', nameless))).toMatchObject({
        outcome: 'unknown_order',
      });
      expect(await till.ledger(person)).toEqual([]);
    });

    it.each<[string, object, string]>([
      ['with a lower amount', { amount_total: 1049 }, 'amount_differs'],
      ['with a higher amount', { amount_total: 105_000 }, 'amount_differs'],
      ['in another currency', { currency: 'eur' }, 'currency_differs'],
    ])('%s credits nothing, is explained, and the right one after it is credited', async (_, difference, code) => {
      const { till, world, person, id } = await suite.ordered(small);
      const session = world.stripe.pay(id);
      const wrong = world.stripe.event('checkout.session.completed', { ...session, ...difference });
      for (let delivery = 0; delivery < 3; delivery += 1) {
        expect(await till.told(wrong)).toMatchObject({ outcome: 'flagged' });
      }
      const order = await till.read(person, id);
      expect(order).toMatchObject({ status: 'failed', problem: { code } });
      expect(order.problem?.message).toContain('Nothing was credited');
      expect(await till.ledger(person)).toEqual([]);
      await until(() => suite.service.logs().includes(code), 'the operator is told');
      await till.told(world.stripe.event('checkout.session.completed', session));
      expect(await till.ledger(person)).toEqual([{ kind: 'top_up', amount: ten }]);
    });

    it('of a type that says nothing about orders is ignored, and says so', async () => {
      const { till, world } = suite;
      expect((await till.told(world.stripe.event('invoice.created', { id: 'in_1' }))).outcome).toBe('ignored');
    });

    it('of a card that was declined within checkout does not end the order', async () => {
      const { till, world, person, id } = await suite.ordered(small);
      const intent = { id: 'pi_1', status: 'requires_payment_method', amount_received: 0, currency: 'usd' };
      const declined = world.stripe.event('payment_intent.payment_failed', {
        ...intent,
        metadata: world.stripe.sessionOf(id).metadata,
      });
      expect((await till.told(declined)).outcome).toBe('ignored');
      expect((await till.read(person, id)).status).toBe('pending');
    });
  });

  describe('refunds', () => {
    it('add up by what Stripe says in all, in whatever order and how often it says so', async () => {
      const { till, world, person, id } = await suite.ordered(small);
      await till.told(till.payByCard(id));
      const first = world.stripe.event('charge.refunded', world.stripe.refund(id, 210));
      const second = world.stripe.event('charge.refunded', world.stripe.refund(id, 315));
      for (const event of [second, first, second, first]) await till.told(event);
      expect(await till.read(person, id)).toMatchObject({ status: 'paid', refunded: 5.25 });
      expect(await till.ledger(person)).toEqual([
        { kind: 'top_up', amount: ten },
        { kind: 'refund', amount: -ten / 2n },
      ]);
      await till.told(world.stripe.event('charge.refunded', world.stripe.refund(id, 525)));
      expect(await till.read(person, id)).toMatchObject({ status: 'refunded', refunded: 10.5 });
      expect(await till.balance(person)).toBe(0);
      const papers = await till.receipts(person);
      const receipt = papers.find(({ kind }) => kind === 'receipt');
      const notes = papers.filter(({ kind }) => kind === 'credit_note');
      expect(notes.map(({ total, corrects }) => ({ total, corrects }))).toEqual([
        { total: 5.25, corrects: receipt?.number },
        { total: 5.25, corrects: receipt?.number },
      ]);
      expect(receipt).toMatchObject({ amount: 10, fee: 0.5, total: 10.5 });
    });

    it('of money that was spent take what is there; the rest is the operator’s loss', async () => {
      const { till, world, service, person, id } = await suite.ordered(small);
      await till.told(till.payByCard(id));
      // Simulates requests that have cost 4 USD.
      await service.pool.query(
        `with t as (insert into ledger_transactions (id, kind, reference) values (gen_random_uuid(), 'charge', $1) returning id),
           e as (insert into ledger_entries (transaction_id, ledger_account, amount_nusd)
             select t.id, x.account, x.amount from t, (values ('wallet:' || $2, -4000000000), ('revenue', 4000000000)) as x (account, amount))
         update accounts set balance_nusd = balance_nusd - 4000000000, version = version + 1 where id = $2::uuid`,
        [`test:${randomUUID()}`, person.accountId],
      );
      await till.told(world.stripe.event('charge.refunded', world.stripe.refund(id, 1050)));
      expect(await till.balance(person)).toBe(0);
      const { rows } = await service.pool.query<{ account: string; amount: string }>(
        `select ledger_account as account, sum(amount_nusd) as amount from ledger_entries e
         join ledger_transactions t on t.id = e.transaction_id where t.reference like 'order%' || $1 || '%' group by 1`,
        [id],
      );
      expect(Object.fromEntries(rows.map(({ account, amount }) => [account, BigInt(amount)]))).toEqual({
        [`wallet:${person.accountId}`]: 4_000_000_000n,
        shortfall: -4_000_000_000n,
        fees: 0n,
        'funding:card': 0n,
      });
    });

    it('whose webhook was lost are found by looking', async () => {
      const { till, world, person, id } = await suite.ordered(small);
      await till.told(till.payByCard(id));
      world.stripe.refund(id, 1050);
      await till.due(id);
      await till.becomes(person, id, 'refunded');
      await till.hasBalance(person, 0);
    });
  });

  describe('disputes', () => {
    const disputeOf = (id: string, status: string, dispute = 'dp_1', amount = 1050) =>
      suite.world.stripe.dispute(id, { id: dispute, status, amount });

    it('are shown when they begin, and cost the credit when they are lost', async () => {
      const { till, world, person, id } = await suite.ordered(small);
      const paid = till.payByCard(id);
      const opened = world.stripe.event('charge.dispute.created', disputeOf(id, 'needs_response'));
      // The dispute may arrive even before the payment was reported.
      expect((await till.told(opened)).outcome).toBe('flagged');
      await till.told(paid);
      expect(await till.read(person, id)).toMatchObject({ status: 'paid', problem: { code: 'disputed' } });
      await till.hasBalance(person, 10);
      const lost = world.stripe.event('charge.dispute.closed', disputeOf(id, 'lost'));
      await till.told(lost);
      await till.told(lost);
      expect(await till.read(person, id)).toMatchObject({ status: 'refunded', refunded: 10.5, problem: null });
      expect(await till.balance(person)).toBe(0);
    });

    it.each([
      ['won', ['created', 'won', 'created', 'won']],
      // The deliveries overtake each other.
      ['won', ['won', 'created', 'won', 'created']],
      ['warning_closed', ['created', 'warning_closed']],
    ])('that are closed as %s cost nothing and are over, after %j', async (_, statuses) => {
      const { till, world, person, id } = await suite.ordered(small);
      await till.told(till.payByCard(id));
      const tell = (status: string, dispute: string) => {
        const type = status === 'created' ? 'charge.dispute.created' : 'charge.dispute.closed';
        return till.told(world.stripe.event(type, disputeOf(id, status, dispute)));
      };
      for (const status of statuses) await tell(status, 'dp_1');
      expect(await till.read(person, id)).toMatchObject({ status: 'paid', problem: null });
      await till.hasBalance(person, 10);
      // Another dispute of the same payment is news.
      expect((await tell('created', 'dp_2')).outcome).toBe('flagged');
      expect(await till.read(person, id)).toMatchObject({ status: 'paid', problem: { code: 'disputed' } });
    });

    // Each loss is told by several deliveries at once. Each delivery locks the order and looks into its history.
    it.each([
      ['after the payment', true],
      ['before the payment is known', false],
    ])('of parts of a payment each cost their part once when they are lost, %s', async (_, paidFirst) => {
      const { till, world, person, id } = await suite.ordered(small);
      const paid = till.payByCard(id);
      if (paidFirst) await till.told(paid);
      const tell = (dispute: string, cents: number) =>
        till.told(world.stripe.event('charge.dispute.closed', disputeOf(id, 'lost', dispute, cents)));
      const twice = () => [tell('dp_1', 420), tell('dp_2', 210), tell('dp_1', 420), tell('dp_2', 210)];
      await Promise.all(twice());
      if (!paidFirst) await till.told(paid);
      expect(await till.read(person, id)).toMatchObject({ status: 'paid', refunded: 6.3 });
      await till.hasBalance(person, 4);
      await Promise.all([...twice(), tell('dp_3', 420)]);
      expect(await till.read(person, id)).toMatchObject({ status: 'refunded', refunded: 10.5 });
      await till.hasBalance(person, 0);
    });

    it('are shown until the last of two is over', async () => {
      const { till, world, person, id } = await suite.ordered(small);
      await till.told(till.payByCard(id));
      const problemAfter = async (type: 'created' | 'closed', dispute: string) => {
        const status = type === 'created' ? 'needs_response' : 'won';
        await till.told(world.stripe.event(`charge.dispute.${type}`, disputeOf(id, status, dispute)));
        return (await till.read(person, id)).problem?.code;
      };
      expect(await problemAfter('created', 'dp_1')).toBe('disputed');
      expect(await problemAfter('created', 'dp_2')).toBe('disputed');
      expect(await problemAfter('closed', 'dp_1')).toBe('disputed');
      expect(await problemAfter('closed', 'dp_2')).toBeUndefined();
    });
  });

  describe('without webhooks', () => {
    it('a payment is found by looking', async () => {
      const { till, world, person, id } = await suite.ordered(small);
      world.stripe.pay(id);
      await till.due(id);
      await till.becomes(person, id, 'paid');
      await till.hasBalance(person, 10);
    });

    it('disputes are found by looking, and each costs its part once', async () => {
      const { till, world, person, id } = await suite.ordered(small);
      await till.told(till.payByCard(id));
      await till.hasBalance(person, 10);
      world.stripe.dispute(id, { id: 'dp_1', status: 'needs_response', amount: 420 });
      await till.due(id);
      await expect.poll(async () => (await till.read(person, id)).problem?.code).toBe('disputed');
      const lost = world.stripe.dispute(id, { id: 'dp_1', status: 'lost', amount: 420 });
      world.stripe.dispute(id, { id: 'dp_2', status: 'lost', amount: 210 });
      world.stripe.dispute(id, { id: 'dp_3', status: 'warning_closed', amount: 420 });
      // Looks may overlap, and the one before may only now set the time of the next.
      await until(async () => {
        await till.due(id);
        return (await till.balance(person)) === 4;
      }, 'both losses are taken back');
      // The webhook of one arrives after all.
      await till.told(world.stripe.event('charge.dispute.closed', lost));
      expect(await till.read(person, id)).toMatchObject({ status: 'paid', refunded: 6.3, problem: null });
      await till.hasBalance(person, 4);
    });

    it('a person who polls brings the look forward', async () => {
      const { till, service, person, id } = await suite.ordered(small);
      const nextCheck = async (): Promise<number> => {
        const { rows } = await service.pool.query<{ at: Date }>(
          'select next_check_at as at from orders where id = $1',
          [id],
        );
        return rows[0]?.at.getTime() ?? 0;
      };
      const before = await nextCheck();
      await till.read(person, id);
      expect(await nextCheck()).toBeLessThan(before);
    });

    it('an order that nobody pays expires, and cannot be paid at Stripe any more', async () => {
      const { till, world, person, id } = await suite.ordered(small);
      await till.due(id, { over: true });
      await till.becomes(person, id, 'expired');
      expect(world.stripe.sessionOf(id).status).toBe('expired');
      expect(await till.ledger(person)).toEqual([]);
    });

    it('an order that was paid in its last moment is credited, not expired', async () => {
      const { till, world, person, id } = await suite.ordered(small);
      world.stripe.pay(id);
      await till.due(id, { over: true });
      await till.becomes(person, id, 'paid');
      expect(await till.ledger(person)).toEqual([{ kind: 'top_up', amount: ten }]);
    });
  });
});

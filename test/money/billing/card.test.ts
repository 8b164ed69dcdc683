import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { expectError } from '../../kit/expect-error.ts';
import { until } from '../../kit/service.ts';
import { moneyBack } from './card-money-back.suite.ts';
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

  moneyBack(suite);

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

import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { expectError } from '../../kit/expect-error.ts';
import { until } from '../../kit/service.ts';
import { describeBilling } from './world.ts';

const small = { package_id: 'small', rail: 'card' };
const ten = 10_000_000_000n;

await describeBilling('payment by card, when things break', (suite) => {
  it('killed between its row and Stripe’s answer, the order goes on with the one session that was made', async () => {
    const { till, world, person } = await suite.visited();
    const { id, status } = await till.placeAndKill(person, small, 'stripe', '/checkout/sessions');
    expect(status).toBe('created');
    await till.due(id);
    const order = await till.becomes(person, id, 'pending');
    // `sessionOf` throws if the order has two sessions.
    expect(order.checkout_url).toBe(world.stripe.sessionOf(id).url);
    await till.told(till.payByCard(id));
    await till.hasBalance(person, 10);
  });

  it('killed between its row and Stripe’s answer, the form is sent again: the same order, with the one session', async () => {
    const { till, world, person } = await suite.visited();
    const body = { ...small, form_id: randomUUID() };
    await till.placeAndKill(person, body, 'stripe', '/checkout/sessions');
    // The process that was killed holds the lease for a minute, so the order waits until then.
    const waiting = await till.place(person, body);
    expect([waiting.status, waiting.json]).toMatchObject([200, { status: 'created' }]);
    const { id } = waiting.json as { id: string };
    await till.due(id);
    await until(async () => {
      const again = await till.place(person, body);
      expect([again.status, again.json]).toMatchObject([200, { id }]);
      return (again.json as { status: string }).status === 'pending';
    }, 'it is opened');
    expect(await till.place(person, body)).toMatchObject({
      status: 200,
      json: { id, checkout_url: world.stripe.sessionOf(id).url },
    });
  });

  it('a card that two orders save at once is saved with one customer, and neither order fails', async () => {
    const { till, world, person } = await suite.visited();
    const body = { ...small, save_card: true };
    // Stripe answers this way while another call with the same idempotency key is running.
    world.stripe.inUse.add(`customer:${person.accountId}`);
    const second = await till.order(person, body);
    expect(second.status).toBe('created');
    world.stripe.inUse.clear();
    const first = await till.order(person, body);
    await till.due(second.id);
    await till.becomes(person, second.id, 'pending');
    const customers = [first, second].map(({ id }) => world.stripe.sessionOf(id).customer);
    expect(customers[0]).toMatch(/^cus_/);
    expect(customers[1]).toBe(customers[0]);
  });

  it('killed before Stripe’s answer and paid meanwhile, the webhook credits the order all the same', async () => {
    const { till, person } = await suite.visited();
    const { id } = await till.placeAndKill(person, small, 'stripe', '/checkout/sessions');
    await till.told(till.payByCard(id));
    expect(await till.read(person, id)).toMatchObject({ status: 'paid' });
    await till.hasBalance(person, 10);
  });

  it('killed while its webhook is applied, the order is credited once when it is delivered again', async () => {
    const { till, service, person } = await suite.visited();
    const orders = [await till.order(person, small), await till.order(person, small), await till.order(person, small)];
    const events = orders.map(({ id }) => till.payByCard(id));
    const delivering = Promise.allSettled(events.flatMap((event) => [till.deliver(event), till.deliver(event)]));
    await Promise.race([
      delivering,
      until(async () => (await till.ledger(person)).length > 0, 'the first is committed'),
    ]);
    await service.control.kill9();
    await delivering;
    await service.control.restart();
    for (const event of events) await till.told(event);
    expect(await till.ledger(person)).toEqual(events.map(() => ({ kind: 'top_up', amount: ten })));
    expect(await till.receipts(person)).toHaveLength(3);
    await till.hasBalance(person, 30);
  });

  it('with Stripe down the order waits, and is opened when it is back', async () => {
    const { till, world, person } = await suite.visited();
    world.stripe.server.trouble = 'down';
    const order = await till.order(person, small);
    expect(order).toMatchObject({ status: 'created' });
    expect(order.checkout_url).toBeUndefined();
    world.stripe.server.trouble = undefined;
    await till.due(order.id);
    const opened = await till.becomes(person, order.id, 'pending');
    expect(opened.checkout_url).toBe(world.stripe.sessionOf(order.id).url);
  });

  it('a dispute that cannot be placed while Stripe is down is to be delivered again', async () => {
    const { till, world } = suite;
    const event = world.stripe.event('charge.dispute.created', {
      id: 'dp_2',
      status: 'needs_response',
      amount: 1050,
      payment_intent: 'pi_unknown',
    });
    world.stripe.server.trouble = 'down';
    const answer = await till.deliver(event);
    world.stripe.server.trouble = undefined;
    expectError(answer, 503, 'service_unavailable');
    expect(answer.headers.get('retry-after')).toBe('60');
    expect((await till.told(event)).outcome).toBe('unknown_order');
  });

  it('logs only ids, names of operations and numbers', async () => {
    await until(() => suite.service.logs().includes('order moved'), 'something was logged');
    // In embedded mode, mails are printed among the log lines.
    const isLogged = (line: string): boolean => line.startsWith('{');
    const logs = suite.service.logs().split('\n').filter(isLogged).join('\n');
    expect(logs).toContain('order moved');
    for (const secret of ['people.example', 'sk_test', 'whsec', '"Ann', 'checkout.stripe.example', 'cs_test']) {
      expect(logs).not.toContain(secret);
    }
  });
});

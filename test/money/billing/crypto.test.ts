import { describe, expect, it } from 'vitest';
import { btcpaySignature } from '../../kit/btcpay-stand-in.ts';
import { expectError } from '../../kit/expect-error.ts';
import { until } from '../../kit/service.ts';
import { describeBilling } from './world.ts';

const medium = { package_id: 'medium', rail: 'crypto' };
const credited = { kind: 'top_up', amount: 25_000_000_000n };

await describeBilling(
  'payment by crypto',
  (suite) => {
    const invoiceOf = (orderId: string) => suite.world.btcpay.invoiceOf(orderId);
    const settled = (orderId: string): object => {
      const invoice = invoiceOf(orderId);
      Object.assign(invoice, { status: 'Settled', paidAmount: invoice.amount, payments: ['Settled'] });
      return suite.world.btcpay.delivery(invoice, 'InvoiceSettled');
    };

    it('opens an invoice over amount and fee, and shows where to pay it', async () => {
      const { order } = await suite.ordered(medium);
      const invoice = invoiceOf(order.id);
      expect(order).toMatchObject({ status: 'pending', total: 26.25, checkout_url: invoice.checkoutLink });
      expect(invoice).toMatchObject({ amount: '26.25', currency: 'USD', metadata: { orderId: order.id } });
      expect(JSON.stringify(invoice)).not.toContain('people.example');
    });

    it('credits a settled invoice once, delivered five times in a row and five at once', async () => {
      const { till, person, id } = await suite.ordered(medium);
      const delivery = settled(id);
      const told = await Promise.all(Array.from({ length: 5 }, () => till.toldByBtcpay(delivery)));
      for (let again = 0; again < 5; again += 1) told.push(await till.toldByBtcpay(delivery));
      expect(told.filter(({ outcome }) => outcome === 'applied')).toHaveLength(1);
      expect(told.filter(({ outcome }) => outcome === 'unchanged')).toHaveLength(9);
      expect(await till.ledger(person)).toEqual([credited]);
      expect(await till.receipts(person)).toMatchObject([{ rail: 'crypto', amount: 25, fee: 1.25 }]);
      await till.hasBalance(person, 25);
    });

    it('believes the API, not the body: a signed claim that the invoice is settled credits nothing', async () => {
      const { till, world, person, id } = await suite.ordered(medium);
      expect((await till.toldByBtcpay(world.btcpay.delivery(invoiceOf(id), 'InvoiceSettled'))).outcome).toBe('ignored');
      expect((await till.read(person, id)).status).toBe('pending');
      expect(await till.ledger(person)).toEqual([]);
    });

    it('waits for confirmations, past the end of the order too', async () => {
      const { till, world, person, id } = await suite.ordered(medium);
      Object.assign(invoiceOf(id), { status: 'Processing', payments: ['Processing'] });
      await till.toldByBtcpay(world.btcpay.delivery(invoiceOf(id), 'InvoiceProcessing'));
      const asked = (): number =>
        world.btcpay.server.calls.filter(({ path }) => path.endsWith(invoiceOf(id).id)).length;
      // A look begins only after the one before has ended, and asks at most twice.
      for (let question = 0; question < 3; question += 1) {
        const before = asked();
        await until(async () => {
          await till.due(id, { over: true });
          return asked() > before;
        }, 'BTCPay is asked');
      }
      expect((await till.read(person, id)).status).toBe('pending');
      await till.toldByBtcpay(settled(id));
      await till.hasBalance(person, 25);
    });

    it.each<[string, (body: string) => string]>([
      ['with another secret', (body) => btcpaySignature(body, 'another secret')],
      ['for another body', () => btcpaySignature('{}')],
      ['without its scheme', (body) => btcpaySignature(body).slice('sha256='.length)],
      ['by nothing', () => ''],
    ])('refuses a delivery signed %s', async (_, sign) => {
      const { till, person, id } = await suite.ordered(medium);
      const delivery = settled(id);
      expectError(await till.deliverBtcpay(delivery, sign(JSON.stringify(delivery))), 400, 'invalid_request');
      expect(await till.ledger(person)).toEqual([]);
    });

    it('gives a signed delivery no order of another rail, whichever of its ids it names', async () => {
      const { till, world, person, id } = await suite.ordered(medium);
      const card = await till.order(person, { package_id: 'medium', rail: 'card' });
      // Both payments are over the right amount, and each names the order of the other rail.
      const session = JSON.stringify(till.payByCard(card.id));
      const ownSession = world.stripe.sessionOf(card.id).id;
      const stolen = session.replaceAll(card.id, id).replaceAll(ownSession, invoiceOf(id).id);
      expect((await till.told(JSON.parse(stolen) as object)).outcome).toBe('unknown_order');
      const delivery = settled(id);
      Object.assign(invoiceOf(id), { id: ownSession, metadata: { orderId: card.id } });
      expect((await till.toldByBtcpay({ ...delivery, invoiceId: ownSession })).outcome).toBe('unknown_order');
      for (const order of [id, card.id]) expect((await till.read(person, order)).status).toBe('pending');
      expect(await till.ledger(person)).toEqual([]);
    });

    it('explains deliveries about invoices that it does not know, tests of the webhook and other stores', async () => {
      const { till, world, person, id } = await suite.ordered(medium);
      const delivery = (invoiceId: string, more: object = {}) => ({
        ...world.btcpay.delivery({ id: invoiceId }, 'InvoiceSettled'),
        ...more,
      });
      expect((await till.toldByBtcpay(delivery('nowhere'))).outcome).toBe('ignored');
      expect((await till.toldByBtcpay(delivery('__test__abc__test__'))).message).toContain('test of the webhook');
      expect((await till.toldByBtcpay(delivery('x', { storeId: 'Other' }))).message).toContain('another store');
      const foreign = settled(id);
      // An invoice of another shop that uses the same BTCPay store.
      Object.assign(invoiceOf(id), { id: 'foreign', metadata: { orderId: 'shop-17' } });
      expect((await till.toldByBtcpay({ ...foreign, invoiceId: 'foreign' })).outcome).toBe('unknown_order');
      expect(await till.ledger(person)).toEqual([]);
    });

    it.each<[string, object, string]>([
      ['over a lower amount', { amount: '26.24' }, 'amount_differs'],
      ['over a higher amount', { amount: '2625' }, 'amount_differs'],
      ['in another currency', { currency: 'EUR' }, 'currency_differs'],
    ])('credits nothing for a settled invoice %s, and says so', async (_, difference, code) => {
      const { till, person, id } = await suite.ordered(medium);
      const delivery = settled(id);
      Object.assign(invoiceOf(id), difference);
      for (let again = 0; again < 3; again += 1) {
        expect((await till.toldByBtcpay(delivery)).outcome).toBe('flagged');
      }
      expect(await till.read(person, id)).toMatchObject({ status: 'failed', problem: { code } });
      expect(await till.ledger(person)).toEqual([]);
    });

    it('credits what was ordered where more was paid, and says so', async () => {
      const { till, person, id } = await suite.ordered(medium);
      const delivery = settled(id);
      Object.assign(invoiceOf(id), { additionalStatus: 'PaidOver', paidAmount: '30.00' });
      expect((await till.toldByBtcpay(delivery)).outcome).toBe('flagged');
      expect(await till.read(person, id)).toMatchObject({ status: 'paid', problem: { code: 'overpaid' } });
      expect(await till.ledger(person)).toEqual([credited]);
    });

    it('credits nothing where less was paid until the end, and says so', async () => {
      const { till, world, person, id } = await suite.ordered(medium);
      Object.assign(invoiceOf(id), { status: 'Expired', additionalStatus: 'PaidPartial', payments: ['Settled'] });
      await till.toldByBtcpay(world.btcpay.delivery(invoiceOf(id), 'InvoiceExpired'));
      expect(await till.read(person, id)).toMatchObject({ status: 'expired', problem: { code: 'paid_partially' } });
      expect(await till.ledger(person)).toEqual([]);
    });

    it('credits what was paid after the end, as soon as it is confirmed', async () => {
      const { till, world, person, id } = await suite.ordered(medium);
      const told = () => till.toldByBtcpay(world.btcpay.delivery(invoiceOf(id), 'InvoicePaymentSettled'));
      invoiceOf(id).status = 'Expired';
      await told();
      expect((await till.read(person, id)).status).toBe('expired');
      Object.assign(invoiceOf(id), { additionalStatus: 'PaidLate', payments: ['Settled', 'Processing'] });
      expect((await told()).outcome).toBe('ignored');
      expect(await till.ledger(person)).toEqual([]);
      invoiceOf(id).payments = ['Settled', 'Settled'];
      expect((await told()).outcome).toBe('applied');
      expect(await till.ledger(person)).toEqual([credited]);
    });

    it('waits no more for what was paid after the end and never confirms, and says what is left of it', async () => {
      const { till, world, person, id } = await suite.ordered(medium);
      const told = () => till.toldByBtcpay(world.btcpay.delivery(invoiceOf(id), 'InvoicePaymentSettled'));
      Object.assign(invoiceOf(id), { status: 'Expired', additionalStatus: 'PaidLate', payments: ['Invalid'] });
      await told();
      expect(await till.read(person, id)).toMatchObject({ status: 'expired', problem: null });
      invoiceOf(id).payments = ['Settled', 'Invalid'];
      await told();
      expect(await till.read(person, id)).toMatchObject({ status: 'expired', problem: { code: 'paid_partially' } });
      expect(await till.ledger(person)).toEqual([]);
    });

    it('credits once where two invoices of one order are paid, and says so', async () => {
      const { till, world, person, id } = await suite.ordered(medium);
      const first = settled(id);
      const second = { ...invoiceOf(id), id: 'second-invoice' };
      await till.toldByBtcpay(first);
      world.btcpay.invoices.push(second);
      const told = await till.toldByBtcpay(world.btcpay.delivery(second, 'InvoiceSettled'));
      expect(told.outcome).toBe('flagged');
      expect(await till.read(person, id)).toMatchObject({ status: 'paid', problem: { code: 'paid_twice' } });
      expect(await till.ledger(person)).toEqual([credited]);
    });

    it('finds a settled invoice without any webhook, and a late one of an order that expired', async () => {
      const { till, person, id } = await suite.ordered(medium);
      invoiceOf(id).status = 'Expired';
      await till.due(id, { over: true });
      await till.becomes(person, id, 'expired');
      settled(id);
      await till.due(id);
      await till.becomes(person, id, 'paid');
      await till.hasBalance(person, 25);
    });

    it('asks to deliver again while BTCPay cannot be asked', async () => {
      const { till, world, id } = await suite.ordered(medium);
      const delivery = settled(id);
      world.btcpay.server.trouble = 'down';
      const answer = await till.deliverBtcpay(delivery);
      world.btcpay.server.trouble = undefined;
      expectError(answer, 503, 'service_unavailable');
      expect((await till.toldByBtcpay(delivery)).outcome).toBe('applied');
    });

    it('killed between its row and BTCPay’s answer, the order goes on with the one invoice that was made', async () => {
      const { till, person } = await suite.visited();
      const { id } = await till.placeAndKill(person, medium, 'btcpay', '/invoices');
      await till.due(id);
      const order = await till.becomes(person, id, 'pending');
      // `invoiceOf` throws if the order has two invoices.
      expect(order.checkout_url).toBe(invoiceOf(id).checkoutLink);
    });

    it('records what the operator returned, which no webhook tells', async () => {
      const { till, service, person, id } = await suite.ordered(medium);
      const refused = async (usd: string, reason: RegExp): Promise<void> => {
        const { code, output } = await service.runControl(['order', 'refund', id, usd]);
        expect([code, output]).toEqual([1, expect.stringMatching(reason)]);
      };
      await refused('26.25', /is pending: it was not credited/);
      await till.toldByBtcpay(settled(id));
      await till.hasBalance(person, 25);
      await refused('26.250000001', /the most is the order's price, 26\.25 USD/);
      await service.pool.query('alter table acts add constraint not_now check (false) not valid');
      await refused('26.25', /not_now/);
      await service.pool.query('alter table acts drop constraint not_now');
      expect(await till.ledger(person)).toEqual([credited]);
      const { output: once } = await service.runControl(['order', 'refund', id, '26.25']);
      const { output: twice } = await service.runControl(['order', 'refund', id, '26.25']);
      expect([once, twice]).toEqual(['refunded: 26.25 USD refunded\n', 'refunded: 26.25 USD refunded\n']);
      expect(await till.ledger(person)).toEqual([credited, { kind: 'refund', amount: -25_000_000_000n }]);
      await till.hasBalance(person, 0);
    });

    describe('a service', () => {
      it('never shows the API key or the secret', async () => {
        expect(suite.service.logs()).not.toMatch(/btcpay-api-key|btcpay-webhook-/);
      });
    });
  },
  { planes: ['one'] },
);

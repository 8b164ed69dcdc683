import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { BillingSuite } from './world.ts';

const small = { package_id: 'small', rail: 'card' };
const ten = 10_000_000_000n;

/** Refunds and disputes: money that leaves again after a card has paid. */
export function moneyBack(suite: BillingSuite): void {
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
}

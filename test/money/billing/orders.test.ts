import { randomUUID } from 'node:crypto';
import { billingCatalogSchema } from '@sotto/contract/control/billing';
import { orderAnswerSchema, orderPageSchema, receiptAnswerSchema } from '@sotto/contract/control/orders';
import { whileHeld } from '@sotto/test-servers';
import { describe, expect, it } from 'vitest';
import type { Answer } from '../../kit/answer.ts';
import { expectCallersFault, expectError } from '../../kit/expect-error.ts';
import { get, post } from '../../kit/send.ts';
import type { Service } from '../../kit/service.ts';
import { describeBilling, type Person } from './world.ts';

const test = (package_id = 'small') => ({ package_id, rail: 'test' });

/** Calls ten times. All wait for the account's lock at once, so that none sees what another is about to order. */
const tenAtOnce = (service: Service, { accountId }: Person, call: () => Promise<Answer>): Promise<Answer[]> =>
  whileHeld(
    service.pool,
    {
      rows: 'select 1 from accounts where id = $1 for update',
      values: [accountId],
      waiting: 'select wallet_id, balance_nusd, version from accounts',
    },
    Array.from({ length: 10 }, () => call),
  );

await describeBilling('orders and receipts', (suite) => {
  describe('the catalog', () => {
    it('shows packages, limits, fee, terms and rails without a credential, and may be cached', async () => {
      const answer = await get(suite.till.url('/billing/catalog'));
      expect(answer.status).toBe(200);
      expect(answer.headers.get('cache-control')).toContain('public');
      expect(answer.headers.get('access-control-allow-origin')).toBe('*');
      expect(billingCatalogSchema.parse(answer.json)).toEqual({
        mode: 'prepaid',
        currency: 'USD',
        packages: [
          { id: 'small', amount: 10, fee: 0.5, total: 10.5 },
          { id: 'medium', amount: 25, fee: 1.25, total: 26.25 },
          { id: 'large', amount: 100, fee: 5, total: 105 },
        ],
        limits: { max_balance: 400, max_open_orders: 3, max_per_day: 300 },
        fee: { percent: 5, fixed: 0, minimum: 0.5 },
        order_lifetime_minutes: 60,
        terms: { text: 'Prepaid.', url: 'https://seller.example/terms' },
        rails: { card: { enabled: true }, crypto: { enabled: true }, test: { enabled: true } },
      });
    });
  });

  describe('the test rail', () => {
    it('pays at once, and the money can be spent when the answer says paid', async () => {
      const { till, service, person, order } = await suite.ordered(test('medium'));
      expect(order).toMatchObject({ status: 'paid', rail: 'test', amount: 25 });
      await till.hasBalance(person, 25);
      const made = await post(till.url('/keys'), { name: 'first', kind: 'inference' }, person.session);
      const { key } = made.json as { key: string };
      const ticket = await service.mintTicket(key, { model: 'm/one' });
      const chat = await post(
        `${service.baseUrl}/chat/completions`,
        { model: 'm/one', messages: [{ role: 'user', content: 'hi' }] },
        { 'x-router-ticket': ticket.ticket },
      );
      expect(chat.status, chat.text).toBe(200);
    });

    it('books one pair for the credit and one for the fee', async () => {
      const { service, person, id } = await suite.ordered(test('medium'));
      const { rows } = await service.pool.query(
        `select t.kind, e.ledger_account as account, e.amount_nusd::text as amount from ledger_entries e
         join ledger_transactions t on t.id = e.transaction_id where t.reference like 'order%' || $1 order by e.id`,
        [id],
      );
      expect(rows).toEqual([
        { kind: 'top_up', account: `wallet:${person.accountId}`, amount: '25000000000' },
        { kind: 'top_up', account: 'funding:test', amount: '-25000000000' },
        { kind: 'fee', account: 'fees', amount: '1250000000' },
        { kind: 'fee', account: 'funding:test', amount: '-1250000000' },
      ]);
    });
  });

  describe('an order that cannot be placed is refused with the field at fault', () => {
    it.each<[string, unknown, number, string, string | undefined]>([
      ['of an unknown package', { package_id: 'huge', rail: 'test' }, 400, 'invalid_request', 'package_id'],
      ['of no package', { rail: 'test' }, 400, 'invalid_request', 'package_id'],
      ['by an unknown rail', { package_id: 'small', rail: 'gold' }, 400, 'invalid_request', 'rail'],
      [
        'with an amount of its own',
        { package_id: 'small', rail: 'test', amount: 1 },
        400,
        'invalid_request',
        undefined,
      ],
      ['with a card to save that is none', { ...test(), save_card: true }, 400, 'invalid_request', 'save_card'],
      ['that is a list', [], 400, 'invalid_request', undefined],
    ])('%s', async (_, body, status, type, param) => {
      const person = await suite.person();
      const answer = await suite.till.place(person, body as object);
      expectError(answer, status, type, param);
      const listed = await get(suite.till.url('/billing/orders'), person.session);
      expect(orderPageSchema.parse(listed.json).data).toEqual([]);
    });
  });

  describe('a form', () => {
    const listed = async (person: Person) =>
      orderPageSchema.parse((await get(suite.till.url('/billing/orders'), person.session)).json).data;

    it('that is sent again is the order of before, paid and receipted once', async () => {
      const { till, person } = await suite.visited();
      const body = { ...test(), form_id: randomUUID() };
      const answers = [await till.place(person, body), await till.place(person, body)];
      expect(answers.map(({ status }) => status)).toEqual([201, 200]);
      const [first, second] = answers.map(({ json }) => orderAnswerSchema.parse(json));
      expect(second).toEqual(first);
      expect(answers[1]?.headers.get('location')).toBe(`/v1/billing/orders/${first?.id}`);
      expect(await listed(person)).toEqual([first]);
      expect(await till.receipts(person)).toHaveLength(1);
      await till.hasBalance(person, 10);
    });

    it.each(['card', 'crypto', 'test'])(
      'that is sent ten times at once is one order, opened once (%s)',
      async (rail) => {
        const { till, service, world, person } = await suite.visited();
        const body = { package_id: 'small', rail, form_id: randomUUID() };
        const answers = await tenAtOnce(service, person, () => till.place(person, body));
        expect(answers.map(({ status }) => status).sort()).toEqual([...Array<number>(9).fill(200), 201]);
        const ids = new Set(answers.map(({ json }) => orderAnswerSchema.parse(json).id));
        expect(ids.size).toBe(1);
        const [id = ''] = ids;
        expect((await listed(person)).map((order) => order.id)).toEqual([id]);
        // Each of these throws if there are two.
        if (rail === 'card') world.stripe.sessionOf(id);
        if (rail === 'crypto') world.btcpay.invoiceOf(id);
        expect(await till.receipts(person)).toHaveLength(rail === 'test' ? 1 : 0);
        expect((await till.place(person, body)).status).toBe(200);
      },
    );

    it('that comes back with another order is refused, and orders nothing', async () => {
      const { till, person } = await suite.visited();
      const body = { package_id: 'small', rail: 'card', form_id: randomUUID() };
      const { id } = await till.order(person, body);
      for (const other of [{ package_id: 'medium' }, { rail: 'test' }, { save_card: true }]) {
        const refused = await till.place(person, { ...body, ...other });
        expectError(refused, 409, 'conflict', 'form_id');
        expect(refused.text).toContain(id);
      }
      expect((await till.place(person, { ...body, save_card: false })).status).toBe(200);
      expect((await listed(person)).map((order) => order.id)).toEqual([id]);
    });

    it('belongs to its account: another account may use the same id', async () => {
      const { till } = suite;
      const [ann, ben] = [await suite.person(), await suite.person()];
      const body = { ...test(), form_id: randomUUID() };
      const [first, second] = [await till.order(ann, body), await till.order(ben, body)];
      expect(second.id).not.toBe(first.id);
    });

    it('is answered even when a limit refuses another order', async () => {
      const { till, person } = await suite.visited();
      const body = { package_id: 'small', rail: 'crypto', form_id: randomUUID() };
      const { id } = await till.order(person, body);
      for (let open = 0; open < 2; open += 1) await till.order(person, { package_id: 'small', rail: 'crypto' });
      expectError(await till.place(person, { ...body, form_id: randomUUID() }), 409, 'top_up_limit', 'package_id');
      expect(await till.place(person, body)).toMatchObject({ status: 200, json: { id } });
    });

    it('without an id orders anew each time, as clients of before do', async () => {
      const { till, person } = await suite.visited();
      const [first, second] = [await till.order(person, test()), await till.order(person, test())];
      const third = await till.order(person, { ...test(), form_id: null });
      expect(new Set([first.id, second.id, third.id]).size).toBe(3);
    });

    it.each(['', 'short', 'x'.repeat(65), 'with spaces in between', 'a\0aaaaaaaaaaaaaaaaaaaaaa', 7])(
      'of the id %j is refused',
      async (form_id) => {
        const person = await suite.person();
        expectError(await suite.till.place(person, { ...test(), form_id }), 400, 'invalid_request', 'form_id');
        expect(await listed(person)).toEqual([]);
      },
    );
  });

  describe('limits', () => {
    const limited = (answer: Awaited<ReturnType<typeof suite.till.place>>, words: string): void => {
      expectError(answer, 409, 'top_up_limit', 'package_id');
      expect(answer.text).toContain(words);
      expect(answer.headers.get('x-should-retry')).toBe('false');
    };

    it('hold the open orders of an account, ten asked for at once too', async () => {
      const { till, service, person } = await suite.visited();
      const order = { package_id: 'small', rail: 'crypto' };
      const answers = await tenAtOnce(service, person, () => till.place(person, order));
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(3);
      for (const answer of answers.filter(({ status }) => status !== 201)) limited(answer, 'open orders');
      // An order that has ended makes room for another.
      const [open] = answers.filter(({ status }) => status === 201);
      const { id } = orderAnswerSchema.parse(open?.json);
      suite.world.btcpay.invoiceOf(id).status = 'Expired';
      await till.due(id);
      await till.becomes(person, id, 'expired');
      expect((await till.place(person, order)).status).toBe(201);
    });

    it('hold what is ordered in a day, paid or open', async () => {
      const { till, person } = await suite.visited();
      for (let order = 0; order < 3; order += 1) await till.order(person, test('large'));
      limited(await till.place(person, test('small')), '300 USD can be ordered in 24 hours');
    });

    it('hold what a balance may become, open orders counted in', async () => {
      const { till, person } = await suite.visited();
      await till.give(person, 280);
      await till.order(person, { package_id: 'large', rail: 'card' });
      limited(await till.place(person, test('medium')), 'topped up to at most 400 USD');
      await till.order(person, test('small'));
    });
  });

  describe('lists', () => {
    it('page through every order and receipt once, newest first', async () => {
      const { till, person } = await suite.visited();
      const made: string[] = [];
      for (let order = 0; order < 5; order += 1) made.unshift((await till.order(person, test())).id);
      const paged = async (path: string, idOf: (row: never) => string): Promise<string[]> => {
        const ids: string[] = [];
        for (let cursor: string | null = ''; cursor !== null; ) {
          const answer = await get(
            till.url(`${path}?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`),
            person.session,
          );
          expect(answer.status, answer.text).toBe(200);
          const page = answer.json as { data: never[]; next_cursor: string | null };
          expect(page.data.length).toBeLessThanOrEqual(2);
          ids.push(...page.data.map(idOf));
          cursor = page.next_cursor;
        }
        return ids;
      };
      expect(await paged('/billing/orders', (row: { id: string }) => row.id)).toEqual(made);
      const numbers = await paged('/billing/receipts', (row: { number: string }) => row.number);
      expect(numbers).toEqual([...numbers].sort().reverse());
      expect(new Set(numbers).size).toBe(5);
    });

    it.each(['limit=0', 'limit=101', 'cursor=x', 'cursor=%00', 'bogus=1'])('refuse ?%s', async (query) => {
      const person = await suite.person();
      for (const path of ['/billing/orders', '/billing/receipts']) {
        expectError(await get(suite.till.url(`${path}?${query}`), person.session), 400, 'invalid_request');
      }
    });
  });

  describe('receipts', () => {
    it('are numbered without gaps over all accounts, however many are paid at once and however many fail', async () => {
      const { till, service } = suite;
      const people = await Promise.all(Array.from({ length: 8 }, () => suite.person()));
      await Promise.all(
        people.flatMap((person) => [
          till.place(person, test()),
          till.place(person, test()),
          till.place(person, test('no')),
        ]),
      );
      // A receipt whose transaction is rolled back leaves no hole.
      const client = await service.pool.connect();
      await client.query('begin');
      await client.query('update receipt_counters set last = last + 1');
      await client.query('rollback');
      client.release();
      await till.order(people[0] as Person, test());
      const { rows } = await service.pool.query<{ number: string }>('select number from receipts order by number');
      const year = new Date().getUTCFullYear();
      expect(rows.map(({ number }) => number)).toEqual(
        rows.map((_, at) => `${year}-${String(at + 1).padStart(6, '0')}`),
      );
      expect(rows.length).toBeGreaterThanOrEqual(17);
    });

    it.each([
      'update receipts set amount_nusd = 1',
      'delete from receipts',
      'truncate receipts',
      'update receipt_counters set last = last + 2',
      'update receipt_counters set last = last - 1',
      'delete from receipt_counters',
      'truncate receipt_counters',
      'update order_events set event = $$x$$',
      'delete from order_events',
      "update orders set amount_nusd = 1 where status = 'paid'",
      "update orders set status = 'failed' where status = 'paid'",
    ])('cannot be tampered with: %s', async (statement) => {
      await suite.till.order(await suite.person(), test());
      await expect(suite.service.pool.query(statement)).rejects.toThrow(
        /append-only|receipt numbers|ordered|stays paid/,
      );
    });

    it('come as JSON, as a page and as a PDF, by accept header and by format', async () => {
      const { till, person } = await suite.visited();
      const { receipt_number: number } = await till.order(person, test('medium'));
      const url = till.url(`/billing/receipts/${number}`);
      const json = await get(url, person.session);
      const receipt = receiptAnswerSchema.parse(json.json);
      expect(receipt).toMatchObject({ number, amount: 25, fee: 1.25, total: 26.25, kind: 'receipt', corrects: null });
      expect(receipt.seller).toEqual({ name: 'Seller <b>&</b> Sons', address: '1 Street', tax_id: 'X-1' });
      const { accountId: id, email } = person;
      expect(receipt.account).toEqual({ id, name: 'Ann <i>Other</i>', email, details: null });
      const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
      for (const page of [
        await get(url, { ...person.session, accept: browser }),
        await get(`${url}?format=html`, person.session),
      ]) {
        expect(page.status).toBe(200);
        expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
        expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
        expect(page.headers.get('content-security-policy')).not.toContain('script-src');
        expect(page.text).toContain('Ann &lt;i&gt;Other&lt;/i&gt;');
        expect(page.text).toContain('Seller &lt;b&gt;&amp;&lt;/b&gt; Sons');
        expect(page.text).toContain('USD 26.25');
      }
      for (const pdf of [
        await get(url, { ...person.session, accept: 'application/pdf' }),
        await get(`${url}?format=pdf`, { ...person.session, accept: browser }),
      ]) {
        expect(pdf.headers.get('content-type')).toBe('application/pdf');
        expect(pdf.headers.get('content-disposition')).toBe(`attachment; filename="receipt-${number}.pdf"`);
        expect(pdf.text.startsWith('%PDF-')).toBe(true);
      }
      const asJson = await get(`${url}?format=json`, { ...person.session, accept: 'text/html' });
      expect(asJson.json).toEqual(json.json);
      expect((await get(url, { ...person.session, accept: 'application/pdf;q=0.1, application/json' })).json).toEqual(
        json.json,
      );
      for (const answer of [json, asJson]) expect(answer.headers.get('cache-control')).toBe('no-store');
      expectError(await get(`${url}?format=xml`, person.session), 400, 'invalid_request', 'format');
    });

    it('stay as they were when the account changes', async () => {
      const { till, service, person } = await suite.visited();
      const { receipt_number: number } = await till.order(person, test());
      const url = till.url(`/billing/receipts/${number}`);
      const before = (await get(url, person.session)).json;
      await service.pool.query("update auth_user set name = 'Somebody Else' where email = $1", [person.email]);
      expect((await get(url, person.session)).json).toEqual(before);
    });

    it.each(['1', '2026-1', '9999-999999', '%00', '..%2f..', "' or 1=1", 'x'.repeat(500)])(
      'of the number %s are not there',
      async (number) => {
        expectCallersFault(await get(suite.till.url(`/billing/receipts/${number}`), (await suite.person()).session));
      },
    );
  });

  describe('orders that are not there', () => {
    it.each([randomUUID(), 'x', '%00', '..%2f..'])('%s', async (id) => {
      expectCallersFault(await get(suite.till.url(`/billing/orders/${id}`), (await suite.person()).session));
    });
  });

  it('one account has as many receipts as it was credited, over everything that was done here', async () => {
    const { rows } = await suite.service.pool.query<{ receipts: string; credits: string }>(
      `select (select count(*) from receipts where kind = 'receipt') as receipts,
         (select count(*) from ledger_transactions where kind = 'top_up') as credits`,
    );
    expect(rows[0]?.receipts).toBe(rows[0]?.credits);
  });
});

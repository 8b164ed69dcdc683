import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../../kit/answer.ts';
import { bearer } from '../../kit/client.ts';
import { expectError } from '../../kit/expect-error.ts';
import { get, type HeaderMap, post, send } from '../../kit/send.ts';
import type { TestAccount } from '../../kit/service.ts';
import { describeBilling, type Person } from './world.ts';

interface Owner {
  readonly person: Person;
  readonly orderId: string;
  readonly receiptNumber: string;
  readonly managementKey: string;
  readonly inferenceKey: string;
}

const settingsBody = { low_balance_usd: 5, auto_top_up: null };

await describeBilling('credentials of billing, balance and usage', (suite) => {
  const owners: Owner[] = [];
  let keys: TestAccount;

  beforeAll(async () => {
    for (let at = 0; at < 3; at += 1) {
      const person = await suite.person();
      const order = await suite.till.order(person, { package_id: 'small', rail: 'test' });
      const makeKey = async (kind: string): Promise<string> =>
        ((await post(suite.till.url('/keys'), { name: kind, kind }, person.session)).json as { key: string }).key;
      owners.push({
        person,
        orderId: order.id,
        receiptNumber: order.receipt_number ?? '',
        managementKey: await makeKey('management'),
        inferenceKey: await makeKey('inference'),
      });
    }
    keys = await suite.service.createAccount();
  });

  type Ask = (headers: HeaderMap, of: Owner) => Promise<Answer>;
  const url = (path: string): string => suite.till.url(path);
  /** Every endpoint that accepts only a session. */
  const sessionOnly: readonly [string, Ask][] = [
    ['POST /billing/orders', (headers) => post(url('/billing/orders'), { package_id: 'small', rail: 'card' }, headers)],
    ['GET /billing/orders', (headers) => get(url('/billing/orders'), headers)],
    ['GET /billing/orders/:orderId', (headers, { orderId }) => get(url(`/billing/orders/${orderId}`), headers)],
    ['GET /billing/receipts', (headers) => get(url('/billing/receipts'), headers)],
    [
      'GET /billing/receipts/:receiptNumber',
      (headers, { receiptNumber }) => get(url(`/billing/receipts/${receiptNumber}`), headers),
    ],
    ['GET /billing/settings', (headers) => get(url('/billing/settings'), headers)],
    ['PUT /billing/settings', (headers) => send('PUT', url('/billing/settings'), { headers, body: settingsBody })],
  ];
  const accountReads: readonly [string, Ask][] = [
    ['GET /balance', (headers) => get(url('/balance'), headers)],
    ['GET /usage', (headers) => get(url('/usage'), headers)],
  ];
  const first = (): Owner => owners[0] as Owner;

  describe.each(sessionOnly)('%s', (_, ask) => {
    it('takes the session of an account', async () => {
      const answer = await ask(first().person.session, first());
      expect([200, 201], answer.text).toContain(answer.status);
      expect(answer.headers.get('cache-control')).toBe('no-store');
    });

    it('takes no other credential', async () => {
      for (const headers of [
        {},
        bearer('sotto_mgt_nonsense'),
        { cookie: 'sotto.session_token=forged.abc' },
        { 'x-router-ticket': 'x' },
      ]) {
        expectError(await ask(headers, first()), 401, 'unauthenticated');
      }
      for (const key of [first().managementKey, first().inferenceKey, keys.managementKey]) {
        expectError(await ask(bearer(key), first()), 403, 'insufficient_scope');
      }
    });
  });

  describe.each(accountReads)('%s', (_, ask) => {
    it('takes a management key and a session', async () => {
      for (const headers of [bearer(first().managementKey), first().person.session, bearer(keys.managementKey)]) {
        const answer = await ask(headers, first());
        expect(answer.status, answer.text).toBe(200);
        expect(answer.headers.get('cache-control')).toBe('no-store');
      }
    });

    it('takes no other credential', async () => {
      expectError(await ask({}, first()), 401, 'unauthenticated');
      expectError(await ask({ cookie: 'sotto.session_token=forged.abc' }, first()), 401, 'unauthenticated');
      expectError(await ask(bearer('sotto_mgt_nonsense'), first()), 401, 'invalid_api_key');
      expectError(await ask(bearer(first().inferenceKey), first()), 403, 'insufficient_scope');
    });
  });

  it('GET /billing/catalog takes none, and any', async () => {
    for (const headers of [{}, bearer('nonsense'), bearer(keys.managementKey), first().person.session]) {
      expect((await get(url('/billing/catalog'), headers)).status).toBe(200);
    }
  });

  it('no account sees anything of another: all pairs', async () => {
    for (const viewer of owners) {
      const { session } = viewer.person;
      for (const owner of owners) {
        const own = owner === viewer;
        const order = await get(url(`/billing/orders/${owner.orderId}`), session);
        const receipt = await get(url(`/billing/receipts/${owner.receiptNumber}`), session);
        for (const format of ['html', 'pdf']) {
          const shown = await get(url(`/billing/receipts/${owner.receiptNumber}?format=${format}`), session);
          expect(shown.status).toBe(own ? 200 : 404);
        }
        if (own) {
          expect([order.status, receipt.status]).toEqual([200, 200]);
          continue;
        }
        expectError(order, 404, 'not_found');
        expectError(receipt, 404, 'not_found');
        for (const text of [order.text, receipt.text]) expect(text).not.toContain(owner.person.email);
      }
      const orders = await get(url('/billing/orders?limit=100'), session);
      const receipts = await get(url('/billing/receipts?limit=100'), session);
      const settings = await get(url('/billing/settings'), session);
      const balance = await get(url('/balance'), session);
      for (const other of owners.filter((owner) => owner !== viewer)) {
        for (const { text } of [orders, receipts, settings, balance]) {
          expect(text).not.toContain(other.orderId);
          expect(text).not.toContain(other.receiptNumber);
          expect(text).not.toContain(other.person.accountId);
        }
      }
      expect(orders.text).toContain(viewer.orderId);
      expect(receipts.text).toContain(viewer.receiptNumber);
    }
  });

  it('a cursor of one account opens nothing in another', async () => {
    const [ann, ben] = owners as [Owner, Owner];
    for (let more = 0; more < 2; more += 1) {
      await suite.till.order(ann.person, { package_id: 'small', rail: 'test' });
    }
    for (const path of ['/billing/orders', '/billing/receipts']) {
      const page = (await get(url(`${path}?limit=1`), ann.person.session)).json as { next_cursor: string };
      const stolen = await get(url(`${path}?cursor=${page.next_cursor}`), ben.person.session);
      expect(stolen.status).toBe(200);
      expect(stolen.text).not.toContain(ann.orderId);
      expect(stolen.text).not.toContain(ann.receiptNumber);
    }
  });

  it('settings are written to the own account only', async () => {
    const [ann, ben] = owners as [Owner, Owner];
    await suite.till.putSettings(ann.person, { low_balance_usd: 7, auto_top_up: null });
    expect((await suite.till.settings(ann.person)).low_balance_usd).toBe(7);
    expect((await suite.till.settings(ben.person)).low_balance_usd).not.toBe(7);
  });

  it('a page of another site can neither order nor set anything', async () => {
    const foreign = { ...first().person.session, origin: 'https://evil.example' };
    const order = { package_id: 'small', rail: 'test' };
    expectError(await post(url('/billing/orders'), order, foreign), 403, 'forbidden');
    expectError(
      await send('PUT', url('/billing/settings'), { headers: foreign, body: settingsBody }),
      403,
      'forbidden',
    );
    const form = { ...first().person.session, 'content-type': 'text/plain' };
    expect((await post(url('/billing/orders'), JSON.stringify(order), form)).status).toBeGreaterThanOrEqual(400);
  });

  it('webhooks take a signature and nothing else, also when the caller is signed in', async () => {
    for (const path of ['stripe', 'btcpay']) {
      for (const headers of [{}, first().person.session, bearer(keys.managementKey)]) {
        const answer = await post(url(`/billing/webhooks/${path}`), { id: randomUUID() }, headers);
        expectError(answer, 400, 'invalid_request');
      }
    }
  });
});

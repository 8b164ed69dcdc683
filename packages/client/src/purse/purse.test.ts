import { hash } from 'node:crypto';
import { chmodSync, copyFileSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CreditRefusal } from './credit-service.ts';
import { issuer, spkis, unpaid } from './testing/issuer.ts';
import {
  bought,
  clock,
  file,
  filled,
  folder,
  hour,
  lost,
  none,
  open,
  service,
  usePurse,
} from './testing/purse-stage.ts';

usePurse();

test('a batch rests for 1 to 24 hours, pays for a wallet, and comes back as change', async () => {
  const drawn: number[][] = [];
  const random = (...range: number[]): number => {
    if (range[0] === 0) return 0;
    drawn.push(range);
    return 2 * hour;
  };
  await bought(1, { random });
  const purse = await open({ random });
  expect(drawn).toEqual([[hour, 24 * hour]]);
  expect(purse.balance()).toMatchObject({ ready: 0, resting: 50, readyAt: clock.now + 2 * hour });
  expect(() => purse.takeWallet()).toThrow('0 are ready and 50 are resting');
  clock.now += 2 * hour;
  const wallet = purse.takeWallet();
  expect(wallet.key).toMatch(/^sotto_inf_[\w-]{49}$/);
  await purse.deposit(service, wallet);
  expect(service.deposits).toHaveLength(1);
  expect(service.deposits[0]?.key_hash).toBe(hash('sha256', wallet.key, 'base64url'));
  expect(purse.balance()).toMatchObject({ ready: 0, resting: 0 });
  service.signs = 37;
  await purse.closeWallet(service, issuer, wallet.id);
  expect(purse.balance()).toMatchObject({ ready: 0, resting: 37, abandoned: none });
  const body = service.batches.at(-1)?.body ?? {};
  expect(hash('sha256', String(body.close_secret), 'base64url')).toBe(service.deposits[0]?.close_hash);
  purse.close();
});

test('a paid wallet is used like one of credits, and comes back batch by batch', async () => {
  const purse = await filled(1);
  const id = purse.newOrder('usd-10');
  expect(await purse.order(service, id)).toEqual(unpaid());
  expect(purse.balance()).toMatchObject({ orderedWallets: 1, paidWallets: 0 });
  service.due = undefined;
  expect(await purse.order(service, id)).toBeUndefined();
  expect(service.orders[1]).toEqual(service.orders[0]);
  expect(purse.balance()).toMatchObject({ orderedWallets: 0, paidWallets: 1 });

  const wallet = purse.takeWallet();
  expect(wallet.id).toBe(id);
  purse.release(id);
  expect(purse.takeWallet()).toEqual(wallet);
  await purse.deposit(service, wallet);
  expect([service.deposits, purse.balance().ready]).toEqual([[], 50]);
  expect(service.orders[0]).toEqual({
    key_hash: hash('sha256', wallet.key, 'base64url'),
    close_hash: expect.any(String),
    package_id: 'usd-10',
  });
  service.more = true;
  const ends = service.sign.bind(service);
  service.sign = async (path, body) => {
    if (service.batches.length === 2) Object.assign(service, { more: false, signs: 13 });
    return ends(path, body);
  };
  expect(await purse.closeWallet(service, issuer, wallet.id)).toBe(63);
  expect(service.batches).toHaveLength(3);
  expect(new Set(service.batches.map(({ body }) => JSON.stringify(body.blinded))).size).toBe(3);
  expect(purse.balance()).toMatchObject({ ready: 50, resting: 63, paidWallets: 0, abandoned: none });
  // Then come the credits.
  expect(purse.takeWallet().key).not.toBe(wallet.key);
  purse.close();
});

test('a closing that breaks between two batches goes on with the next', async () => {
  const purse = await open();
  const id = purse.newOrder('usd-10');
  service.due = undefined;
  await purse.order(service, id);
  await purse.deposit(service, purse.takeWallet());
  service.more = true;
  const sign = service.sign.bind(service);
  service.sign = (path, body) => (service.batches.length === 1 ? Promise.reject(lost) : sign(path, body));
  await expect(purse.closeWallet(service, issuer, id)).rejects.toBe(lost);
  expect(purse.balance()).toMatchObject({ resting: 50 });
  Object.assign(service, { sign, more: false, signs: 7 });
  expect(await purse.closeWallet(service, issuer, id)).toBe(7);
  expect(purse.balance()).toMatchObject({ resting: 57 });
  purse.close();
});

test('the key of an order outlives a lost answer and every doubt about the payment', async () => {
  const purse = await open();
  // The request did not reach the service, or the answer that says where to pay was lost.
  service.trouble = lost;
  await expect(purse.order(service, purse.newOrder('usd-10'))).rejects.toBe(lost);
  service.trouble = new CreditRefusal({ type: 'invalid_request', message: 'no such package' }, false);
  await expect(purse.order(service, purse.newOrder('none'))).rejects.toThrow('no such package');
  expect(purse.balance()).toMatchObject({ orderedWallets: 1 });
  service.trouble = undefined;
  const id = purse.newOrder('usd-10');
  await purse.order(service, id);
  const kept = async (): Promise<number> => {
    await purse.order(service, id).catch(() => {});
    return purse.balance().orderedWallets - 1;
  };
  service.trouble = new CreditRefusal({ type: 'not_found', message: 'switched off' }, false);
  expect(await kept()).toBe(1);
  service.trouble = undefined;
  clock.now = Date.parse('2026-11-16T12:00:00Z');
  service.due = unpaid({ status: 'expired' });
  expect(await kept()).toBe(1);
  clock.now += 24 * hour;
  service.due = unpaid({ status: 'failed', problem: { code: 'payment_invalid', message: 'not confirmed' } });
  expect(await kept()).toBe(1);
  service.due = unpaid({ status: 'expired', problem: { code: 'paid_partially', message: 'less' } });
  expect(await kept()).toBe(1);
  // A late payment takes days to confirm.
  clock.now += 20 * 24 * hour;
  service.due = unpaid({ status: 'expired' });
  expect(await kept()).toBe(1);
  // A service that has another order under these hashes has deleted the first one.
  service.due = unpaid({ expires_at: '2026-12-15T13:00:00.000Z' });
  expect(await kept()).toBe(0);
  purse.close();
});

test('old and new credits mix: 50 of all that are ready', async () => {
  const purse = await filled(4);
  const taken = new Set<string>();
  for (let at = 0; at < 4; at += 1) await purse.deposit(service, purse.takeWallet());
  for (const { credits } of service.deposits) for (const credit of credits) taken.add(credit);
  expect(taken.size).toBe(200);
  expect(() => purse.takeWallet()).toThrow('sotto purse buy');
  purse.close();
});

// The operator sees the key of each credit. In the first days of a year, few people have any of its key.
test('credits of a new year’s key rest until its second week, and those of the old key go first', async () => {
  clock.now = Date.parse('2026-12-31T12:00:00Z');
  await bought(2);
  clock.now = Date.parse('2027-01-02T12:00:00Z');
  service.signsWith = 1;
  const [, next = Buffer.of()] = spkis;
  await bought(1, {}, { ...issuer, keys: [...issuer.keys, { year: 2027, key: next.toString('base64url') }] });
  clock.now += 24 * hour;
  const purse = await open();
  expect(purse.balance()).toMatchObject({ ready: 100, resting: 50 });
  clock.now = Date.parse('2027-01-08T00:59:00Z');
  expect(purse.balance()).toMatchObject({ ready: 100, resting: 50 });
  clock.now = Date.parse('2027-01-08T01:00:00Z');
  expect(purse.balance()).toMatchObject({ ready: 150, resting: 0 });
  // The stand-in takes only credits of the old key.
  await purse.deposit(service, purse.takeWallet());
  await purse.deposit(service, purse.takeWallet());
  expect(purse.balance()).toMatchObject({ ready: 50 });
  purse.takeWallet();
  purse.close();
});

test('a lost answer to a deposit or a closing loses nothing', async () => {
  const purse = await filled(1);
  const wallet = purse.takeWallet();
  service.trouble = lost;
  await expect(purse.deposit(service, wallet)).rejects.toBe(lost);
  // Its outcome is unknown, so the credits stay with the wallet.
  purse.release(wallet.id);
  expect(purse.balance()).toMatchObject({ ready: 0 });
  service.trouble = undefined;
  await purse.deposit(service, wallet);
  service.trouble = lost;
  await expect(purse.closeWallet(service, issuer, wallet.id)).rejects.toBe(lost);
  service.trouble = undefined;
  await purse.closeWallet(service, issuer, wallet.id);
  expect(service.batches.at(-1)).toEqual(service.batches.at(-2));
  expect(purse.balance()).toMatchObject({ resting: 50, abandoned: none });
  purse.close();
});

test('a closed wallet keeps its batch while its requests are not booked', async () => {
  const purse = await filled(1);
  const wallet = purse.takeWallet();
  await purse.deposit(service, wallet);
  service.trouble = new CreditRefusal({ type: 'conflict', message: 'not booked' }, true);
  await expect(purse.closeWallet(service, issuer, wallet.id)).rejects.toThrow('not booked');
  service.trouble = undefined;
  await purse.closeWallet(service, issuer, wallet.id);
  const closings = service.batches.filter(({ path }) => path === '/v1/wallets/close');
  expect(closings).toHaveLength(2);
  expect(closings[0]).toEqual(closings[1]);
  expect(purse.balance()).toMatchObject({ resting: 50 });
  purse.close();
});

test('a restored copy learns of spent credits, and uses the others only when told', async () => {
  const purse = await filled(2);
  const copy = join(folder, 'copy');
  purse.backUp(copy);
  expect(statSync(copy).mode & 0o777).toBe(0o600);
  expect(() => purse.backUp(copy)).toThrow(`${copy} cannot be used: file already exists.`);
  await purse.deposit(service, purse.takeWallet());
  const restored = await open({ file: copy });
  const wallet = restored.takeWallet();
  await expect(restored.deposit(service, wallet)).rejects.toThrow(
    /spent before, perhaps from a copy.*links both deposits/s,
  );
  const { ready, aside } = restored.balance();
  expect(ready + aside).toBeLessThan(100);
  expect(aside).toBeGreaterThan(0);
  expect(restored.reuse()).toBe(aside);
  expect(restored.balance()).toMatchObject({ ready: ready + aside, aside: 0 });
  purse.close();
  restored.close();
});

test('two processes never offer one credit', async () => {
  const one = await filled(3);
  const two = await open();
  await Promise.all([one.deposit(service, one.takeWallet()), two.deposit(service, two.takeWallet())]);
  const offered = service.deposits.flatMap(({ credits }) => credits);
  expect(new Set(offered).size).toBe(100);
  expect(two.balance()).toMatchObject({ ready: 50 });
  one.close();
  two.close();
});

test('the purse is private, and forgets what has served', async () => {
  const purse = await filled(1);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const wallet = purse.takeWallet();
  await purse.deposit(service, wallet);
  const nonces = (service.deposits[0]?.credits ?? []).map((credit) => Buffer.from(credit, 'base64url').subarray(2, 34));
  await purse.closeWallet(service, issuer, wallet.id);
  const bytes = readFileSync(file);
  expect(nonces.filter((nonce) => bytes.includes(nonce))).toEqual([]);
  expect(bytes.includes(wallet.key)).toBe(false);
  expect(bytes.includes(String(service.batches.at(-1)?.body.close_secret))).toBe(false);
  purse.close();
  copyFileSync(file, join(folder, 'open'));
  chmodSync(join(folder, 'open'), 0o640);
  await expect(open({ file: join(folder, 'open') })).rejects.toThrow('mode 600');
});

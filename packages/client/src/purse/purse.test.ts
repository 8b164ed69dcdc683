import { hash } from 'node:crypto';
import { chmodSync, copyFileSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CreditIssuer } from '@sotto/wire';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { CreditRefusal, type WalletOrder } from './credit-service.ts';
import { Purse, type PurseOptions } from './purse.ts';
import { Schedule } from './schedule.ts';
import { Issuer, issuer, spkis, unpaid } from './testing/issuer.ts';

const clock = { now: Date.parse('2026-11-15T12:00:00Z') };
let folder = '';
let file = '';

let service: Issuer;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sotto-purse-'));
  file = join(folder, 'own', 'purse');
  service = new Issuer();
  clock.now = Date.parse('2026-11-15T12:00:00Z');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const open = (own: Partial<PurseOptions> = {}): Promise<Purse> =>
  Purse.open({ file, userId: process.getuid?.(), now: () => clock.now, random: (least) => least, wait, ...own });
const hour = 3_600_000;
/** Buys the first lots of a schedule. */
async function bought(lots: number, own: Partial<PurseOptions> = {}, pinned: CreditIssuer = issuer): Promise<void> {
  const options = { file, userId: process.getuid?.(), now: () => clock.now, random: (least: number) => least, ...own };
  const schedule = await Schedule.open({ ...options, scheduleFile: join(folder, 'apart', 'schedule') });
  schedule.begin({ code: 'AAAA-BBBB-CCCC-0000', lotsAWeek: 0, firstUseDays: 0 });
  for (let lot = 0; lot < lots; lot += 1) await schedule.buyNext(service, pinned);
  schedule.close();
}
/** A purse with rested credits of this many batches. */
async function filled(batches: number): Promise<Purse> {
  await bought(batches);
  clock.now += hour;
  return open();
}
const lost = new Error('the connection broke');
const none = { wallets: 0, credits: 0, packages: [] };
const one = { wallets: 1, credits: 50, packages: [] };
const watched: number[] = [];
/** Longer than a lease. */
const minute = 60_000;
const wait = async (ms: number): Promise<void> => void watched.push(ms);

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
  service.due = unpaid({ status: 'expired' });
  expect(await kept()).toBe(0);

  // A service that has another order under these hashes has deleted the first one.
  const other = purse.newOrder('usd-10');
  service.due = unpaid();
  await purse.order(service, other);
  service.due = unpaid({ expires_at: '2026-12-15T13:00:00.000Z' });
  await purse.order(service, other);
  expect(purse.balance()).toMatchObject({ orderedWallets: 1 });
  purse.close();
});

test('settles what ended commands left one by one, and an order although a wallet fails', async () => {
  const purse = await filled(2);
  await purse.deposit(service, purse.takeWallet());
  await purse.deposit(service, purse.takeWallet());
  await purse.order(service, purse.newOrder('usd-10'));
  purse.close();
  const later = await open();
  const sign = service.sign.bind(service);
  const tried: string[] = [];
  service.sign = (_path, body) => {
    tried.push(String((body as { close_secret: string }).close_secret));
    return Promise.reject(lost);
  };
  const shown: WalletOrder[] = [];
  const settle = (): Promise<void> => {
    clock.now += 1;
    return later.settle(service, issuer, (order) => shown.push(order));
  };
  await expect(settle()).rejects.toBe(lost);
  await expect(settle()).rejects.toBe(lost);
  await settle();
  expect(shown).toEqual([unpaid()]);
  await expect(settle()).rejects.toBe(lost);
  expect(new Set(tried).size).toBe(2);
  expect(tried[2]).toBe(tried[0]);
  expect(later.balance()).toMatchObject({ abandoned: { wallets: 2, credits: 100 }, resting: 0 });
  service.sign = sign;
  await settle();
  expect(later.balance()).toMatchObject({ abandoned: one, resting: 50, orderedWallets: 1 });
  later.close();
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
  expect(() => purse.backUp(copy)).toThrow('EEXIST');
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

// A run and another command share the purse: two processes, two containers, or one process after another with the same id.
test('a run that was killed gives back what it did not offer after a minute; one that runs keeps it', async () => {
  const purse = await filled(1);
  const { id } = purse.takeWallet();
  expect(() => purse.takeWallet()).toThrow('0 are ready');
  clock.now += minute;
  purse.renew();
  const beside = await open();
  expect(beside.balance()).toMatchObject({ ready: 0, inUse: one, abandoned: none });
  beside.close();
  purse.release(id);
  expect(purse.balance()).toMatchObject({ ready: 50, inUse: none });

  // Killed: nothing closes it.
  purse.takeWallet();
  clock.now += 30_000;
  const early = await open();
  expect(early.balance()).toMatchObject({ ready: 0, inUse: one });
  early.close();
  clock.now += minute;
  const later = await open();
  expect(later.balance()).toMatchObject({ ready: 50, inUse: none, abandoned: none });
  later.close();
});

test('a killed run’s wallet is closed after a minute, and the wallet of a run never', async () => {
  const killed = await filled(1);
  await killed.deposit(service, killed.takeWallet());
  const later = await open();
  await later.settle(service, issuer, () => {});
  expect(later.balance()).toMatchObject({ inUse: one, abandoned: none, resting: 0 });
  clock.now += minute;
  expect(later.balance()).toMatchObject({ inUse: none, abandoned: one });
  // The run was not killed: its machine slept, or the clock leapt. It renews while `settle` watches.
  const beside = await open({ wait: async () => killed.renew() });
  await beside.settle(service, issuer, () => {});
  expect(beside.balance()).toMatchObject({ inUse: one, abandoned: none, resting: 0 });
  beside.close();
  clock.now += minute;
  watched.length = 0;
  await later.settle(service, issuer, () => {});
  // Two renewals are due in less.
  expect(watched).toEqual([15_000]);
  expect(later.balance()).toMatchObject({ resting: 50, inUse: none, abandoned: none });
  later.close();
});

test('an open purse renews its leases by itself', async () => {
  vi.useFakeTimers({ toFake: ['setInterval'] });
  const run = await filled(1);
  run.takeWallet();
  clock.now += 30_000;
  vi.advanceTimersByTime(10_000);
  clock.now += 30_000;
  expect(run.balance()).toMatchObject({ inUse: one, abandoned: none });
  run.close();
  vi.useRealTimers();
});

// The machine sleeps for an hour while a request of the run is on its way. On waking, a scheduled `settle` takes the wallet over and closes it.
// Then the run gets its answer. It must not store credits that the other has stored and may have spent. It must not set aside or release what
// is no longer its own, also if SQLite gave the id to a new wallet.
test.each(['deposit', 'refused deposit', 'closing', 'order', 'release'])(
  'a run that sleeps during its %s changes no wallet that was taken over',
  async (step) => {
    const run = await filled(2);
    const beside = await open();
    const id = step === 'order' ? run.newOrder('usd-10') : run.takeWallet().id;
    if (step === 'closing') await run.deposit(service, { id });
    const slept = async <T>(answer: T): Promise<T> => {
      Object.assign(service, { deposit, sign, order });
      clock.now += hour;
      await beside.settle(service, issuer, () => {});
      // A purse that is opened gives back what was never offered.
      (await open()).close();
      expect(beside.takeWallet().id).toBe(id);
      return answer;
    };
    const deposit = service.deposit.bind(service);
    const sign = service.sign.bind(service);
    const order = service.order.bind(service);
    const refusal = new CreditRefusal({ type: 'invalid_request', message: 'no' }, false);
    service.deposit = async (body) => {
      if (step === 'deposit') return slept(await deposit(body));
      await slept(undefined);
      throw refusal;
    };
    service.sign = async (path, body) => slept(await sign(path, body));
    service.order = async (body) => slept(await order(body));
    const work = {
      order: () => run.order(service, id),
      closing: () => run.closeWallet(service, issuer, id),
      release: async () => {
        await slept(undefined);
        run.release(id);
        return run.deposit(service, { id });
      },
    }[step];
    await expect(work?.() ?? run.deposit(service, { id })).rejects.toThrow('Another command took this wallet over');
    const { ready, resting, aside, inUse } = beside.balance();
    expect({ free: ready + resting, aside, inUse }).toEqual({ free: 50, aside: 0, inUse: one });
    await beside.deposit(service, { id });
    expect(service.deposits.at(-1)?.credits).toHaveLength(50);
    run.close();
    beside.close();
  },
);

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

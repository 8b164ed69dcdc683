import { expect, test, vi } from 'vitest';
import { CreditRefusal, type WalletOrder } from './credit-service.ts';
import { issuer, unpaid } from './testing/issuer.ts';
import {
  clock,
  filled,
  hour,
  lost,
  minute,
  none,
  one,
  open,
  service,
  usePurse,
  watched,
} from './testing/purse-stage.ts';

usePurse();

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

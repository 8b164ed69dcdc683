import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { StateUnavailableError } from '../unavailable.ts';
import { HoldBook, type HoldBookDependencies, resentAtOnce } from './hold-book.ts';
import { Membership } from './membership.ts';

/** A state that accepts everything, and a ledger that acknowledges up to a mark that tests set. */
class SlowLedger {
  now = 0;
  /** The ledger's mark and the epoch, in every shard. */
  acknowledged = 0;
  epoch = 1;
  #placed = 0;
  whileMarkIsAsked = async (): Promise<void> => {};
  /** Shards that do not answer. */
  readonly away = new Set<number>();
  readonly settled: string[] = [];
  /** What the state says about the commands of a turn. */
  sent = (): Promise<void> => Promise.reject(new StateUnavailableError('not written'));
  readonly cancelled: string[] = [];
  asked = 0;
  underWay = new Map<number, number>();
  mostUnderWay = 0;

  readonly book = new HoldBook({
    state: {
      membership: new Membership(() => 'client'),
      redeem: () => Promise.reject(new StateUnavailableError('timeout', { attempted: true })),
      cancel: (shard, holdId) => this.#answer(shard, () => this.cancelled.push(holdId)),
      settle: async (request) => {
        await this.#answer(request.shard, () => this.settled.push(request.holdId));
        this.#placed += 1;
        return { streamId: `1-${this.#placed}`, epoch: this.epoch };
      },
      watermark: async () => {
        await this.whileMarkIsAsked();
        return { streamId: `1-${this.acknowledged}`, epoch: this.epoch };
      },
      readOwnHolds: async () => [],
      sent: () => this.sent(),
      join: () => Promise.reject(new Error('not asked here')),
      leave: async () => {},
    } satisfies HoldBookDependencies['state'],
    macKey: Buffer.alloc(32),
    now: () => this.now,
    mostPending: 2000,
    onDelayed: () => {},
  });

  async #answer(shard: number, carryOut: () => void): Promise<void> {
    this.asked += 1;
    const underWay = (this.underWay.get(shard) ?? 0) + 1;
    this.underWay.set(shard, underWay);
    this.mostUnderWay = Math.max(this.mostUnderWay, underWay);
    await new Promise((resolve) => setImmediate(resolve));
    this.underWay.set(shard, (this.underWay.get(shard) ?? 0) - 1);
    if (this.away.has(shard)) throw new StateUnavailableError('timeout', { attempted: true });
    carryOut();
  }

  /** Settles requests one after the other. */
  async settle(shard: number, count: number, name: string | number = shard): Promise<void> {
    for (let n = 0; n < count; n += 1) {
      const entry = { payload: '{}', mac: '' };
      await this.book.settle({ shard, holdId: `${name}/${n}`, chargeNusd: 1n, usedTokens: 1, entry }).catch(() => {});
    }
    this.#forget();
  }

  #forget(): void {
    this.settled.length = 0;
    this.asked = 0;
    this.mostUnderWay = 0;
  }

  /** Runs the next resend, some seconds later. */
  async resend(seconds: number): Promise<void> {
    this.#forget();
    this.now += seconds * 1000;
    await this.book.resend();
  }
}

const right = { kind: 'ticket', ticketHash: 'hash' } as const;
const order = { right, accountRef: 'ref', generation: '1.1', amountNusd: 1n, estimatedTokens: 1 };

describe('a settlement is handed over', () => {
  const request = { shard: 3, holdId: 'hold', chargeNusd: 1n, usedTokens: 1, entry: { payload: '{}', mac: '' } };

  it('once the kernel has it, and is sent again if the state does not accept it', async () => {
    const slow = new SlowLedger();
    slow.sent = async () => {};
    slow.away.add(3);
    await slow.book.handOver(request);
    await turn();
    expect(slow.settled).toEqual([]);
    slow.away.clear();
    await slow.book.flush();
    expect(slow.settled).toEqual(['hold']);
  });

  it('only once the state has accepted it, if nobody can say that the kernel has it', async () => {
    const slow = new SlowLedger();
    await slow.book.handOver(request);
    expect(slow.settled).toEqual(['hold']);
    slow.away.add(3);
    await expect(slow.book.handOver({ ...request, holdId: 'next' })).rejects.toThrow(StateUnavailableError);
    expect(slow.book.unsent).toBe(1);
  });
});

describe('the hold book', () => {
  it('resends thousands of unacknowledged settlements a few at a time', async () => {
    const slow = new SlowLedger();
    await slow.settle(3, 2000);
    await slow.resend(601);
    expect(new Set(slow.settled).size).toBe(2000);
    expect(slow.mostUnderWay).toBe(resentAtOnce);
  });

  it('adds nothing to the stream while the ledger is minutes late', async () => {
    const slow = new SlowLedger();
    await slow.settle(3, 100);
    for (let seconds = 0; seconds < 590; seconds += 10) {
      await slow.resend(10);
      expect(slow.settled).toHaveLength(0);
    }
  });

  it('forgets only acknowledged settlements', async () => {
    const slow = new SlowLedger();
    await slow.settle(3, 100);
    slow.acknowledged = 40;
    await slow.resend(1);
    expect(slow.book.size).toBe(60);
    // After the resend, all sixty are behind the hundred, so the mark of their first places does not cover them.
    await slow.resend(601);
    expect(slow.settled).toHaveLength(60);
    slow.acknowledged = 100;
    await slow.resend(1);
    expect(slow.book.size).toBe(60);
    slow.acknowledged = 130;
    await slow.resend(1);
    expect(slow.book.size).toBe(30);
    slow.acknowledged = 160;
    await slow.resend(1);
    expect(slow.book.size).toBe(0);
  });

  it('keeps a settlement that is accepted while the mark is queried, because the answer does not cover it', async () => {
    const slow = new SlowLedger();
    await slow.settle(3, 10);
    slow.acknowledged = 1000;
    slow.whileMarkIsAsked = () => slow.settle(3, 1, 'meanwhile');
    await slow.resend(1);
    expect(slow.book.size).toBe(1);
  });

  it('resends at once the settlements of a past epoch, whatever the mark', async () => {
    const slow = new SlowLedger();
    await slow.settle(3, 100);
    slow.epoch = 2;
    slow.acknowledged = 1000;
    await slow.resend(1);
    expect(new Set(slow.settled).size).toBe(100);
    expect(slow.book.size).toBe(100);
    await slow.resend(1);
    expect(slow.asked).toBe(0);
    expect(slow.book.size).toBe(0);
  });

  it('redeems nothing while too many settlements are unacknowledged, and continues when the ledger has caught up', async () => {
    const slow = new SlowLedger();
    await slow.settle(1, 1000);
    slow.away.add(2);
    await slow.settle(2, 1000);
    const redeem = (): Promise<unknown> => slow.book.redeem({ ...order, shard: 1, holdId: 'next' });
    await expect(redeem()).rejects.toMatchObject({ attempted: false });
    await slow.resend(1);
    expect(slow.cancelled).toHaveLength(0);
    slow.acknowledged = 1;
    await slow.resend(1);
    // This state rejects redeems, so the rejection shows that it was asked.
    await expect(redeem()).rejects.toMatchObject({ attempted: true });
  });

  it('sends to the other shards while one is unavailable, and rarely tries that one', async () => {
    const slow = new SlowLedger();
    slow.away.add(1);
    await slow.settle(1, 500);
    await slow.settle(2, 500);
    await slow.resend(601);
    expect(new Set(slow.settled).size).toBe(500);
    expect(slow.settled.every((holdId) => holdId.startsWith('2/'))).toBe(true);
    expect(slow.asked).toBe(500 + resentAtOnce);
  });

  it('sends everything at the first resend after an outage, except settlements that were just tried', async () => {
    const slow = new SlowLedger();
    slow.away.add(1);
    await slow.settle(1, 500);
    for (let look = 0; look < 10; look += 1) await slow.resend(1);
    expect(slow.book.unsent).toBe(500);
    slow.away.delete(1);
    await slow.resend(1);
    expect(slow.book.unsent).toBeLessThanOrEqual(10 * resentAtOnce);
    await slow.resend(5);
    expect(slow.book.unsent).toBe(0);
  });

  it('sends everything on shutdown, a few at a time', async () => {
    const slow = new SlowLedger();
    slow.away.add(1);
    await slow.settle(1, 500);
    slow.away.delete(1);
    expect(await slow.book.flush()).toBe(0);
    expect(slow.mostUnderWay).toBe(resentAtOnce);
  });

  it('cancels uncertain redeems a few at a time, until each is cancelled', async () => {
    const slow = new SlowLedger();
    slow.away.add(1);
    for (let n = 0; n < 300; n += 1) {
      await expect(slow.book.redeem({ ...order, shard: 1, holdId: `${n}` })).rejects.toThrow(StateUnavailableError);
    }
    await new Promise((resolve) => setImmediate(resolve));
    await slow.resend(1);
    expect(slow.asked).toBe(resentAtOnce);
    slow.away.delete(1);
    await slow.resend(1);
    expect(new Set(slow.cancelled).size).toBe(300);
    expect(slow.mostUnderWay).toBe(resentAtOnce);
    await slow.resend(1);
    expect(slow.asked).toBe(0);
  });
});

// A rebuilt shard gets the holds that brokers declare. One that was declared as rounded, or as its bound, would hold more than was there, or
// would tell the bound.
it('declares what a rounded hold took', async () => {
  const rate = { limitRequests: 1, remainingRequests: 0, limitTokens: 1, remainingTokens: 0, resetMs: 1 };
  const redeem = async () => ({ result: 'admitted', month: '2026-11', rate, heldNusd: 36n }) as const;
  const state = { membership: new Membership(() => 'client'), redeem } as unknown as HoldBookDependencies['state'];
  const book = new HoldBook({ state, macKey: Buffer.alloc(32), now: () => 0, mostPending: 1, onDelayed: () => {} });
  const right = { kind: 'ticket', ticketHash: 'ticket' } as const;
  const amounts = { amountNusd: 10n, roundedNusd: 64n, estimatedTokens: 0 };
  await book.redeem({ shard: 1, right, holdId: 'hold', accountRef: 'ref', ...amounts });
  expect(JSON.parse(book.declarationOf(1)?.payload ?? '').holds).toEqual([
    { id: 'hold', nusd: '36', accountRef: 'ref', month: '2026-11' },
  ]);
});

// The state must not learn what a quiet request needs, so it may hold less, of a wallet that is nearly empty. Such a hold would let the
// request spend money that is not there. If its cancellation is lost, it is sent again.
it('undoes a rounded hold that is less than the request needs, and says so once its ticket is valid again', async () => {
  const rate = { limitRequests: 1, remainingRequests: 0, limitTokens: 1, remainingTokens: 0, resetMs: 1 };
  const asked: object[] = [];
  const cancelled: string[] = [];
  let isAway = false;
  const state = {
    membership: { caller: () => ({ client: 'client', epoch: 1 }), isCurrent: () => true },
    async redeem(request: object) {
      asked.push(request);
      return { result: 'admitted', month: '2026-11', rate, heldNusd: 36n } as const;
    },
    async cancel(_: number, holdId: string) {
      if (isAway) throw new StateUnavailableError('away');
      cancelled.push(holdId);
    },
  } as unknown as HoldBookDependencies['state'];
  const book = new HoldBook({ state, macKey: Buffer.alloc(32), now: () => 0, mostPending: 1, onDelayed: () => {} });
  const order = {
    shard: 1,
    right: { kind: 'ticket', ticketHash: 'ticket' },
    accountRef: 'ref',
    estimatedTokens: 0,
  } as const;
  const bounds = { amountNusd: 32n, roundedNusd: 64n };
  expect(await book.redeem({ ...order, ...bounds, holdId: 'enough', neededNusd: 36n })).toMatchObject({
    result: 'admitted',
  });
  const refused = { result: 'insufficient', scope: 'wallet', rate };
  expect(await book.redeem({ ...order, ...bounds, holdId: 'short', neededNusd: 37n })).toEqual(refused);
  expect(cancelled).toEqual(['short']);
  isAway = true;
  expect(await book.redeem({ ...order, ...bounds, holdId: 'lost', neededNusd: 37n })).toEqual(refused);
  isAway = false;
  await book.resend();
  expect(cancelled).toEqual(['short', 'lost']);
  expect(book.openHolds).toBe(1);
  for (const each of asked) expect(each).not.toHaveProperty('neededNusd');
});

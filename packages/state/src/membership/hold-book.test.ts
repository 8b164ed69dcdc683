import { describe, expect, it } from 'vitest';
import { StateUnavailableError } from '../unavailable.ts';
import { HoldBook, type HoldBookDependencies, resentAtOnce } from './hold-book.ts';
import { Membership } from './membership.ts';

/** A state that accepts everything, and a ledger that acknowledges nothing. */
class SlowLedger {
  now = 0;
  /** Shards that answer nothing. */
  readonly away = new Set<number>();
  readonly settled: string[] = [];
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
        return { streamId: `1-${this.settled.length}`, epoch: 1 };
      },
      watermark: async () => ({ streamId: '0-0', epoch: 1 }),
      readHolds: async () => [],
      join: () => Promise.reject(new Error('not asked here')),
      leave: async () => {},
    } satisfies HoldBookDependencies['state'],
    macKey: Buffer.alloc(32),
    now: () => this.now,
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

  /** Settles one after the other, as requests that end do. */
  async settle(shard: number, count: number): Promise<void> {
    for (let n = 0; n < count; n += 1) {
      const entry = { payload: '{}', mac: '' };
      await this.book.settle({ shard, holdId: `${shard}/${n}`, chargeNusd: 1n, usedTokens: 1, entry }).catch(() => {});
    }
    this.#forget();
  }

  #forget(): void {
    this.settled.length = 0;
    this.asked = 0;
    this.mostUnderWay = 0;
  }

  /** What the next look asks for, some seconds later. */
  async tend(seconds: number): Promise<void> {
    this.#forget();
    this.now += seconds * 1000;
    await this.book.tend();
  }
}

describe('the hold book', () => {
  it('sends thousands that the ledger leaves lying again a few at a time', async () => {
    const slow = new SlowLedger();
    await slow.settle(3, 2000);
    await slow.tend(16);
    expect(new Set(slow.settled).size).toBe(2000);
    expect(slow.mostUnderWay).toBe(resentAtOnce);
  });

  it('sends to every other shard what one that is away does not take, and asks that one little', async () => {
    const slow = new SlowLedger();
    slow.away.add(1);
    await slow.settle(1, 500);
    await slow.settle(2, 500);
    await slow.tend(16);
    expect(new Set(slow.settled).size).toBe(500);
    expect(slow.settled.every((holdId) => holdId.startsWith('2/'))).toBe(true);
    expect(slow.asked).toBe(500 + resentAtOnce);
  });

  it('loses nothing to an absence: all that waited is sent at the first look afterwards, but for what was just tried', async () => {
    const slow = new SlowLedger();
    slow.away.add(1);
    await slow.settle(1, 500);
    for (let look = 0; look < 10; look += 1) await slow.tend(1);
    expect(slow.book.unsent).toBe(500);
    slow.away.delete(1);
    await slow.tend(1);
    expect(slow.book.unsent).toBeLessThanOrEqual(10 * resentAtOnce);
    await slow.tend(5);
    expect(slow.book.unsent).toBe(0);
  });

  it('sends on shutdown whatever its time, a few at a time', async () => {
    const slow = new SlowLedger();
    slow.away.add(1);
    await slow.settle(1, 500);
    slow.away.delete(1);
    expect(await slow.book.flush()).toBe(0);
    expect(slow.mostUnderWay).toBe(resentAtOnce);
  });

  it('cancels redeems in doubt a few at a time, until each is cancelled', async () => {
    const slow = new SlowLedger();
    slow.away.add(1);
    const right = { kind: 'ticket', ticketHash: 'hash' } as const;
    const order = { right, accountRef: 'ref', generation: 1, amountNusd: 1n, estimatedTokens: 1 };
    for (let n = 0; n < 300; n += 1) {
      await expect(slow.book.redeem({ ...order, shard: 1, holdId: `${n}` })).rejects.toThrow(StateUnavailableError);
    }
    await new Promise((resolve) => setImmediate(resolve));
    await slow.tend(1);
    expect(slow.asked).toBe(resentAtOnce);
    slow.away.delete(1);
    await slow.tend(1);
    expect(new Set(slow.cancelled).size).toBe(300);
    expect(slow.mostUnderWay).toBe(resentAtOnce);
    await slow.tend(1);
    expect(slow.asked).toBe(0);
  });
});

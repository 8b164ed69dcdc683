import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ArrivingBody, largeBytes } from './arriving-body.ts';

const body = (atMost = Number.MAX_SAFE_INTEGER) => new ArrivingBody({ atMost, leastInWindow: 1000 });
const ticks = (of: ArrivingBody, count: number) => Array.from({ length: count }, () => of.tick());

describe('a body that arrives', () => {
  it('equals the bytes that were sent, in pieces of any size', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            fc.uint8Array({ maxLength: 300 }),
            fc.integer({ min: 4_000, max: 90_000 }).map((length) => new Uint8Array(length).fill(length)),
          ),
          { maxLength: 50 },
        ),
        fc.boolean(),
        (pieces, isAnnounced) => {
          const sent = Buffer.concat(pieces);
          const arriving = body(isAnnounced ? sent.length : undefined);
          for (const piece of pieces) {
            const arrived = Buffer.from(piece);
            const expected = arriving.capacityWith(arrived);
            arriving.append(arrived);
            expect(arriving.capacity).toBe(expected);
          }
          expect(arriving.capacity).toBeLessThanOrEqual(2 * sent.length);
          expect(arriving.whole().equals(sent)).toBe(true);
          expect(arriving.capacity).toBe(0);
        },
      ),
    );
  });

  it('takes no memory for bytes that are only announced', () => {
    const arriving = body(32 * 2 ** 20);
    expect(arriving.capacity).toBe(0);
    arriving.append(Buffer.alloc(10));
    expect(arriving.capacity).toBe(10);
  });

  it('takes at most twice its size if it comes in pieces of one byte', () => {
    const arriving = body();
    for (let byte = 0; byte < 10_000; byte += 1) arriving.append(Buffer.of(byte));
    expect(arriving.capacity).toBeLessThanOrEqual(20_000);
  });

  it('has stalled after ten ticks without a byte, but not while single bytes come', () => {
    const arriving = body();
    for (let look = 0; look < 50; look += 1) {
      if (look % 9 === 0) arriving.append(Buffer.of(1));
      expect(arriving.tick()).toBeUndefined();
    }
    arriving.append(Buffer.of(1));
    expect(ticks(arriving, 11)).toEqual([...Array(10).fill(undefined), 'still']);
  });

  it('has stalled if it is large and gains too few bytes in ten ticks', () => {
    const arriving = body();
    arriving.append(Buffer.alloc(largeBytes + 1));
    expect(ticks(arriving, 1)).toEqual([undefined]);
    const drip = () => {
      arriving.append(Buffer.alloc(99));
      return arriving.tick();
    };
    expect(Array.from({ length: 9 }, drip)).toEqual(Array(9).fill(undefined));
    expect(Array.from({ length: 10 }, drip)).toEqual([...Array(9).fill(undefined), 'slow']);
  });

  it('has not stalled if it is large and gains enough bytes', () => {
    const arriving = body();
    arriving.append(Buffer.alloc(largeBytes + 1));
    for (let look = 0; look < 100; look += 1) {
      arriving.append(Buffer.alloc(100));
      expect(arriving.tick()).toBeUndefined();
    }
  });
});

import { describe, expect, it } from 'vitest';
import { readBounded } from './bounded-body.ts';

async function* pieces(...lengths: readonly number[]): AsyncGenerator<Uint8Array> {
  for (const length of lengths) yield new Uint8Array(length).fill(length);
}

describe('a bounded body', () => {
  it('is read whole up to its limit, and not beyond', async () => {
    expect([...((await readBounded(pieces(1, 2), 3)) ?? [])]).toEqual([1, 2, 2]);
    expect(await readBounded(pieces(1, 2), 2)).toBeUndefined();
    expect(await readBounded(pieces(), 0)).toHaveLength(0);
  });

  it('that is too large or late is told to stop', async () => {
    let stopped = 0;
    async function* endless(): AsyncGenerator<Uint8Array> {
      try {
        for (;;) yield new Uint8Array(10);
      } finally {
        stopped += 1;
      }
    }
    expect(await readBounded(endless(), 100)).toBeUndefined();
    expect(stopped).toBe(1);
  });

  it('that never comes ends with its signal, and so does one that was given up before', async () => {
    const leaving = new AbortController();
    const never: AsyncIterable<Uint8Array> = {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise(() => undefined),
        return: () => new Promise(() => undefined),
      }),
    };
    const reading = readBounded(never, 10, leaving.signal);
    leaving.abort(new Error('given up'));
    await expect(reading).rejects.toThrow('given up');
    await expect(readBounded(pieces(1), 10, leaving.signal)).rejects.toThrow('given up');
  });
});

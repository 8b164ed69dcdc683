import { describe, expect, it } from 'vitest';
import { limitKeys } from './limit-key.ts';
import { VerifiedCredentials } from './verified-credentials.ts';

const hourMs = 3_600_000;
const keyOf = limitKeys('a session secret of the deployment');

/** Redis as far as it goes, with a clock. */
function world() {
  let now = 1_000_000;
  const rows = new Map<string, number>();
  const written: string[] = [];
  const redis = {
    set: async (key: string, _value: string, _unit: 'PX', ms: number) => {
      rows.set(key, now + ms);
      written.push(key);
      return 'OK' as const;
    },
    pttl: async (key: string) => Math.max(-2, (rows.get(key) ?? 0) - now),
  } as ConstructorParameters<typeof VerifiedCredentials>[0]['redis'];
  return {
    rows,
    written,
    pass: (ms: number) => {
      now += ms;
    },
    open: (of = redis) => new VerifiedCredentials({ redis: of, keyOf, now: () => now }),
  };
}

describe('verified credentials', () => {
  it('are known for a day after they were last verified', () => {
    const { open, pass } = world();
    const verified = open();
    expect(verified.has('key:a')).toBe(false);
    verified.remember('key:a');
    pass(13 * hourMs);
    verified.remember('key:a');
    pass(23 * hourMs);
    expect(verified.has('key:a')).toBe(true);
    pass(2 * hourMs);
    expect(verified.has('key:a')).toBe(false);
  });

  it('are told to other processes, a few times a day', async () => {
    const { open, pass, written } = world();
    const [one, other] = [open(), open()];
    for (let request = 0; request < 100; request += 1) one.remember('key:a');
    expect(written).toHaveLength(1);
    expect(other.has('key:a')).toBe(false);
    expect([await other.isShared('key:b'), await other.isShared('key:a')]).toEqual([false, true]);
    expect(other.has('key:a')).toBe(true);
    pass(25 * hourMs);
    expect([other.has('key:a'), await other.isShared('key:a')]).toEqual([false, false]);
  });

  it('are known to each process by itself where Redis is away, or is not used', async () => {
    const away = async () => {
      throw new Error('away');
    };
    const { open } = world();
    for (const verified of [
      open({ set: away, pttl: away }),
      new VerifiedCredentials({ redis: undefined, keyOf, now: () => 0 }),
    ]) {
      verified.remember('key:a');
      expect([verified.has('key:a'), await verified.isShared('key:b')]).toEqual([true, false]);
    }
  });

  it('are forgotten beyond fifty thousand, those that were verified first before others', () => {
    const verified = new VerifiedCredentials({ redis: undefined, keyOf, now: () => 1_000_000 });
    for (let credential = 0; credential <= 50_000; credential += 1) verified.remember(`key:${credential}`);
    expect([verified.has('key:0'), verified.has('key:1'), verified.has('key:50000')]).toEqual([false, true, true]);
  });
});

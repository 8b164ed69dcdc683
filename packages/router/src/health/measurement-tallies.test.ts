import { describe, expect, it } from 'vitest';
import { MeasurementTallies } from './measurement-tallies.ts';

const success = { success: true };

function opened() {
  let sources = 0;
  const tallies = new MeasurementTallies(() => `source-${++sources}`);
  const take = (limit = 100) => {
    const batch = tallies.take(limit);
    return batch && { ...batch, records: Object.fromEntries(batch.records) };
  };
  return { tallies, take };
}

describe('MeasurementTallies', () => {
  it('returns the total of a route and hour once, and again after more was counted', () => {
    const { tallies, take } = opened();
    tallies.count(7, 'a', success);
    tallies.count(7, 'a', { success: false });
    tallies.count(7, 'b', success);
    expect(take()).toEqual({ hour: 7, source: 'source-1', records: { a: '2;1;;;;', b: '1;1;;;;' } });
    expect(take()).toBeUndefined();
    tallies.count(7, 'a', success);
    expect(take()).toEqual({ hour: 7, source: 'source-1', records: { a: '3;2;;;;' } });
  });

  it('counts an attempt in the hour in which it was measured', () => {
    const { tallies, take } = opened();
    tallies.count(7, 'a', success);
    tallies.count(8, 'a', success);
    expect([take(), take()]).toMatchObject([{ hour: 7 }, { hour: 8 }]);
  });

  it('returns at most `limit` records', () => {
    const { tallies, take } = opened();
    for (const routeId of ['a', 'b', 'c']) tallies.count(7, routeId, success);
    expect(Object.keys(take(2)?.records ?? {})).toEqual(['a', 'b']);
    expect(Object.keys(take(2)?.records ?? {})).toEqual(['c']);
  });

  it('returns a record again if sharing failed, including newer counts', () => {
    const { tallies, take } = opened();
    tallies.count(7, 'a', success);
    const batch = tallies.take(100);
    if (batch !== undefined) tallies.giveBack(batch);
    tallies.count(7, 'a', success);
    expect(take()?.records).toEqual({ a: '2;2;;;;' });
  });

  it('an hour that was forgotten and comes again is another source: its records stand beside the first', () => {
    const { tallies, take } = opened();
    tallies.count(7, 'a', success);
    expect(take()?.source).toBe('source-1');
    tallies.forget((hour, isShared) => hour === 7 && isShared);
    tallies.count(7, 'a', success);
    expect(take()).toEqual({ hour: 7, source: 'source-2', records: { a: '1;1;;;;' } });
  });

  it('tells `isOver` whether an hour was shared completely', () => {
    const { tallies, take } = opened();
    tallies.count(7, 'a', success);
    tallies.forget((_, isShared) => isShared);
    expect(take()?.records).toEqual({ a: '1;1;;;;' });
  });
});

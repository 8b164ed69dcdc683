import { describe, expect, it } from 'vitest';
import { reliable } from './measurement.ts';

const measured = (requests: number) => ({ requests, successes: 1, ttftMs: 100, tokensPerSecond: 50 });

describe('reliable', () => {
  it('interface 8: believes a measurement from 20 recent requests on', () => {
    expect(reliable(new Map([['a', measured(19)]]), 'a')).toBeUndefined();
    expect(reliable(new Map([['a', measured(20)]]), 'a')).toEqual(measured(20));
  });

  it('knows nothing of a route that was never measured', () => {
    expect(reliable(new Map([['a', measured(99)]]), 'b')).toBeUndefined();
  });
});

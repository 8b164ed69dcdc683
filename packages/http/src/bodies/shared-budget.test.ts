import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SharedBudget } from './shared-budget.ts';

/** Takes a byte at a time until no more is given. */
function flood(budget: SharedBudget, network: string): number {
  let taken = 0;
  while (budget.take(network, 1)) taken += 1;
  return taken;
}

describe('a budget that networks share', () => {
  it('gives a single network a quarter of it', () => {
    expect(flood(new SharedBudget(1000), 'a')).toBe(250);
  });

  it('leaves room for the next network, however many flood it', () => {
    const budget = new SharedBudget(1000);
    for (let flooding = 0; flooding < 10; flooding += 1) flood(budget, `flooding ${flooding}`);
    expect(flood(budget, 'honest')).toBeGreaterThan(10);
  });

  it('takes nothing where it refuses, and can be taken again what was given back', () => {
    const budget = new SharedBudget(1000);
    expect(budget.take('a', 251)).toBe(false);
    expect(budget.held).toBe(0);
    expect(budget.take('a', 250)).toBe(true);
    expect(budget.take('a', 1)).toBe(false);
    budget.give('a', 250);
    expect(budget.held).toBe(0);
    expect(budget.take('a', 250)).toBe(true);
  });

  it('is never exceeded, and no network holds more than a third of what was free when it last took', () => {
    const step = fc.record({ network: fc.constantFrom('a', 'b', 'c'), bytes: fc.integer({ min: -400, max: 400 }) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const budget = new SharedBudget(1000);
        const held: Record<string, number> = { a: 0, b: 0, c: 0 };
        for (const { network, bytes } of steps) {
          const own = held[network] ?? 0;
          if (bytes < 0) {
            const given = Math.min(own, -bytes);
            budget.give(network, given);
            held[network] = own - given;
          } else if (budget.take(network, bytes)) {
            held[network] = own + bytes;
            expect(3 * (own + bytes)).toBeLessThanOrEqual(1000 - budget.held);
          }
          const sum = Object.values(held).reduce((all, one) => all + one, 0);
          expect(budget.held).toBe(sum);
          expect(sum).toBeLessThanOrEqual(1000);
        }
      }),
    );
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SharedBudget } from './shared-budget.ts';

/** Takes one byte at a time until the budget refuses. */
function flood(budget: SharedBudget, id: string, group?: string): number {
  let taken = 0;
  while (budget.take({ id, group }, 1)) taken += 1;
  return taken;
}

describe('a budget that holders share', () => {
  it('gives a single holder a quarter of it', () => {
    expect(flood(new SharedBudget(1000), 'a')).toBe(250);
  });

  it('leaves room for the next holder, even if many take all they can', () => {
    const budget = new SharedBudget(1000);
    for (let flooding = 0; flooding < 10; flooding += 1) flood(budget, `flooding ${flooding}`);
    expect(flood(budget, 'honest')).toBeGreaterThan(10);
  });

  it('gives half of it to a group of any number of holders, and leaves half of the rest to others', () => {
    const budget = new SharedBudget(1000);
    let taken = 0;
    for (let ticket = 0; ticket < 100; ticket += 1) taken += flood(budget, `ticket ${ticket}`, 'a');
    expect(taken).toBe(500);
    expect(flood(budget, 'ticket of another', 'b')).toBe(125);
    expect(flood(budget, 'without a group')).toBe(93);
    budget.give({ id: 'ticket 0', group: 'a' }, 250);
    expect(flood(budget, 'a new ticket', 'a')).toBeGreaterThan(0);
  });

  it('grants small requests to a group whose large ones hold all that they may', () => {
    const budget = new SharedBudget(100_000);
    for (const id of ['1', '2', '3']) while (budget.take({ id, group: 'a' }, 100, 100)) {}
    expect(budget.held).toBe(50_000);
    expect(budget.take({ id: 'honest', group: 'a' }, 50)).toBe(true);
    expect(budget.take({ id: 'honest', group: 'a' }, 50, 1)).toBe(false);
    let small = 0;
    while (budget.take({ id: `small ${small}`, group: 'a' }, 50)) small += 1;
    expect(budget.held).toBe(75_000);
    expect(budget.take({ id: 'of another group', group: 'b' }, 5_000)).toBe(true);
  });

  it('takes nothing when it refuses, and reuses returned bytes', () => {
    const a = { id: 'a' };
    const budget = new SharedBudget(1000);
    expect(budget.take(a, 251)).toBe(false);
    expect(budget.held).toBe(0);
    expect(budget.take(a, 250)).toBe(true);
    expect(budget.take(a, 1)).toBe(false);
    budget.give(a, 250);
    expect(budget.held).toBe(0);
    expect(budget.take(a, 250)).toBe(true);
  });

  it('is never exceeded, and each holder holds at most a third of what was free at its last take', () => {
    const step = fc.record({ id: fc.constantFrom('a', 'b', 'c'), bytes: fc.integer({ min: -400, max: 400 }) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const budget = new SharedBudget(1000);
        const held: Record<string, number> = { a: 0, b: 0, c: 0 };
        for (const { id, bytes } of steps) {
          const own = held[id] ?? 0;
          if (bytes < 0) {
            const given = Math.min(own, -bytes);
            budget.give({ id }, given);
            held[id] = own - given;
          } else if (budget.take({ id }, bytes)) {
            held[id] = own + bytes;
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

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseBilling } from './billing-plan.ts';
import { builtInBilling } from './billing-settings.ts';

const good = `packages:
  - {id: small, amount: 10}
  - {id: large, amount: 250.5}
limits: {max_balance: 1000, max_open_orders: 3, max_per_day: 500}
fee: {percent: 5.5, fixed: 0.3, minimum: 1}
terms: {text: Pay first.}
seller: {name: Acme}
`;
const problems = (text: string): string[] => {
  const parsed = parseBilling(text);
  return parsed.ok ? [] : parsed.problems.map(({ line, message }) => `${line}: ${message}`);
};

describe('a billing file', () => {
  it('gives each package its fee, rounded up to a cent', () => {
    const parsed = parseBilling(good);
    const plan = parsed.ok ? parsed.value : undefined;
    expect([...(plan?.packages.values() ?? [])]).toEqual([
      { id: 'small', amountNusd: 10_000_000_000n, feeNusd: 1_000_000_000n },
      { id: 'large', amountNusd: 250_500_000_000n, feeNusd: 14_080_000_000n },
    ]);
    expect(plan?.orderLifetimeMs).toBe(3_600_000);
  });

  it('that is built in has no problems', () => {
    expect(problems(readFileSync(builtInBilling, 'utf8'))).toEqual([]);
  });

  it.each([
    [
      'an amount finer than a cent',
      '250.5',
      '10.005',
      '3: `packages.1.amount` is `10.005`: it must be whole cents, 0 or more',
    ],
    [
      'a fixed fee finer than a cent',
      'fixed: 0.3',
      'fixed: 0.305',
      '5: `fee.fixed` is `0.305`: it must be whole cents, 0 or more',
    ],
    [
      'a minimum finer than a cent',
      'minimum: 1',
      'minimum: 0.999',
      '5: `fee.minimum` is `0.999`: it must be whole cents, 0 or more',
    ],
    [
      'a package of nothing',
      'amount: 10}',
      'amount: 0}',
      '2: `packages.0.amount` is `0`: it must be at least one cent',
    ],
    ['a package twice', 'id: large', 'id: small', '3: small: the package is repeated'],
    [
      'a package that nobody could buy',
      'max_per_day: 500',
      'max_per_day: 100',
      '3: large: is above limits.max_per_day: nobody could buy it',
    ],
    [
      'a percentage too fine',
      '5.5',
      '5.5001',
      '5: `fee.percent` is `5.5001`: it must be a percentage of at most three decimals',
    ],
    [
      'terms at no web address',
      'text: Pay first.',
      'text: x, url: "javascript:alert(1)"',
      '6: `terms.url` is `javascript:alert(1)`: it must be an http or https address',
    ],
    ['an unknown field', 'packages:', 'vat: 19\npackages:', '1: the file has an unknown field: `vat`'],
  ])('with %s is refused with its line', (_, right, wrong, problem) => {
    expect(problems(good.replace(right, wrong))).toEqual([problem]);
  });
});

import { expect, it } from 'vitest';
import { mostArrivals, type UsageRow } from '../../api/usage.ts';
import { arrivalsOf } from './use-arrivals.ts';

const rows = (...ids: readonly string[]): UsageRow[] => ids.map((id) => ({ id }) as UsageRow);
const many = (name: string, count: number): string[] => Array.from({ length: count }, (_, at) => `${name}${at}`);
const found = (newest: readonly string[], listed: readonly string[]) => {
  const { arrived, isMore } = arrivalsOf(rows(...newest), rows(...listed));
  return [arrived.map(({ id }) => id).join(''), isMore];
};

it('new rows are those that are not listed, also below rows of a minute that is not complete', () => {
  expect(found(['c', 'b', 'a'], ['b', 'a'])).toEqual(['c', false]);
  expect(found(['b', 'a'], ['b', 'a'])).toEqual(['', false]);
  expect(found(['a'], [])).toEqual(['a', false]);
  expect(found(['c', 'b'], [...many('now', 60), 'b', 'a'])).toEqual(['c', false]);
});

it('more rows are between only where as many are new as were asked for', () => {
  // The listed row has left the last hour.
  expect(found(['b'], ['a'])).toEqual(['b', false]);
  expect(found([], ['a'])).toEqual(['', false]);
  expect(found(many('new', mostArrivals), ['a'])[1]).toBe(true);
  expect(found(many('new', mostArrivals), ['new49', 'a'])[1]).toBe(false);
});

import { readFileSync } from 'node:fs';
import type { Route } from '@sotto/router';
import { describe, expect, it } from 'vitest';
import { readPart } from '../report/table.ts';
import { clients, converse, Preference, PrefixCaches, turns } from './converse.ts';
import { conversationRow, drawScenario, scenarios } from './scenarios.ts';

const page = readFileSync(new URL('../../../docs/reference/simulation.md', import.meta.url), 'utf8');
const served = (provider: string, attempts = 1) => ({
  route: { publicProviderId: provider } as Route,
  success: true,
  attempts,
});
const failed = { route: undefined, success: false, attempts: 3 };
const prefer = (provider: string) => ({ order: [provider], sort: 'privacy' });

describe('the preference for a provider', () => {
  it('is for the first provider that served, until a request fails or another provider serves', () => {
    for (const failure of [failed, served('b', 2)]) {
      const preference = new Preference('first');
      preference.learn(failed);
      expect(preference.policy).toBeUndefined();
      for (const provider of ['a', 'b']) preference.learn(served(provider));
      expect(preference.policy).toEqual(prefer('a'));
      preference.learn(failure);
      preference.learn(served('c'));
      expect(preference.policy).toBeUndefined();
    }
  });

  it('can pass to the provider that served instead', () => {
    const preference = new Preference('last');
    preference.learn(served('a'));
    preference.learn(served('b', 2));
    expect(preference.policy).toEqual(prefer('b'));
    preference.learn(failed);
    expect(preference.policy).toBeUndefined();
    preference.learn(served('c'));
    expect(preference.policy).toEqual(prefer('c'));
  });
});

it("finds in a provider's cache the last prompt that it served, for five minutes", () => {
  const caches = new PrefixCaches();
  expect(caches.use({ id: 'a' }, 100, 0)).toBe(0);
  expect(caches.use({ id: 'b' }, 200, 1)).toBe(0);
  expect(caches.use({ id: 'a' }, 300, 300_000)).toBe(100);
  expect(caches.use({ id: 'b' }, 400, 300_002)).toBe(0);
  expect(caches.use({ id: 'a' }, 500, 600_000)).toBe(300);
});

describe('conversations', () => {
  const run = (prices: readonly number[]) => {
    const world = drawScenario(1, { ...scenarios.plain, prices });
    return clients.map((client) => converse({ world, modelId: 'lab/coder', count: 5 }, client));
  };

  it('take every turn, and cost the same for every client if there is one provider', () => {
    const [none, ...others] = run([1]);
    expect(none?.requests).toBe(5 * turns);
    for (const other of others) expect(other).toEqual(none);
  });

  it('cost less with a preferred provider if several share traffic', () => {
    const [none, first, last] = run([1, 1, 1]).map(({ cost }) => cost);
    expect(first).toBeLessThan(none ?? 0);
    expect(last).toBeLessThan(none ?? 0);
  });
});

describe('the documentation', () => {
  it('has the figures of the smallest scenario', () => {
    expect(readPart(page, 'conversations').split('\n')).toContain(conversationRow(scenarios.quiet));
  });

  it('shows less than the 30 % for which a preferred provider would be worth its code', () => {
    const savings = readPart(page, 'conversations')
      .split('\n')
      .slice(2)
      .map((row) => Number.parseFloat(row.split('|')[4] ?? ''));
    expect(savings).toHaveLength(Object.keys(scenarios).length);
    for (const saving of savings) expect(saving).toBeLessThan(30);
  });
});

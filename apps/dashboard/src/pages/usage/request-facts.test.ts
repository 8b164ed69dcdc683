import type { ModelAnswer } from '@sotto/wire';
import { expect, it } from 'vitest';
import type { UsageRow } from '../../api/usage.ts';
import { chargeLines, routeOf } from './request-facts.tsx';

const row = (more: Partial<UsageRow>): UsageRow => ({
  id: 'a',
  at: '2026-11-25T12:00:00.000Z',
  workspace_id: 'w',
  key_id: 'k',
  operation: 'chat',
  model: 'acme/small',
  provider: 'acme',
  privacy_class: 'private',
  prompt_tokens: 1000,
  cached_tokens: 400,
  completion_tokens: 500,
  reasoning_tokens: 100,
  cost: 0,
  attempts: 1,
  fallback: false,
  status: 'completed',
  estimated: false,
  error: null,
  provider_status: null,
  failed_attempts: [],
  ...more,
});

it('a charge is shown line by line if the prices explain it', () => {
  const pricing = { input: 1, output: 3, cached_input: 0.1, reasoning: 7 };
  expect(chargeLines(row({ cost: 0.00254 }), pricing)).toEqual([
    { name: 'Prompt', count: 600, price: 1, usd: 0.0006 },
    { name: 'Prompt, from a cache', count: 400, price: 0.1, usd: 0.00004 },
    { name: 'Output', count: 400, price: 3, usd: 0.0012 },
    { name: 'Reasoning', count: 100, price: 7, usd: 0.0007 },
  ]);
  expect(chargeLines(row({ cost: 0.0025 }), { input: 1, output: 3 })?.map(({ name, count }) => [name, count])).toEqual([
    ['Prompt', 600],
    ['Prompt, from a cache', 400],
    ['Output', 500],
  ]);
});

it('prices of long prompts and of images explain their charges', () => {
  const tiers = [
    { above_prompt_tokens: 500, input: 2 },
    { above_prompt_tokens: 5000, input: 9 },
  ];
  expect(chargeLines(row({ cost: 0.0035 }), { input: 1, output: 3, tiers })?.[0]?.price).toBe(2);
  expect(chargeLines(row({ operation: 'image', cost: 0.04 }), { image: 0.04 })).toHaveLength(1);
});

it('no line is shown of a charge that the prices do not explain, nor of none', () => {
  expect(chargeLines(row({ cost: 0.0026 }), { input: 1, output: 3 })).toBeUndefined();
  expect(chargeLines(row({ prompt_tokens: 0, cached_tokens: 0, completion_tokens: 0 }), { input: 1 })).toBeUndefined();
});

it('the prices of a request are those of its tier, where its provider has several', () => {
  const routes = [
    { provider: 'acme', privacy_class: 'tee' },
    { provider: 'acme', privacy_class: 'private' },
  ];
  const models = [{ id: 'acme/small', provider_routes: routes }] as unknown as readonly ModelAnswer[];
  expect(routeOf(row({}), models)).toBe(routes[1]);
  expect(routeOf(row({ privacy_class: 'anonymous' }), models)).toBeUndefined();
});

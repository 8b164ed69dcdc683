import type { Preferences } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import {
  aCatalog,
  accepted,
  aModel,
  contextOf,
  needing,
  penalizing,
  type RouteSketch,
  type Surroundings,
} from '../testing/fixtures.ts';
import { type ChoiceExplanation, explainChoice } from './explain-choice.ts';
import { planRequest, type RoutingRequest } from './plan-request.ts';

const explained = (
  sketches: Record<string, RouteSketch[]>,
  strategy: Preferences['auto']['strategy'],
  around: Surroundings & { request?: Partial<RoutingRequest>; models?: Preferences['auto']['models'] } = {},
): ChoiceExplanation | undefined => {
  const { request, models = { mode: 'all', ids: [] }, ...surroundings } = around;
  const auto = { strategy, tiers: 'Standard', models } as const;
  const context = contextOf(aCatalog(...Object.entries(sketches).map(([id, routes]) => aModel(id, routes))), {
    ...surroundings,
    preferences: { auto, ...surroundings.preferences },
  });
  const needs = needing(surroundings.needs);
  return explainChoice(accepted(planRequest({ model: '/auto', ...request }, needs, context)), needs, context);
};

const small: RouteSketch = { provider: 'acme', input: 1, output: 2 };
const large: RouteSketch = { provider: 'bolt', input: 3, output: 9, privacy: 'tee' };
const both = { 'lab/large': [large], 'lab/small': [small] };

describe('explainChoice', () => {
  it('says which strategy chose, by which figure, and what came next', () => {
    expect(explained(both, 'cheapest')).toMatchObject({
      text:
        '`lab/small` at `acme` was chosen by the strategy `cheapest`: of 2 models that can serve the request it has the lowest price, ' +
        '1 USD for input and 2 USD for output per million tokens; next is `lab/large` at `bolt` with 3 USD for input and 9 USD for output per million tokens.',
      candidates: 2,
      runnerUp: 'lab/large',
      decidedBy: 'price',
    });
    expect(explained(both, 'most_private')?.text).toContain(
      'the strongest tier, `tee`; next is `lab/small` at `acme` with `private`',
    );
  });

  it('names the figure that decided where the first one is equal', () => {
    const measured = (ttftMs: number) => ({ requests: 20, successes: 20, ttftMs, tokensPerSecond: 50 });
    const measurements = new Map([
      ['lab/large@bolt', measured(90)],
      ['lab/small@acme', measured(200)],
    ]);
    const status = { measurements, penalized: () => false };
    expect(explained(both, 'fastest', { status })?.text).toContain('the shortest time to the first token, 90 ms; next');
    expect(explained(both, 'fastest')?.decidedBy).toBe('price');
    const twins = { 'lab/a': [small], 'lab/b': [{ ...small, output: 3 }] };
    expect(explained(twins, 'balanced')).toMatchObject({ decidedBy: 'score', runnerUp: 'lab/b' });
    // 3,000 tokens at 1 and 1,000 at 2 USD per million: half a cent.
    expect(explained(twins, 'balanced')?.text).toContain('0.00500 USD for a typical request');
  });

  it('says when only the catalog order decided, and when no other model could serve', () => {
    expect(explained({ 'lab/a': [small], 'lab/b': [small] }, 'cheapest')).toMatchObject({
      decidedBy: 'catalog_order',
      text: expect.stringContaining('comes before it in the catalog'),
    });
    expect(explained({ 'lab/a': [small] }, 'cheapest')).toMatchObject({ decidedBy: 'alone', runnerUp: undefined });
  });

  it('says which model would come first if it had not failed recently', () => {
    expect(explained(both, 'cheapest', { status: penalizing('acme') })).toMatchObject({
      decidedBy: 'health',
      text: expect.stringContaining('`lab/small` would come first, but has failed recently'),
    });
  });

  it('counts the models that each rule left out', () => {
    const sketches = {
      ...both,
      'lab/gone': [],
      'lab/blind': [{ ...small, capabilities: { vision: false } }],
      'lab/tiny': [{ ...small, capabilities: { vision: true }, contextLength: 10 }],
      'lab/dear': [{ ...small, capabilities: { vision: true }, input: 50 }],
      'lab/able': [{ ...small, capabilities: { vision: true } }],
      'lab/not-allowed': [{ ...small, capabilities: { vision: true } }],
    };
    const found = explained(sketches, 'cheapest', {
      needs: { vision: true, promptTokens: 500 },
      preferences: { max_price: { input: 20 } },
      models: { mode: 'except', ids: ['lab/not-allowed'] },
    });
    expect(found?.dropped).toEqual(
      new Map([
        ['capability', 3],
        ['routes', 1],
        ['context', 1],
        ['price', 1],
        ['models', 1],
      ]),
    );
    expect(found?.text).toContain('Left out: 3 without what the request needs');
  });

  it('is undefined for a model that the request named', () => {
    expect(explained(both, 'cheapest', { request: { model: 'lab/small' } })).toBeUndefined();
  });

  it('shows an unlisted provider as `other`', () => {
    const hidden = { 'lab/a': [{ ...small, provider: 'hidden', unlisted: true }] };
    expect(explained(hidden, 'cheapest')?.text).toContain('`lab/a` at `other`');
    expect(explained(hidden, 'cheapest')?.text).not.toContain('hidden');
  });
});

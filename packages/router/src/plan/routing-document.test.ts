import { readFileSync } from 'node:fs';
import { privacyClassSchema } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { aCatalog, aModel, planned, theModel } from '../testing/fixtures.ts';
import { scoredRoutesOf } from './scored-route.ts';

const document = readFileSync(new URL('../../../../docs/concepts/routing.md', import.meta.url), 'utf8');

/** The text after `<!-- test: name -->`, up to the next blank line. */
function marked(name: string): string[] {
  const [, after] = document.split(`<!-- test: ${name} -->\n`);
  if (after === undefined) throw new Error(`docs/concepts/routing.md has no example ${name}`);
  return (after.split('\n\n')[0] ?? '').split('\n');
}

const rows = marked('example')
  .slice(2)
  .map((line) => {
    const [provider = '', tier, ...figures] = line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim());
    const [input, cached, output, requests, ttftMs, tokensPerSecond, successRate, cost, score] = figures.map(
      (figure) => (figure === '' ? undefined : Number(figure)),
    );
    const numbers = { input, cached, output, requests, ttftMs, tokensPerSecond, successRate, cost, score };
    return { provider, privacy: privacyClassSchema.parse(tier), ...numbers };
  });

const model = aModel(
  theModel,
  rows.map(({ provider, privacy, input, output, cached }) => ({
    ...{ provider, privacy, input, output },
    price: cached === undefined ? {} : { cachedInput: Math.round(cached * 1e6) },
  })),
);
const measurements = new Map(
  rows.map(({ provider, requests = 0, successRate = 1, ttftMs, tokensPerSecond }) => [
    `${theModel}@${provider}`,
    { requests, successes: Math.round(requests * successRate), ttftMs, tokensPerSecond },
  ]),
);

describe('docs/concepts/routing.md: the worked example', () => {
  it('has a row for each rule that it explains', () => expect(rows.length).toBeGreaterThanOrEqual(6));

  it.each(rows.map((row, at) => ({ ...row, at })))('$provider costs and scores what stands there', (row) => {
    const scored = scoredRoutesOf(model, measurements)[row.at];
    // Thousandths of a dollar are millions of nano-dollars.
    expect(((scored?.cost ?? 0) / 1e6).toFixed(3)).toBe(row.cost?.toFixed(3));
    expect(((scored?.score ?? 0) / 1e6).toFixed(3)).toBe(row.score?.toFixed(3));
  });

  it('the formula gives these scores', () => {
    const formula = marked('score')[1];
    expect(formula).toBe('score = C × (T / 1 s)^0.1 × (50 / V)^0.1 ÷ S³');
    for (const { cost = 0, ttftMs, tokensPerSecond, successRate, score = 0 } of rows) {
      if (ttftMs === undefined || tokensPerSecond === undefined || successRate === undefined) continue;
      const own = (cost * (ttftMs / 1000) ** 0.1 * (50 / tokensPerSecond) ** 0.1) / successRate ** 3;
      expect(own.toFixed(3)).toBe(score.toFixed(3));
    }
  });

  it('the order is the plan’s', () => {
    const plan = planned(aCatalog(model), {}, { status: { measurements, penalized: () => false } });
    const shares = plan.shares.map(({ providerId }) => providerId).join(' ~ ');
    const rest = plan.routes.slice(plan.shares.length).map(({ providerId }) => providerId);
    expect([shares, ...rest].join(' > ')).toBe(marked('order')[1]);
  });
});

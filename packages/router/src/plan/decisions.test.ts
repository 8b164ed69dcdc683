import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { decisionOf, readExamples } from '../testing/decision-tables.ts';

const document = new URL('../../../../docs/reference/routing-by-example.md', import.meta.url);
const examples = readExamples(readFileSync(document, 'utf8'));

/** The readable specification is the test: this runs each row of `docs/reference/routing-by-example.md`. */
describe.each([...Map.groupBy(examples, ({ section }) => section)])('%s', (_, rows) => {
  for (const example of rows) {
    const { request, workspace, meanwhile } = example.cells;
    const given = [request || 'no policy', workspace, meanwhile].filter((cell) => cell !== '').join(' | ');
    it(`line ${example.line}: ${given} → ${example.decision}`, () => {
      expect(decisionOf(example)).toBe(example.decision);
    });
  }
});

it('has at least 200 decisions', () => {
  expect(examples.length).toBeGreaterThanOrEqual(200);
});

import { describe, expect, it } from 'vitest';
import { checkCatalog } from './parse-catalog.ts';

const good = `as_of: 2026-06-01
models:
  - id: acme/small
    model_type: text
    context_length: 1000
    max_output_tokens: 500
    routes:
      - provider: acme
        upstream_model: small-v1
        privacy_class: private
        pricing: {input: 0.5, output: 1.5}
`;
const check = (text: string, today = '2026-07-01') => checkCatalog(text, undefined, today);
const warningsOf = (text: string, today?: string) => {
  const { problems, warnings } = check(text, today);
  expect(problems).toEqual([]);
  return warnings.map(({ line, message }) => `${line}: ${message}`);
};

describe('catalog warnings', () => {
  it('are empty for a file without mistakes', () => {
    expect(warningsOf(good)).toEqual([]);
  });

  it('do not tell of a route that is free: its operator may own the server', () => {
    const text = good.replace('{input: 0.5, output: 1.5}', '{input: 0, output: 0}');
    expect(warningsOf(text)).toEqual([]);
    expect([check(text).free, check(good).free]).toEqual([['acme/small at acme'], []]);
  });

  it.each([
    [
      'one price of 0',
      ['output: 1.5', 'output: 0'],
      ['11: acme/small: the output price of acme is 0: nothing is charged for it'],
    ],
    [
      'cached input dearer than input',
      ['{input: 0.5', '{cached_input: 0.6, input: 0.5'],
      ['11: acme/small: at acme, cached input costs more than input'],
    ],
    [
      'a tier below the base price',
      ['output: 1.5', 'output: 1.5, tiers: [{above_prompt_tokens: 500, input: 0.4}]'],
      ['11: acme/small: at acme, input costs less above 500 prompt tokens than below'],
    ],
    [
      "a route's limit above the model's",
      ['        pricing', '        context_length: 2000\n        pricing'],
      ["11: acme/small: context_length of acme is above the model's, which rules"],
    ],
    [
      'more output than the window holds',
      ['max_output_tokens: 500', 'max_output_tokens: 5000'],
      ['8: acme/small: max_output_tokens of acme is above its context_length'],
    ],
    [
      'a parameter that nobody knows',
      ['    routes', '    supported_parameters: [seed, temprature]\n    routes'],
      ['7: acme/small: `temprature` is no known parameter'],
    ],
    [
      'facts that are old',
      ['2026-06-01', '2026-01-01'],
      ['1: the file: as of 2026-01-01, 181 days ago: look the facts up again'],
    ],
    ['a date that has not come', ['2026-06-01', '2026-07-02'], ['1: the file: as_of 2026-07-02 lies in the future']],
    [
      'an old route',
      ['        pricing', '        as_of: 2025-07-01\n        pricing'],
      ['11: acme/small: as of 2025-07-01, 365 days ago: look the facts up again'],
    ],
  ])('report %s, with the line', (_, [from = '', to = ''], warnings) => {
    expect(good).toContain(from);
    expect(warningsOf(good.replace(from, to))).toEqual(warnings);
  });

  it('accept facts that are exactly 180 days old', () => {
    expect(warningsOf(good, '2026-11-28')).toEqual([]);
    expect(warningsOf(good, '2026-11-29')).toHaveLength(1);
  });

  it('tell of models that differ only in case, and of one upstream model under two names', () => {
    const twice = good + good.replace('as_of: 2026-06-01\nmodels:\n', '').replace('acme/small', 'acme/Small');
    expect(warningsOf(twice)).toEqual([
      '12: acme/Small: differs from acme/small only in upper and lower case',
      '18: acme/Small: acme serves small-v1 as acme/small too',
    ]);
  });
});

describe('checkCatalog', () => {
  it('returns the file and its problems in order', () => {
    const { file, problems } = check(
      good.replace('output: 1.5', 'cached_input: 1').replace('context_length: 1000\n', 'name: S\n'),
    );
    expect(problems.map(({ line }) => line)).toEqual([8, 11]);
    expect(file?.models).toHaveLength(1);
    expect(check('models: 5')).toMatchObject({ file: undefined, warnings: [], problems: [{ line: 1 }] });
  });

  it('checks providers only with a registry', () => {
    const registry = { digest: 'r', providers: [] };
    expect(checkCatalog(good, registry, '2026-07-01').problems).toEqual([
      { line: 8, message: 'acme/small: provider acme is not in the registry' },
    ]);
  });

  it.each([
    ['tools: true', '[temperature]', 'tools'],
    ['structured_output: true', '[response_format]', 'structured_outputs'],
    ['reasoning: {efforts: [low]}', '[tools]', 'reasoning_effort'],
  ])('refuses a route that offers %s beside the list %s', (offered, list, name) => {
    const text = good.replace(
      '        pricing',
      `        capabilities: {${offered}}\n        supported_parameters: ${list}\n        pricing`,
    );
    expect(check(text).problems).toEqual([
      {
        line: 11,
        message: `acme/small: the route of acme offers what its supported_parameters lack: add \`${name}\` there, or do not offer it`,
      },
    ]);
    expect(check(text.replace(list, `${list.slice(0, -1)}, ${name}]`)).problems).toEqual([]);
  });
});

import { readFileSync } from 'node:fs';
import { chatRequestSchema, type ProviderPolicyObject } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { outputCeiling } from '../plan/attempt-limits.ts';
import { measureChat, requestedOutputTokens } from '../plan/chat-needs.ts';
import { planRequest } from '../plan/plan-request.ts';
import { aRoute, contextOf, oneModel, type RouteSketch, theModel } from '../testing/fixtures.ts';
import { fitToRoute } from './fit-to-route.ts';
import { chatParameters } from './parameter-names.ts';
import { reasoningOn } from './route-parameters.ts';

/** The guide's table is the specification: this test runs each of its rows. */
const guide = readFileSync(new URL('../../../../docs/use/parameters.md', import.meta.url), 'utf8');
function quoted(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
}
const rows = guide
  .slice(guide.indexOf('| route |'))
  .split('\n\n', 1)
  .join()
  .split('\n')
  .slice(2)
  .filter((line) => line.startsWith('|'))
  .map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
  // A row may have several bodies with the same outcome.
  .flatMap(([route = '', bodies = '', ...outcomes]) => quoted(bodies).map((body) => [route, body, ...outcomes]));

const fromCode = (cell: string): object => JSON.parse(cell.replace(/^`|`$/g, ''));

const whole = {
  tools: true,
  vision: true,
  structuredOutput: true,
  reasoning: { efforts: ['low', 'high'], canDisable: true },
};

/** The route in the first column. */
function sketchOf(cell: string, body: object): RouteSketch {
  const names = cell === 'lacks the parameter' ? Object.keys(body) : quoted(cell);
  const base = { provider: 'acme', capabilities: whole };
  if (cell.startsWith('lacks')) {
    const [lacked = ''] = names;
    return {
      ...base,
      capabilities: {
        ...whole,
        tools: lacked !== 'tools',
        structuredOutput: lacked !== 'structured_outputs',
      },
      supportedParameters: chatParameters.filter((name) => name !== lacked),
    };
  }
  if (cell.startsWith('allows `temperature` up to 1')) return { ...base, parameterRanges: { temperature: { max: 1 } } };
  if (cell.startsWith('accepts one of')) {
    return {
      ...base,
      exclusiveParameters: [chatParameters.filter((name) => names.includes(name)).sort(inOrderOf(names))],
    };
  }
  if (cell.startsWith('reasons at')) {
    return {
      ...base,
      capabilities: { ...whole, reasoning: { efforts: names, canDisable: cell.includes('can disable') } },
    };
  }
  if (cell === 'no reasoning') return { ...base, capabilities: { tools: true, structuredOutput: true } };
  if (cell.startsWith('writes at most 100')) return { ...base, maxOutputTokens: 100 };
  throw new Error(`no such route: ${cell}`);
}

const inOrderOf = (names: readonly string[]) => (a: string, b: string) => names.indexOf(a) - names.indexOf(b);

/** The result of a body on a route, in the words of the table. */
function outcomeOf(body: object, sketch: RouteSketch, provider?: ProviderPolicyObject): object | string {
  const chat = chatRequestSchema.parse({ model: theModel, messages: [{ role: 'user', content: 'hi' }], ...body });
  const ceiling = requestedOutputTokens(chat);
  if (ceiling === 'conflict') throw new Error('two ceilings');
  const { needs, size } = measureChat(chat, ceiling);
  const plan = planRequest({ model: theModel, provider }, needs, contextOf(oneModel(sketch)));
  if (!plan.ok) return 'skipped';
  const route = aRoute(sketch);
  const {
    model: _,
    messages: __,
    reasoning: ___,
    reasoning_effort: ____,
    max_tokens: _____,
    ...rest
  } = fitToRoute(chat, needs, route);
  const reasoning = reasoningOn(route, needs);
  const limited = ceiling !== undefined || route.maxOutputTokens !== undefined;
  const upstream = {
    ...Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null)),
    ...(reasoning === undefined || reasoning === 'off' ? {} : { reasoning_effort: reasoning.effort }),
    ...(limited ? { max_tokens: outputCeiling(route, size) } : {}),
  };
  if (reasoning === 'off') return Object.keys(upstream).length === 0 ? 'disabled' : { ...upstream, reasoning: 'off' };
  return Object.keys(upstream).length === 0 ? 'dropped' : upstream;
}

describe('docs/use/parameters.md', () => {
  it('covers every parameter', () => {
    expect(rows.length).toBeGreaterThanOrEqual(29);
    const told = new Set(rows.flatMap(([, body = '']) => Object.keys(fromCode(body))));
    const fields = chatParameters.map((name) => (name === 'structured_outputs' ? 'response_format' : name));
    expect(fields.filter((name) => !told.has(name))).toEqual([]);
  });

  it.each(rows)('%s, %s: %s; with `require_parameters`: %s', (route = '', body = '', usual = '', strict = '') => {
    const expected = (cell: string) => (cell.startsWith('`') ? fromCode(cell) : cell);
    expect(outcomeOf(fromCode(body), sketchOf(route, fromCode(body)))).toEqual(expected(usual));
    expect(outcomeOf(fromCode(body), sketchOf(route, fromCode(body)), { require_parameters: true })).toEqual(
      expected(strict),
    );
  });
});

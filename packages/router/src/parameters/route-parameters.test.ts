import { describe, expect, it } from 'vitest';
import { reasoningNeeds } from '../plan/needs.ts';
import { aRoute, needing, type RouteSketch } from '../testing/fixtures.ts';
import { chatParameters } from './parameter-names.ts';
import { crowdedOut, lackedParameters, reasoningOn, takes } from './route-parameters.ts';

const route = (sketch: Partial<RouteSketch>) => aRoute({ provider: 'acme', ...sketch });
const able = {
  tools: true,
  vision: true,
  structuredOutput: true,
  reasoning: { efforts: ['low', 'high'], canDisable: true },
};

describe('takes', () => {
  it('takes everything where the catalog has no list and the capabilities are there', () => {
    expect(chatParameters.filter((name) => !takes(route({ capabilities: able }), name))).toEqual([]);
  });

  it('takes nothing that needs a capability which is not there, whatever the list says', () => {
    const listed = route({ supportedParameters: chatParameters });
    expect(chatParameters.filter((name) => !takes(listed, name))).toEqual([
      ...['structured_outputs', 'tools', 'tool_choice', 'parallel_tool_calls', 'reasoning_effort'],
    ]);
  });

  it('takes of the rest what the list has', () => {
    const listed = route({ capabilities: able, supportedParameters: ['temperature', 'tools', 'tool_choice'] });
    expect(chatParameters.filter((name) => takes(listed, name))).toEqual([
      ...['temperature', 'structured_outputs', 'tools', 'tool_choice', 'reasoning_effort'],
    ]);
  });
});

describe('crowdedOut', () => {
  const lists = [
    ['temperature', 'top_p', 'seed'],
    ['top_p', 'stop'],
  ] as const;
  const crowded = (...optionalParameters: (typeof chatParameters)[number][]) => [
    ...crowdedOut(route({ exclusiveParameters: lists }), needing({ optionalParameters })),
  ];

  it('keeps the first of a list that the request uses', () => {
    expect(crowded('top_p')).toEqual([]);
    expect(crowded('top_p', 'temperature')).toEqual(['top_p']);
    expect(crowded('seed', 'temperature', 'top_p')).toEqual(['top_p', 'seed']);
  });

  it('a parameter that was crowded out does not crowd out others', () => {
    expect(crowded('temperature', 'top_p', 'stop')).toEqual(['top_p']);
    expect(crowded('top_p', 'stop')).toEqual(['stop']);
  });
});

describe('lackedParameters (`require_parameters`)', () => {
  const lacked = (sketch: Partial<RouteSketch>, needs: Parameters<typeof needing>[0]) =>
    lackedParameters(route(sketch), needing(needs));

  it('is nothing for a request that uses nothing', () => {
    expect(lacked({ supportedParameters: [] }, {})).toEqual([]);
  });

  it('is what the list does not have', () => {
    expect(lacked({ supportedParameters: ['seed'] }, { optionalParameters: ['seed', 'stop', 'temperature'] })).toEqual([
      'stop',
      'temperature',
    ]);
    expect(lacked({}, { optionalParameters: ['seed', 'stop'] })).toEqual([]);
  });

  it('is what the API of the provider does not have, whatever the list says', () => {
    const missingParameters = ['seed'] as const;
    expect(lacked({ missingParameters }, { optionalParameters: ['seed', 'stop'] })).toEqual(['seed']);
    expect(lacked({ missingParameters, supportedParameters: ['seed'] }, { optionalParameters: ['seed'] })).toEqual([
      'seed',
    ]);
  });

  it('is JSON output on a route without a list that does not follow schemas either', () => {
    expect(lacked({}, { optionalParameters: ['response_format'] })).toEqual(['response_format']);
    expect(lacked({ capabilities: able }, { optionalParameters: ['response_format'] })).toEqual([]);
    expect(lacked({ supportedParameters: ['response_format'] }, { optionalParameters: ['response_format'] })).toEqual(
      [],
    );
    expect(
      lacked({ supportedParameters: [], capabilities: able }, { optionalParameters: ['response_format'] }),
    ).toEqual(['response_format']);
  });

  it('includes an effort that the route can only approximate', () => {
    expect(lacked({ capabilities: able }, { reasoningEffort: 'high' })).toEqual([]);
    expect(lacked({ capabilities: able }, { reasoningEffort: 'medium' })).toEqual(['reasoning_effort']);
    expect(lacked({}, { reasoningEffort: 'high' })).toEqual(['reasoning_effort']);
  });

  it('includes turning reasoning off where the route cannot, but not where it has no reasoning', () => {
    const stuck = { capabilities: { reasoning: { efforts: ['low'], canDisable: false } } };
    expect(lacked(stuck, { reasoningDisabled: true })).toEqual(['reasoning.enabled']);
    expect(lacked({ capabilities: able }, { reasoningDisabled: true })).toEqual([]);
    expect(lacked({}, { reasoningDisabled: true })).toEqual([]);
  });

  it('includes a request to reason, on a route without reasoning', () => {
    expect(lacked({}, { reasoningEnabled: true })).toEqual(['reasoning.enabled']);
    expect(lacked({ capabilities: able }, { reasoningEnabled: true })).toEqual([]);
  });

  it('is a parameter that another one crowds out', () => {
    const sketch = { capabilities: able, exclusiveParameters: [['tools', 'reasoning_effort']] as const };
    expect(lacked(sketch, { tools: true, reasoningEffort: 'low' })).toEqual(['reasoning_effort']);
    expect(lacked(sketch, { reasoningEffort: 'low' })).toEqual([]);
  });
});

describe('reasoningOn', () => {
  const on = (reasoning: { efforts: string[]; canDisable: boolean } | undefined, needs: object, more: object = {}) =>
    reasoningOn(
      route({ capabilities: reasoning === undefined ? { tools: true } : { tools: true, reasoning }, ...more }),
      needing(needs),
    );
  const usual = { efforts: ['low', 'medium', 'high'], canDisable: true };

  it('leaves an effort out that another parameter excludes, where reasoning cannot be turned off', () => {
    const exclusive = { exclusiveParameters: [['tools', 'reasoning_effort']] };
    const stuck = { ...usual, canDisable: false };
    expect(on(stuck, { tools: true, reasoningEffort: 'high' }, exclusive)).toBeUndefined();
    expect(on(usual, { tools: true, reasoningEffort: 'high' }, exclusive)).toBe('off');
  });

  it.each([
    ['nothing asked for', usual, {}, undefined],
    ['an effort that is offered', usual, { reasoningEffort: 'high' }, { effort: 'high' }],
    ['an effort beyond those offered', usual, { reasoningEffort: 'max' }, { effort: 'high' }],
    ['no reasoning at all', undefined, { reasoningEffort: 'high', reasoningDisabled: true }, undefined],
    ['reasoning without levels', { efforts: [], canDisable: false }, { reasoningEffort: 'high' }, undefined],
    ['switched off where it can be', usual, { reasoningDisabled: true }, 'off'],
    ['switched off beside an effort', usual, { reasoningDisabled: true, reasoningEffort: 'high' }, 'off'],
    [
      'switched off where it cannot be',
      { efforts: ['minimal', 'high'], canDisable: false },
      { reasoningDisabled: true },
      { effort: 'minimal' },
    ],
  ])('%s', (_, reasoning, needs, expected) => {
    expect(on(reasoning, needs)).toEqual(expected);
  });

  it('enables reasoning at the route’s default effort if the request states none', () => {
    const thinker = route({ capabilities: { reasoning: usual } });
    const enabled = (more?: { effort: string }) => needing(reasoningNeeds({ enabled: true, ...more }));
    expect(reasoningOn(thinker, enabled())).toEqual({ effort: undefined });
    expect(reasoningOn(thinker, enabled({ effort: 'low' }))).toEqual({ effort: 'low' });
    expect(reasoningOn(route({}), enabled())).toBeUndefined();
  });

  it('is off beside tools that the provider takes only without reasoning, also if the request names no effort', () => {
    const exclusive = { exclusiveParameters: [['tools', 'reasoning_effort']] };
    expect(on(usual, { tools: true, reasoningEffort: 'high' }, exclusive)).toBe('off');
    expect(on(usual, { tools: true }, exclusive)).toBe('off');
    expect(on(usual, { tools: true, reasoningEnabled: true }, exclusive)).toBe('off');
    expect(on(usual, { tools: true, reasoningDisabled: true }, exclusive)).toBe('off');
    expect(on(usual, { reasoningEffort: 'high' }, exclusive)).toEqual({ effort: 'high' });
  });
});

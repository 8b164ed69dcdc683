import { describe, expect, it } from 'vitest';
import type { MergedPolicy } from '../policy/merge-policy.ts';
import { accept } from '../policy/refusal.ts';
import {
  accepted,
  aModel,
  aRoute,
  merged,
  needing,
  type RouteSketch,
  refusalOf,
  theModel,
} from '../testing/fixtures.ts';
import { demandsOf } from './demands.ts';
import { eligibleRoutes, exclusionOf, routesThatHold } from './eligibility.ts';
import type { Needs } from './needs.ts';
import { factsOf, modelFacts } from './route-facts.ts';

const judge = (sketches: RouteSketch[], policy: MergedPolicy, needs: Partial<Needs> = {}) => {
  const model = aModel(theModel, sketches);
  const judged = eligibleRoutes(model, modelFacts(model), demandsOf(policy, needing(needs)));
  return judged.ok ? accept(judged.value.map(({ route }) => route)) : judged;
};
const eligible = (...question: Parameters<typeof judge>): string[] =>
  accepted(judge(...question)).map((route) => route.providerId);
const refusal = (...question: Parameters<typeof judge>) => refusalOf(judge(...question));

const family: RouteSketch[] = [
  { provider: 'acme' },
  { provider: 'acme/eu' },
  { provider: 'acmeco' },
  { provider: 'hidden', unlisted: true },
  { provider: 'shadow', unlisted: true },
];

describe('providers', () => {
  it('says of a provider that is named what keeps it from serving', () => {
    const routes: RouteSketch[] = [
      { provider: 'priv' },
      { provider: 'bolt', privacy: 'anonymous' },
      { provider: 'hidden', privacy: 'anonymous', unlisted: true },
    ];
    const cheapest = 'sorting by price uses `private` or stronger unless `minimum_privacy` says otherwise';
    expect(refusal(routes, merged({ only: ['bolt'], sort: 'price' })).message).toContain(
      `\`bolt\`: It is \`anonymous\`; ${cheapest}`,
    );
    expect(refusal(routes, merged({ only: ['other'], sort: 'price' })).message).toContain('`other`: It is `anonymous`');
    expect(refusal(routes, merged({ only: ['nobody'], sort: 'price' })).message).not.toContain(': ');
  });

  it.each([
    ['acme', ['acme', 'acme/eu']],
    ['acme/eu', ['acme/eu']],
    ['acmeco', ['acmeco']],
    ['other', ['hidden', 'shadow']],
  ])('`only: [%s]` leaves %j', (entry, left) => {
    expect(eligible(family, merged({ only: [entry] }))).toEqual(left);
    expect(eligible(family, merged(entry))).toEqual(left);
  });

  it.each([
    ['acme', ['acmeco', 'hidden', 'shadow']],
    ['acme/eu', ['acme', 'acmeco', 'hidden', 'shadow']],
    ['acmeco', ['acme', 'acme/eu', 'hidden', 'shadow']],
    ['other', ['acme', 'acme/eu', 'acmeco']],
  ])('`ignore: [%s]` leaves %j', (entry, left) => {
    expect(eligible(family, merged({ ignore: [entry] }))).toEqual(left);
    expect(eligible(family, merged({}, { provider_ignore: [entry] }))).toEqual(left);
  });

  it('a workspace that allows some providers uses no other, and none by the name of its company', () => {
    expect(eligible(family, { ...merged({}), allow: ['acme', 'acmeco'] })).toEqual(['acme', 'acmeco']);
    expect(eligible(family, { ...merged({ only: ['acme'] }), allow: ['acme/eu'] })).toEqual(['acme/eu']);
  });

  it('a request cannot name an unlisted provider by its own id', () => {
    expect(refusal(family, merged('hidden')).type).toBe('no_provider_route');
    expect(eligible(family, merged({ ignore: ['hidden'] }))).toContain('hidden');
  });

  it('a request cannot bring a disabled provider back', () => {
    expect(refusal(family, merged('acme/eu', { provider_ignore: ['acme'] }))).toMatchObject({
      type: 'no_provider_route',
      message: expect.stringContaining('disabled in the workspace'),
    });
    expect(eligible(family, merged({ order: ['acme', 'acmeco'] }, { provider_ignore: ['acme'] }))).not.toContain(
      'acme',
    );
  });

  it('`order` excludes no provider', () => {
    expect(eligible(family, merged({ order: ['acmeco'] }))).toHaveLength(family.length);
  });

  it('an unknown provider is `no_provider_route`', () => {
    expect(refusal(family, merged({ only: ['nobody'] }))).toMatchObject({
      type: 'no_provider_route',
      param: 'provider',
      message: expect.stringContaining('provider.only'),
    });
  });
});

describe('privacy', () => {
  const tiers: RouteSketch[] = [
    { provider: 'anon', privacy: 'anonymous' },
    { provider: 'priv', privacy: 'private' },
    { provider: 'encl', privacy: 'tee' },
    { provider: 'sealed', privacy: 'e2ee' },
  ];

  it('keeps what is at the floor or above it', () => {
    expect(eligible(tiers, merged())).toEqual(['anon', 'priv', 'encl']);
    expect(eligible(tiers, merged({ minimum_privacy: 'private' }))).toEqual(['priv', 'encl']);
    expect(eligible(tiers, merged({}, { privacy_boundary: 'Maximum' }))).toEqual(['encl']);
  });

  it('below the boundary it is `privacy_boundary_not_met`, below the rest `no_provider_route_meets_privacy`', () => {
    const anonymous = tiers.slice(0, 1);
    expect(refusal(anonymous, merged({}, { privacy_boundary: 'Private' }))).toMatchObject({
      type: 'privacy_boundary_not_met',
      message: expect.stringContaining('private or stronger'),
    });
    for (const floor of [merged({ minimum_privacy: 'tee' }), merged({}, { provider_minimum_privacy: 'tee' })]) {
      expect(refusal(anonymous, floor)).toMatchObject({
        type: 'no_provider_route_meets_privacy',
        message: expect.stringContaining('tee or stronger'),
      });
    }
  });

  it.each(['price', 'latency', 'throughput'] as const)(
    'an error caused by the floor that a sort by %s carries says how to ask for `anonymous`',
    (sort) => {
      const { type, message } = refusal(tiers.slice(0, 1), merged({ sort }));
      expect(type).toBe('no_provider_route_meets_privacy');
      expect(message).toContain(`sorting by ${sort}`);
      expect(message).toContain('`provider.minimum_privacy: "anonymous"`');
      expect(eligible(tiers.slice(0, 1), merged({ sort, minimum_privacy: 'anonymous' }))).toEqual(['anon']);
    },
  );

  it('gives no such advice where it would not help', () => {
    const floor = merged({ sort: 'price' }, { provider_minimum_privacy: 'private' });
    expect(refusal(tiers.slice(0, 1), floor).message).not.toContain('minimum_privacy');
  });

  it('an e2ee route is never chosen for a plaintext request, however private that wants to be', () => {
    for (const policy of [
      merged(),
      merged('sealed'),
      merged({ minimum_privacy: 'e2ee' }),
      merged({ order: ['sealed'] }),
    ]) {
      const judged = judge(tiers, policy);
      expect(judged.ok ? judged.value.map((route) => route.providerId) : []).not.toContain('sealed');
    }
  });

  it('plaintext where only e2ee would do is 403 `no_provider_route_meets_privacy`', () => {
    expect(refusal(tiers, merged({ minimum_privacy: 'e2ee' })).type).toBe('no_provider_route_meets_privacy');
    expect(refusal(tiers.slice(3), merged())).toMatchObject({
      type: 'no_provider_route_meets_privacy',
      message: expect.stringContaining('end-to-end-encrypted'),
    });
  });

  it('plaintext pinned to an e2ee provider is refused for its privacy, though others would take it', () => {
    expect(refusal(tiers, merged('sealed'))).toMatchObject({
      type: 'no_provider_route_meets_privacy',
      message: expect.stringContaining('end-to-end-encrypted'),
    });
    expect(refusal(tiers, merged('nobody')).type).toBe('no_provider_route');
    expect(eligible(tiers, merged({ only: ['sealed', 'priv'] }))).toEqual(['priv']);
    expect(refusal(tiers, merged('priv'), { encrypted: true }).type).toBe('no_provider_route');
    expect(eligible(tiers, merged('sealed'), { encrypted: true })).toEqual(['sealed']);
  });

  it('an encrypted request is served by e2ee routes only', () => {
    expect(eligible(tiers, merged(), { encrypted: true })).toEqual(['sealed']);
    expect(refusal(tiers.slice(0, 3), merged(), { encrypted: true })).toMatchObject({
      type: 'no_provider_route_meets_privacy',
      message: expect.stringContaining('takes end-to-end-encrypted requests'),
    });
  });
});

describe('capabilities', () => {
  const capable = {
    tools: true,
    vision: true,
    structuredOutput: true,
    reasoning: { efforts: ['low'], canDisable: true },
  };
  const both: RouteSketch[] = [{ provider: 'plain' }, { provider: 'able', capabilities: capable }];

  it.each([
    [{ tools: true }, 'tools'],
    [{ vision: true }, 'image input'],
    [{ structuredOutput: true }, 'structured output'],
  ])('drops routes that lack what %j needs, and says what was missing', (needs, name) => {
    expect(eligible(both, merged(), needs)).toEqual(['able']);
    const { type, message } = refusal(both.slice(0, 1), merged(), needs);
    expect(type).toBe('no_provider_route');
    expect(message).toContain(`request needs: ${name}. The operator states`);
  });

  it.each([
    [{ optionalParameters: ['response_format'] as const }, '`response_format`'],
    [{ reasoningEffort: 'low' }, '`reasoning_effort`'],
  ])('under `require_parameters` drops routes that lack %j, by a rule of its own', (needs, name) => {
    const strict = merged({ require_parameters: true });
    expect(eligible(both, strict, needs)).toEqual(['able']);
    expect(eligible(both, merged(), needs)).toEqual(['plain', 'able']);
    expect(refusal(both.slice(0, 1), strict, needs)).toMatchObject({
      type: 'no_provider_route',
      param: 'provider.require_parameters',
      message: expect.stringContaining(name),
    });
    expect(exclusionOf(factsOf(aRoute({ provider: 'plain' })), demandsOf(strict, needing(needs)))).toMatchObject({
      rule: 'parameters',
      message: expect.stringContaining(name),
    });
  });

  it('says of several routes what each of them lacks', () => {
    const sketches = [
      { provider: 'a', supportedParameters: ['stop'] },
      { provider: 'b', supportedParameters: ['seed'] },
    ];
    const { message } = refusal(sketches, merged({ require_parameters: true }), {
      optionalParameters: ['seed', 'stop'],
    });
    expect(message).toMatch(/Lacked by one or another: `seed`, `stop`\.$/);
  });

  it('drops routes that do not name an effort off the common ladder, whose meaning only they know', () => {
    const own = [{ provider: 'own', capabilities: { reasoning: { efforts: ['deep'], canDisable: false } } }];
    expect(eligible([...both, ...own], merged(), { reasoningEffort: 'deep' })).toEqual(['own']);
    expect(refusal(both, merged(), { reasoningEffort: 'hihg' }).message).toContain('the reasoning effort `hihg`');
  });

  it('names a missing switch for reasoning', () => {
    const stuck = [{ provider: 'a', capabilities: { reasoning: { efforts: [], canDisable: false } } }];
    const strict = merged({ require_parameters: true });
    expect(refusal(stuck, strict, { reasoningDisabled: true }).message).toContain('`reasoning.enabled`');
  });
});

describe('price ceilings', () => {
  const priced: RouteSketch[] = [
    { provider: 'cheap', input: 1, output: 2 },
    { provider: 'input', input: 3, output: 1 },
    { provider: 'output', input: 1, output: 4 },
  ];

  it('skips routes above the ceiling, each side by itself; at the ceiling is within it', () => {
    expect(eligible(priced, merged({ max_price: { input: 1 } }))).toEqual(['cheap', 'output']);
    expect(eligible(priced, merged({ max_price: { output: 2 } }))).toEqual(['cheap', 'input']);
    expect(eligible(priced, merged({ max_price: { input: 1, output: 2 } }))).toEqual(['cheap']);
    expect(eligible(priced, merged({}, { max_price: { input: 2, output: 9 } }))).toEqual(['cheap', 'output']);
  });

  it('is `no_provider_route_meets_price` where that leaves none', () => {
    expect(refusal(priced, merged({ max_price: { input: 0.999999 } }))).toMatchObject({
      type: 'no_provider_route_meets_price',
      param: 'provider.max_price',
    });
  });

  it('a request cannot raise the workspace’s ceiling', () => {
    const dear = priced.slice(1, 2);
    expect(refusal(dear, merged({ max_price: { input: 9 } }, { max_price: { input: 2 } })).type).toBe(
      'no_provider_route_meets_price',
    );
  });

  it('judges the price that a prompt of this size meets', () => {
    const tiered: RouteSketch[] = [
      { provider: 'long', price: { tiers: [{ abovePromptTokens: 100, input: 5_000_000, output: 1_000_000 }] } },
      { provider: 'answer', price: { tiers: [{ abovePromptTokens: 100, output: 5_000_000 }] } },
      { provider: 'flat' },
    ];
    const ceiling = merged({ max_price: { input: 2, output: 2 } });
    expect(eligible(tiered, ceiling, { promptTokens: 100 })).toEqual(['long', 'answer', 'flat']);
    expect(eligible(tiered, ceiling, { promptTokens: 101 })).toEqual(['flat']);
    expect(eligible(tiered, merged({ max_price: { input: 2 } }), { promptTokens: 101 })).toEqual(['answer', 'flat']);
    expect(eligible(tiered, merged(), { promptTokens: 101 })).toHaveLength(3);
  });
});

describe('order of errors', () => {
  it('a model without routes is not enabled: 404 before everything else', () => {
    expect(refusal([], merged('acme', { privacy_boundary: 'Maximum' })).type).toBe('model_not_found');
  });

  it('boundary, floor, only, ignore, capabilities, price: each is told only once those before it are met', () => {
    const hopeless: RouteSketch = { provider: 'bad', privacy: 'anonymous', input: 9 };
    const needs = { tools: true };
    const policy = merged(
      { only: ['good'], minimum_privacy: 'tee', max_price: { input: 1 } },
      { privacy_boundary: 'Private', provider_ignore: ['good'] },
    );
    const cures: [RouteSketch, string, string][] = [
      [hopeless, 'privacy_boundary_not_met', 'boundary'],
      [{ ...hopeless, privacy: 'private' }, 'no_provider_route_meets_privacy', 'floor'],
      [{ ...hopeless, privacy: 'tee' }, 'no_provider_route', 'provider.only'],
      [{ ...hopeless, privacy: 'tee', provider: 'good' }, 'no_provider_route', 'ignored'],
    ];
    for (const [sketch, type, word] of cures) {
      expect(refusal([sketch], policy, needs)).toMatchObject({ type, message: expect.stringContaining(word) });
    }
    const enabled = { ...policy, ignore: [] };
    const good: RouteSketch = { ...hopeless, privacy: 'tee', provider: 'good' };
    expect(refusal([good], enabled, needs)).toMatchObject({
      type: 'no_provider_route',
      message: expect.stringContaining('tools'),
    });
    const able = { ...good, capabilities: { tools: true } };
    expect(refusal([able], enabled, needs).type).toBe('no_provider_route_meets_price');
    expect(eligible([{ ...able, input: 1 }], enabled, needs)).toEqual(['good']);
  });

  it('judges all routes by one rule before the next: the last rule to leave none is the error', () => {
    const routes: RouteSketch[] = [
      { provider: 'anon', privacy: 'anonymous' },
      { provider: 'dear', privacy: 'tee', input: 9 },
    ];
    const policy = merged({ minimum_privacy: 'tee', max_price: { input: 1 } });
    expect(refusal(routes, policy).type).toBe('no_provider_route_meets_price');
  });
});

describe('routesThatHold', () => {
  const windows: RouteSketch[] = [
    { provider: 'small', privacy: 'tee', contextLength: 100 },
    { provider: 'large', privacy: 'tee', contextLength: 1000 },
    { provider: 'huge', privacy: 'private', contextLength: 10_000 },
  ];
  const holding = (promptTokens: number, startsFrom?: 'tee') => {
    const model = aModel(theModel, windows);
    return routesThatHold(model, modelFacts(model), needing({ promptTokens }), startsFrom);
  };
  const names = (...question: Parameters<typeof holding>): string[] =>
    accepted(holding(...question)).map(({ route }) => route.providerId);

  it('skips routes whose window cannot hold the request', () => {
    expect(names(50, 'tee')).toEqual(['small', 'large', 'huge']);
    expect(names(500, 'tee')).toEqual(['large', 'huge']);
  });

  it('fails with `context_too_large` rather than move to a weaker tier', () => {
    expect(refusalOf(holding(5000, 'tee'))).toMatchObject({
      type: 'context_too_large',
      message: expect.stringMatching(
        /^This model's maximum context length is \d+ tokens at eligible .* tier `tee`\. .*about 5000 prompt tokens plus 1 of output/,
      ),
    });
  });

  it('states no window of a route that does not allow the requested output', () => {
    const model = aModel(theModel, [
      { provider: 'brief', contextLength: 100_000, maxOutputTokens: 100 },
      { provider: 'long', contextLength: 1000, maxOutputTokens: 5000 },
    ]);
    const asked = needing({ promptTokens: 2000, maxOutputTokens: 3000 });
    expect(refusalOf(routesThatHold(model, modelFacts(model), asked, undefined))).toMatchObject({
      type: 'context_too_large',
      message: expect.stringContaining("This model's maximum context length is 1000 tokens"),
    });
  });

  it('looks at every tier where the order is not by tier', () => {
    expect(names(5000)).toEqual(['huge']);
    const { type, message } = refusalOf(holding(50_000));
    expect(type).toBe('context_too_large');
    expect(message).not.toContain('tier');
  });
});

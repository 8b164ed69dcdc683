import { describe, expect, it } from 'vitest';
import { pinsOfRoute, readPins } from './client-pins.ts';

const zeros = '00'.repeat(48);
const machine = `mr_td=${zeros},rtmr0=${zeros},rtmr1=${zeros},rtmr2=${zeros},rtmr3=${zeros}`;
const chute = '6f1e5a52-0c0e-5c57-9a37-08e1c4f3a6b1';
const acme = { family: 'near' as const, models: { 'lab/wide': 'Lab/Wide' }, measurements: [machine] };
const read = (providers: object) => readPins(JSON.stringify({ gateway: {}, providers }));

describe('a file of pins', () => {
  it('names the family of each provider and its names for models', () => {
    const providers = { acme, 'other/eu': { family: 'chutes', models: { 'lab/wide': `Lab/Wide@${chute}` } } };
    expect(read(providers)).toEqual({ gateway: {}, providers });
  });

  it.each<[string, string, RegExp]>([
    ['no JSON', '{', /^it is not valid JSON$/],
    ['no object', '[]', /^it must be an object$/],
    ['no gateway', '{}', /^`gateway` must be an object$/],
    ['two lists of machines', '{"gateway":{"tdx":{}},"gateway":{}}', /^it has `gateway` twice, .*; remove one$/],
    [
      'a provider twice',
      '{"gateway":{},"providers":{"acme":{"family":"near"},"acme":{"family":"near"}}}',
      /^it has `providers\.acme` twice/,
    ],
    ['another word for it', '{"gateway":{},"provider":{}}', /^it has an unknown field: `provider`$/],
  ])('is refused with %s', (_, text, message) => {
    expect(readPins(text)).toMatch(message);
  });

  it.each<[string, object, RegExp]>([
    [
      'no family',
      { acme: { measurements: [machine] } },
      /^`providers\.acme\.family` must be one of near, phala, venice,/,
    ],
    ['a family that there is none of', { acme: { family: 'Near' } }, /^`providers\.acme\.family` must be one of near,/],
    [
      'no chute',
      { acme: { ...acme, family: 'chutes' } },
      /^`providers\.acme\.models\.lab\/wide` must name its chute: `<mo/,
    ],
    [
      'a model without a name',
      { acme: { family: 'near', models: { a: '' } } },
      /models\.a` must be at least 1 character long/,
    ],
    ['a malformed machine', { acme: { family: 'near', measurements: ['mr_td=00'] } }, /: `mr_td` must be 96/],
    ['a malformed provider', { 'ACME!': acme }, /^`providers\.ACME!` must be a provider id such as/],
    ['an unknown field', { acme: { ...acme, upstream: 'x' } }, /^`providers\.acme` has an unknown field: `upstream`$/],
  ])('is refused where a provider has %s', (_, providers, message) => {
    expect(read(providers)).toMatch(message);
  });
});

describe('the pins of a route', () => {
  const providers = { acme, 'acme/eu': { family: 'venice' as const } };
  const of = (provider: string, model = 'lab/wide') => pinsOfRoute(providers, { provider, model });

  it('are those of its provider, or of the provider that it is a variant of', () => {
    expect(of('acme')).toEqual({
      family: 'near',
      upstreamModel: 'Lab/Wide',
      machines: { measurements: [machine] },
      acceptsRelayAttacks: false,
    });
    expect(of('acme/us')).toEqual(of('acme'));
    expect(of('acme/eu')).toEqual({
      family: 'venice',
      upstreamModel: undefined,
      machines: {},
      acceptsRelayAttacks: false,
    });
  });

  it('are empty for names that were not pinned, even those that every object inherits', () => {
    const nothing = { family: undefined, upstreamModel: undefined, machines: undefined, acceptsRelayAttacks: false };
    for (const name of ['acm', 'toString', 'constructor', '__proto__', '']) {
      expect(of(name)).toEqual(nothing);
      expect(of('acme', name).upstreamModel).toBeUndefined();
    }
    expect(pinsOfRoute(undefined, { provider: 'acme', model: 'lab/wide' })).toEqual(nothing);
  });
});

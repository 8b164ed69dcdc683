import { type ModelAnswer, modelListAnswerSchema } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { aCatalog, aModel, contextOf, oneModel, penalizing, type Surroundings } from '../testing/fixtures.ts';
import type { Catalog } from './catalog.ts';
import { modelList } from './model-list.ts';

const listed = (catalog: Catalog, around: Surroundings = {}): ModelAnswer[] => {
  const list = modelList(contextOf(catalog, around), 1_700_000_000);
  expect(modelListAnswerSchema.parse(list)).toEqual(list);
  return list.data;
};
const entryOf = (catalog: Catalog, around: Surroundings = {}): ModelAnswer => {
  const [, entry] = listed(catalog, around);
  if (entry === undefined) throw new Error('not listed');
  return entry;
};

describe('modelList', () => {
  it('lists `/auto` first, as a text model without routes', () => {
    expect(listed(aCatalog())).toMatchObject([
      { id: '/auto', model_type: 'text', provider_routes: [], auto_provider: null, privacy_class: null },
    ]);
  });

  it('lists every model that has a route, in the order of the catalog', () => {
    const catalog = aCatalog(
      aModel('lab/z', [{ provider: 'acme' }]),
      aModel('lab/gone', []),
      aModel('lab/a', [{ provider: 'acme' }], 'embedding'),
    );
    expect(listed(catalog).map(({ id, model_type }) => [id, model_type])).toEqual([
      ['/auto', 'text'],
      ['lab/z', 'text'],
      ['lab/a', 'embedding'],
    ]);
  });

  it('shows the parameters of a route where the catalog knows them', () => {
    const catalog = oneModel({ provider: 'acme', supportedParameters: ['seed', 'stop'] }, { provider: 'bolt' });
    const [known, unknown] = entryOf(catalog).provider_routes;
    expect(known?.supported_parameters).toEqual(['seed', 'stop']);
    expect(unknown).not.toHaveProperty('supported_parameters');
  });

  it('shows which routes have no TLS', () => {
    const [plain, other] = entryOf(
      oneModel({ provider: 'acme', insecureHttp: true }, { provider: 'bolt' }),
    ).provider_routes;
    expect(plain?.insecure_http).toBe(true);
    expect(other).not.toHaveProperty('insecure_http');
  });

  it('shows what a malicious broker can do on routes that are encrypted end to end', () => {
    const [near, tinfoil, tee] = entryOf(
      oneModel(
        { provider: 'acme', privacy: 'e2ee', enclaveFamily: 'near' },
        { provider: 'bolt', privacy: 'e2ee', enclaveFamily: 'tinfoil' },
        { provider: 'core', privacy: 'tee', enclaveFamily: 'near' },
      ),
    ).provider_routes;
    expect(near?.relay_attacks?.[0]).toBe('read_content');
    expect(tinfoil?.relay_attacks).toEqual(['repeat_request']);
    expect(tee).not.toHaveProperty('relay_attacks');
  });

  it('shows every route with its class, price, capabilities and limits', () => {
    const reasoning = { efforts: ['low'], canDisable: true };
    const catalog = oneModel({
      ...{ provider: 'acme/eu', privacy: 'tee', input: 2, output: 3, contextLength: 100, maxOutputTokens: 50 },
      capabilities: { tools: true, reasoning },
    });
    expect(entryOf(catalog)).toMatchObject({ object: 'model', owned_by: 'lab', created: 1_700_000_000 });
    expect(entryOf(catalog).provider_routes).toEqual([
      {
        provider: 'acme/eu',
        privacy_class: 'tee',
        pricing: { input: 2, output: 3 },
        capabilities: {
          tools: true,
          vision: false,
          structured_output: false,
          reasoning: { efforts: ['low'], can_disable: true },
        },
        context_length: 100,
        max_output_tokens: 50,
      },
    ]);
  });

  it('shows what is not offered as null, and an unlisted provider as `other`', () => {
    expect(entryOf(oneModel({ provider: 'hidden', unlisted: true }))).toMatchObject({
      auto_provider: 'other',
      context_length: null,
      provider_routes: [{ provider: 'other', capabilities: { reasoning: null }, context_length: null }],
    });
  });

  it('mirrors the route that Auto would pick now', () => {
    const catalog = oneModel(
      { provider: 'priv', privacy: 'private', input: 1 },
      { provider: 'encl', privacy: 'tee', input: 1.2, capabilities: { vision: true } },
      { provider: 'more', privacy: 'tee', input: 1.4 },
    );
    expect(entryOf(catalog)).toMatchObject({
      auto_provider: 'encl',
      privacy_class: 'tee',
      pricing: { input: 1.2, output: 1 },
      capabilities: { vision: true },
    });
    expect(entryOf(catalog, { status: penalizing('encl') }).auto_provider).toBe('more');
    expect(entryOf(catalog, { preferences: { provider_sort: 'price' } }).auto_provider).toBe('priv');
  });

  it('lists a model that no request of this workspace may use, with nothing that Auto would pick', () => {
    const catalog = oneModel({ provider: 'anon', privacy: 'anonymous' });
    expect(entryOf(catalog, { preferences: { privacy_boundary: 'Maximum' } })).toMatchObject({
      auto_provider: null,
      privacy_class: null,
      capabilities: null,
      pricing: null,
      provider_routes: [{ provider: 'anon' }],
    });
  });
});

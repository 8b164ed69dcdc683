import { describe, expect, it } from 'vitest';
import { bindCatalog } from './bind-catalog.ts';
import { type CatalogFile, catalogFileSchema } from './catalog-file.ts';
import type { RegistryPublic } from './registry.ts';

type PublicProvider = RegistryPublic['providers'][number];
const provider = (id: string, changes: Partial<PublicProvider> = {}): PublicProvider => ({
  id,
  name: id,
  listed: true,
  privacy_class: 'private',
  available: true,
  ...changes,
});
const fileOf = (routes: object[], model: object = {}): CatalogFile =>
  catalogFileSchema.parse({
    models: [
      {
        id: 'acme/small',
        model_type: 'text',
        context_length: 1000,
        ...model,
        routes: routes.map((route) => ({
          upstream_model: 'up-1',
          privacy_class: 'private',
          pricing: { input: 1, output: 2 },
          ...route,
        })),
      },
    ],
  });
const bind = (file: CatalogFile, ...providers: PublicProvider[]) => {
  const { catalog, dropped } = bindCatalog(file, { digest: 'r', providers }, { version: 7, digest: 'c' });
  const model = catalog.models.get('acme/small');
  if (model === undefined) throw new Error('the model is gone');
  return { catalog, dropped, model, providers: model.routes.map(({ providerId }) => providerId) };
};

describe('bindCatalog', () => {
  it('marks the routes of a provider that is reached without TLS', () => {
    const file = fileOf([{ provider: 'acme' }, { provider: 'bolt' }]);
    const { model } = bind(file, provider('acme', { insecure_http: true }), provider('bolt'));
    expect(model.routes.map(({ insecureHttp }) => insecureHttp)).toEqual([true, false]);
  });

  it('knows what the API of a provider does not have', () => {
    const { model } = bind(fileOf([{ provider: 'acme' }]), provider('acme', { missing_parameters: ['seed'] }));
    expect(model.routes.map(({ missingParameters }) => [...missingParameters])).toEqual([['seed']]);
  });

  it('drops and reports a route whose provider the registry does not know', () => {
    const bound = bind(fileOf([{ provider: 'evil' }, { provider: 'acme' }]), provider('acme'));
    expect(bound.providers).toEqual(['acme']);
    expect(bound.dropped).toEqual([{ modelId: 'acme/small', providerId: 'evil', reason: 'unknown_provider' }]);
  });

  it('drops and reports a route that claims a stronger class than the registry allows', () => {
    const file = fileOf([
      { provider: 'acme', privacy_class: 'tee' },
      { provider: 'bolt', privacy_class: 'tee' },
    ]);
    const bound = bind(file, provider('acme'), provider('bolt', { privacy_class: 'tee' }));
    expect(bound.providers).toEqual(['bolt']);
    expect(bound.dropped).toEqual([{ modelId: 'acme/small', providerId: 'acme', reason: 'class_too_strong' }]);
  });

  it('drops and reports a route of a model that the API of its provider does not serve', () => {
    const file = fileOf([{ provider: 'acme' }, { provider: 'bolt' }]);
    const bound = bind(
      file,
      provider('acme', { model_types: ['embedding'] }),
      provider('bolt', { model_types: ['text'] }),
    );
    expect(bound.providers).toEqual(['bolt']);
    expect(bound.dropped).toEqual([{ modelId: 'acme/small', providerId: 'acme', reason: 'model_type_not_served' }]);
  });

  it('drops and reports a route without a required price, so that it is not served for free', () => {
    const file = fileOf([{ provider: 'acme', pricing: { input: 1 } }, { provider: 'bolt' }]);
    const bound = bind(file, provider('acme'), provider('bolt'));
    expect(bound.providers).toEqual(['bolt']);
    expect(bound.dropped).toEqual([{ modelId: 'acme/small', providerId: 'acme', reason: 'price_missing' }]);
  });

  it('judges the class by the upstream model, where the registry narrows it', () => {
    const narrowed = provider('acme', { models: [{ match: 'llama-*', privacy_class: 'private' }] });
    expect(bind(fileOf([{ provider: 'acme' }]), narrowed).dropped).toHaveLength(1);
    expect(bind(fileOf([{ provider: 'acme', upstream_model: 'llama-3' }]), narrowed).providers).toEqual(['acme']);
  });

  it('leaves out, without a report, a route whose provider cannot be called', () => {
    const bound = bind(fileOf([{ provider: 'acme' }]), provider('acme', { available: false }));
    expect(bound.providers).toEqual([]);
    expect(bound.dropped).toEqual([]);
  });

  it('keeps a model that lost its routes, so that it is known as not enabled', () => {
    expect(bind(fileOf([{ provider: 'evil' }])).model.routes).toEqual([]);
  });

  it('shows an unlisted provider as `other`, and keeps its own id for itself', () => {
    const { model } = bind(fileOf([{ provider: 'acme' }]), provider('acme', { listed: false }));
    expect(model.routes).toMatchObject([{ publicProviderId: 'other', providerId: 'acme', id: 'acme/small@acme' }]);
    const listed = bind(fileOf([{ provider: 'acme' }]), provider('acme'));
    expect(listed.model.routes).toMatchObject([{ publicProviderId: 'acme' }]);
  });

  it('ranks routes by the registry, not by the catalog', () => {
    const { model } = bind(fileOf([{ provider: 'acme' }, { provider: 'bolt' }]), provider('bolt'), provider('acme'));
    expect(model.routes.map(({ providerId, rank }) => [providerId, rank])).toEqual([
      ['acme', 1],
      ['bolt', 0],
    ]);
  });

  it('a route’s own context and output limits hold where they are smaller', () => {
    const limits = (route: object, model: object) => {
      const [bound] = bind(fileOf([{ provider: 'acme', ...route }], model), provider('acme')).model.routes;
      return [bound?.contextLength, bound?.maxOutputTokens];
    };
    expect(limits({}, { max_output_tokens: 50 })).toEqual([1000, 50]);
    expect(limits({ context_length: 10, max_output_tokens: 5 }, { max_output_tokens: 50 })).toEqual([10, 5]);
    expect(limits({ context_length: 9999, max_output_tokens: 99 }, { max_output_tokens: 50 })).toEqual([1000, 50]);
    expect(limits({ context_length: 10, max_output_tokens: 5 }, { context_length: undefined })).toEqual([10, 5]);
    expect(limits({}, { context_length: undefined })).toEqual([undefined, undefined]);
  });

  it('copies prices and capabilities', () => {
    const capabilities = { tools: true, structured_output: true, reasoning: { efforts: ['low'], can_disable: true } };
    const { model } = bind(fileOf([{ provider: 'acme', capabilities }]), provider('acme'));
    expect(model.routes).toMatchObject([
      {
        upstreamModel: 'up-1',
        privacyClass: 'private',
        price: { input: 1_000_000, output: 2_000_000 },
        pricing: { input: 1, output: 2 },
        capabilities: {
          tools: true,
          vision: false,
          structuredOutput: true,
          reasoning: { efforts: ['low'], canDisable: true },
        },
      },
    ]);
    expect(bind(fileOf([{ provider: 'acme' }]), provider('acme')).model.routes[0]?.capabilities).not.toHaveProperty(
      'reasoning',
    );
  });

  it('takes parameters, their ranges and what excludes what from the route, else from the model', () => {
    const own = {
      supported_parameters: ['seed'],
      parameter_ranges: { temperature: { max: 1 } },
      exclusive_parameters: [['temperature', 'top_p']],
    };
    const expected = {
      supportedParameters: new Set(['seed']),
      parameterRanges: { temperature: { max: 1 } },
      exclusiveParameters: [['temperature', 'top_p']],
    };
    expect(bind(fileOf([{ provider: 'acme', ...own }]), provider('acme')).model.routes).toMatchObject([expected]);
    expect(bind(fileOf([{ provider: 'acme' }], own), provider('acme')).model.routes).toMatchObject([expected]);
    const both = bind(fileOf([{ provider: 'acme', supported_parameters: [] }], own), provider('acme'));
    expect(both.model.routes).toMatchObject([{ ...expected, supportedParameters: new Set() }]);
    const neither = bind(fileOf([{ provider: 'acme' }]), provider('acme'));
    expect(neither.model.routes).toMatchObject([
      { supportedParameters: undefined, parameterRanges: {}, exclusiveParameters: [] },
    ]);
  });

  it('a model with the effort `none` can turn reasoning off', () => {
    const capabilities = { reasoning: { efforts: ['none', 'high'] } };
    expect(bind(fileOf([{ provider: 'acme', capabilities }]), provider('acme')).model.routes).toMatchObject([
      { capabilities: { reasoning: { efforts: ['none', 'high'], canDisable: true } } },
    ]);
  });

  it('uses the id of a model without a name', () => {
    expect(bind(fileOf([{ provider: 'acme' }]), provider('acme')).model.name).toBe('acme/small');
    expect(bind(fileOf([{ provider: 'acme' }], { name: 'Small' }), provider('acme')).model.name).toBe('Small');
  });

  it('carries version and digest of the catalog', () => {
    expect(bind(fileOf([{ provider: 'acme' }]), provider('acme')).catalog).toMatchObject({ version: 7, digest: 'c' });
  });
});

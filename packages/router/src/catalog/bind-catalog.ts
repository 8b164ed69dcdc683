import { comparePrivacy } from '@sotto/wire';
import type { Catalog, Model, Route } from './catalog.ts';
import {
  type CatalogFile,
  type CatalogFileModel,
  type CatalogFileRoute,
  missingPrices,
  toPrice,
} from './catalog-file.ts';
import { otherProviderId } from './provider-id.ts';
import { type RegistryPublic, servesType, strongestAllowedClass } from './registry.ts';

/** A catalog route that the registry does not permit, and why it was dropped. */
export interface DroppedRoute {
  readonly modelId: string;
  readonly providerId: string;
  readonly reason: 'unknown_provider' | 'class_too_strong' | 'model_type_not_served' | 'price_missing';
}

/**
 * Binds a catalog file to a registry. Keeps only the routes that the registry permits and whose provider can be called.
 * The broker runs this on every catalog that control publishes. So an operator cannot direct prompts to another
 * recipient through the catalog.
 */
export function bindCatalog(
  file: CatalogFile,
  registry: RegistryPublic,
  identity: { readonly version: number; readonly digest: string },
): { readonly catalog: Catalog; readonly dropped: DroppedRoute[] } {
  const providers = new Map(registry.providers.map((provider, rank) => [provider.id, { provider, rank }]));
  const dropped: DroppedRoute[] = [];
  const models = new Map<string, Model>();
  for (const model of file.models) {
    const routes: Route[] = [];
    for (const route of model.routes) {
      const known = providers.get(route.provider);
      const drop = (reason: DroppedRoute['reason']): void => {
        dropped.push({ modelId: model.id, providerId: route.provider, reason });
      };
      if (known === undefined) drop('unknown_provider');
      else if (comparePrivacy(route.privacy_class, strongestAllowedClass(known.provider, route.upstream_model)) > 0) {
        drop('class_too_strong');
      } else if (!servesType(known.provider, model.model_type)) drop('model_type_not_served');
      else if (missingPrices(model, route).length > 0) drop('price_missing');
      else if (known.provider.available) routes.push(toRoute(model, route, known));
    }
    models.set(model.id, {
      id: model.id,
      name: model.name ?? model.id,
      type: model.model_type,
      contextLength: model.context_length,
      maxOutputTokens: model.max_output_tokens,
      auto: model.auto ?? true,
      routes,
    });
  }
  return { catalog: { ...identity, models }, dropped };
}

function toRoute(
  model: CatalogFileModel,
  route: CatalogFileRoute,
  { provider, rank }: { readonly provider: RegistryPublic['providers'][number]; readonly rank: number },
): Route {
  const { tools, vision, structured_output: structuredOutput, reasoning } = route.capabilities;
  const supported = route.supported_parameters ?? model.supported_parameters;
  return {
    id: `${model.id}@${route.provider}`,
    modelId: model.id,
    providerId: route.provider,
    publicProviderId: provider.listed ? route.provider : otherProviderId,
    upstreamModel: route.upstream_model,
    privacyClass: route.privacy_class,
    price: toPrice(route.pricing),
    pricing: route.pricing,
    capabilities: { tools, vision, structuredOutput, ...(reasoning ? { reasoning: toReasoning(reasoning) } : {}) },
    contextLength: smaller(route.context_length, model.context_length),
    maxOutputTokens: smaller(route.max_output_tokens, model.max_output_tokens),
    supportedParameters: supported === undefined ? undefined : new Set(supported),
    missingParameters: new Set(provider.missing_parameters),
    parameterRanges: route.parameter_ranges ?? model.parameter_ranges ?? {},
    exclusiveParameters: route.exclusive_parameters ?? model.exclusive_parameters ?? [],
    rank,
    insecureHttp: provider.insecure_http === true,
    enclaveFamily: provider.enclave_family,
  };
}

/** A model that lists the effort `none` can answer without reasoning. */
const toReasoning = ({ efforts, can_disable }: NonNullable<CatalogFileRoute['capabilities']['reasoning']>) => ({
  efforts,
  canDisable: can_disable || efforts.includes('none'),
});

const smaller = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined ? b : b === undefined ? a : Math.min(a, b);

import { filesOf, routeEntry, textModel } from '../catalog.ts';
import type { DetailedRoute, GivenServer, ModelSpec, RouteSpec, StageSpec } from './spec.ts';

/** One model of the catalog: a copy of a shape. */
interface Copy {
  readonly id: string;
  readonly entry: object;
  readonly routes: readonly { readonly provider: string; readonly upstream: string }[];
}

/** Returns the provider's name of a model, unless its route says otherwise. */
export const upstreamModel = (provider: string, model: string): string => `${provider}-calls-it-${model}`;

/** Returns the models of a spec by shape, each with as many copies as it needs. */
export function modelsOf(
  spec: Pick<StageSpec, 'providers' | 'models' | 'copies' | 'limits'>,
  given: (provider: string) => GivenServer | undefined = () => undefined,
): ReadonlyMap<string, readonly Copy[]> {
  const copyOf = (id: string, { routes: specs, type = 'text', copies: _, ...fields }: ModelSpec): Copy => {
    const routes = Object.entries(specs).map(([provider, route]) => {
      const {
        pricing,
        upstream,
        privacy = spec.providers?.[provider]?.privacy ?? 'private',
        ...more
      } = detailed(route);
      const name = typeof upstream === 'function' ? upstream(id) : upstream;
      return {
        provider,
        upstream: name ?? given(provider)?.upstreamModel ?? upstreamModel(provider, id),
        prices: 'length' in pricing ? { input: pricing[0], output: pricing[1] } : pricing,
        more: { privacy_class: privacy, ...more },
      };
    });
    const entries = routes.map(({ provider, upstream, prices, more }) =>
      routeEntry(provider, prices, { upstream_model: upstream, ...more }),
    );
    const entry =
      type === 'text'
        ? textModel(id, entries, { ...spec.limits, ...fields })
        : { id, model_type: type, routes: entries, ...fields };
    return { id, entry, routes };
  };
  return new Map(
    Object.entries(spec.models ?? {}).map(([shape, model]) => {
      const copies = model.copies ?? spec.copies;
      const ids = copies === undefined ? [shape] : Array.from({ length: copies }, (_, copy) => `${shape}/m${copy}`);
      return [shape, ids.map((id) => copyOf(id, model))];
    }),
  );
}

/** Returns the text of CATALOG_FILE for a spec. */
export const catalogOf = (spec: StageSpec): string =>
  filesOf(
    [],
    [...modelsOf(spec).values()].flat().map(({ entry }) => entry),
  ).catalog;

const detailed = (route: RouteSpec): DetailedRoute => ('pricing' in route ? route : { pricing: route });

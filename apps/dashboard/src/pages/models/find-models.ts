import { comparePrivacy, type ModelAnswer, type RouteAnswer } from '@sotto/wire';
import { contextIn, contextOf, lowest } from './figures.ts';
import { type Measured, type MeasuredRoutes, measuredOf } from './measured.ts';
import { abilitiesOf, type ModelSearch, type ModelSort } from './model-search.ts';

/** A model, and those of its routes that do all that was asked for. */
export interface FoundModel {
  readonly model: ModelAnswer;
  readonly routes: readonly RouteAnswer[];
  /** The best figures of these routes; undefined until they are loaded, or if they were not asked for. */
  readonly measured: Measured | undefined;
}

/**
 * The models with a single route that matches the whole search: the tier of one route and the price of another would not
 * help. `/auto`, which has no routes, is never among them.
 */
export function findModels(
  models: readonly ModelAnswer[],
  search: ModelSearch,
  known?: MeasuredRoutes,
): readonly FoundModel[] {
  const words = (search.q ?? '').toLowerCase().split(/\s+/).filter(Boolean);
  const found = models
    .filter((model) => search.type === undefined || model.model_type === search.type)
    .filter((model) => {
      const text = `${model.id} ${model.name}`.toLowerCase();
      return words.every((word) => text.includes(word));
    })
    .map((model) => ({ model, routes: model.provider_routes.filter((route) => fits(model, route, search)) }))
    .filter(({ routes }) => routes.length > 0)
    .map(({ model, routes }) => ({
      model,
      routes,
      measured: known && measuredOf(known.get(model.id) ?? [], routes),
    }));
  return found.sort(orders[search.sort ?? 'name']);
}

function fits(model: ModelAnswer, route: RouteAnswer, { tier, provider, price, context, can }: ModelSearch): boolean {
  const { pricing, capabilities } = route;
  return (
    (tier === undefined || comparePrivacy(route.privacy_class, tier) >= 0) &&
    (provider === undefined || route.provider === provider) &&
    (price === undefined || (pricing.input !== undefined && pricing.input <= price)) &&
    (context === undefined || (contextOf(model, route) ?? 0) >= context) &&
    abilitiesOf(can).every((ability) => Boolean(capabilities[ability]))
  );
}

type Order = (left: FoundModel, right: FoundModel) => number;

const byName: Order = (left, right) =>
  left.model.name.localeCompare(right.model.name) || (left.model.id < right.model.id ? -1 : 1);

/** Lowest first; models without such a price come last. */
const byPrice =
  (price: 'input' | 'output'): Order =>
  (left, right) => {
    const [first, second] = [left, right].map(({ routes }) => lowest(routes, price) ?? Number.POSITIVE_INFINITY);
    return first === second ? byName(left, right) : (first ?? 0) - (second ?? 0);
  };

const byContext: Order = (left, right) => {
  const [first = 0, second = 0] = [left, right].map(({ model, routes }) => contextIn(model, routes));
  return second - first || byName(left, right);
};

/** Highest first; models with too few requests come last. */
function byMeasured(figure: 'tokensPerSecond' | 'successRate'): Order {
  return (left, right) => {
    const [first, second] = [left, right].map(({ measured }) => measured?.[figure] ?? -1);
    return (second ?? 0) - (first ?? 0) || byName(left, right);
  };
}

const orders: Readonly<Record<ModelSort, Order>> = {
  name: byName,
  input: byPrice('input'),
  output: byPrice('output'),
  context: byContext,
  speed: byMeasured('tokensPerSecond'),
  uptime: byMeasured('successRate'),
};

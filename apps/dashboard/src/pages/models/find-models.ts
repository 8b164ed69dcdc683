import { comparePrivacy, type ModelAnswer, type RouteAnswer } from '@sotto/wire';
import { contextOf, lowest } from './figures.ts';
import { abilitiesOf, type ModelSearch, type ModelSort } from './model-search.ts';

/** A model, and those of its routes that do all that was asked for. */
export interface FoundModel {
  readonly model: ModelAnswer;
  readonly routes: readonly RouteAnswer[];
}

/**
 * The models with a route that does all of what is asked for by itself: a tier of one route and the price of another are
 * no use to anybody. `/auto`, which has no routes, is never among them.
 */
export function findModels(models: readonly ModelAnswer[], search: ModelSearch): readonly FoundModel[] {
  const words = (search.q ?? '').toLowerCase().split(/\s+/).filter(Boolean);
  const found = models
    .filter((model) => search.type === undefined || model.model_type === search.type)
    .filter((model) => {
      const text = `${model.id} ${model.name}`.toLowerCase();
      return words.every((word) => text.includes(word));
    })
    .map((model) => ({ model, routes: model.provider_routes.filter((route) => fits(model, route, search)) }))
    .filter(({ routes }) => routes.length > 0);
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

/** Lowest first; what has no such price comes last. */
const byPrice =
  (price: 'input' | 'output'): Order =>
  (left, right) => {
    const [first, second] = [left, right].map(({ routes }) => lowest(routes, price) ?? Number.POSITIVE_INFINITY);
    return first === second ? byName(left, right) : (first ?? 0) - (second ?? 0);
  };

const byContext: Order = (left, right) => {
  const [first = 0, second = 0] = [left, right].map(longestContext);
  return second - first || byName(left, right);
};

const longestContext = ({ model, routes }: FoundModel): number =>
  Math.max(0, ...routes.map((route) => contextOf(model, route) ?? 0));

const orders: Readonly<Record<ModelSort, Order>> = {
  name: byName,
  input: byPrice('input'),
  output: byPrice('output'),
  context: byContext,
};

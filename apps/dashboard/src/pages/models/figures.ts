import { comparePrivacy, type ModelAnswer, type PricingAnswer, type PrivacyClass, type RouteAnswer } from '@sotto/wire';
import { type Ability, abilities, type ModelType } from './model-search.ts';

type FlatPrice = Exclude<keyof PricingAnswer, 'tiers'>;

/** The context length of a route: its own if it states one, else the model's; undefined if neither is known. */
export const contextOf = (model: ModelAnswer, route: RouteAnswer): number | undefined =>
  route.context_length ?? model.context_length ?? undefined;

/** The longest context of some routes of a model; 0 where none is known. */
export const contextIn = (model: ModelAnswer, routes: readonly RouteAnswer[]): number =>
  Math.max(0, ...routes.map((route) => contextOf(model, route) ?? 0));

export const outputLimitOf = (model: ModelAnswer, route: RouteAnswer): number | undefined =>
  route.max_output_tokens ?? model.max_output_tokens ?? undefined;

/** The lowest of a price over routes; undefined where none has it. */
export function lowest(routes: readonly RouteAnswer[], price: FlatPrice): number | undefined {
  const prices = pricesOf(routes, price);
  return prices.length === 0 ? undefined : Math.min(...prices);
}

/** Whether routes ask different prices. */
export const differs = (routes: readonly RouteAnswer[], price: FlatPrice): boolean =>
  new Set(pricesOf(routes, price)).size > 1;

const pricesOf = (routes: readonly RouteAnswer[], price: FlatPrice): number[] =>
  routes.flatMap(({ pricing }) => pricing[price] ?? []);

/** The tiers of routes, strongest first, each once. */
export const tiersOf = (routes: readonly RouteAnswer[]): readonly PrivacyClass[] =>
  [...new Set(routes.map((route) => route.privacy_class))].sort((left, right) => comparePrivacy(right, left));

/** The providers of routes, in their order, each once. */
export const providersOf = (routes: readonly RouteAnswer[]): readonly string[] => [
  ...new Set(routes.map(({ provider }) => provider)),
];

/** The abilities that at least one route has. */
export const abilitiesIn = (routes: readonly RouteAnswer[]): readonly Ability[] =>
  abilities.filter((ability) => routes.some(({ capabilities }) => Boolean(capabilities[ability])));

/** Names and units of the prices, in the order of the columns. */
const priceNames: readonly { readonly price: FlatPrice; readonly name: string; readonly unit: string }[] = [
  { price: 'input', name: 'Input', unit: 'per M tokens' },
  { price: 'cached_input', name: 'Cached input', unit: 'per M tokens' },
  { price: 'cache_write', name: 'Cache write', unit: 'per M tokens' },
  { price: 'output', name: 'Output', unit: 'per M tokens' },
  { price: 'reasoning', name: 'Reasoning', unit: 'per M tokens' },
  { price: 'image', name: 'Image', unit: 'each' },
  { price: 'input_characters', name: 'Speech', unit: 'per M characters' },
];

/** The prices that any of the routes has. */
export const pricesIn = (routes: readonly RouteAnswer[]): typeof priceNames =>
  priceNames.filter(({ price }) => routes.some(({ pricing }) => pricing[price] !== undefined));

export const typeNames: Readonly<Record<ModelType, string>> = {
  text: 'Text',
  embedding: 'Embeddings',
  image: 'Images',
  tts: 'Speech',
};

export const abilityNames: Readonly<Record<Ability, string>> = {
  tools: 'Tools',
  vision: 'Vision',
  structured_output: 'Structured output',
  reasoning: 'Reasoning',
};

import type { ContenderKind } from './contenders/contender.ts';
import { openRouter } from './contenders/open-router.ts';
import { sotto } from './contenders/sotto.ts';
import { runDay } from './run-day.ts';
import { type Result, Tally } from './tally.ts';
import { type Climate, drawWorld } from './world/world.ts';

/** The router's limit (interface 3.3), which all contenders keep to but one. */
const maxAttempts = 3;

export const contenders = {
  default: sotto('Default', { preferences: { provider_sort: 'default' } }),
  stepsDown: sotto('Default, may fall back to `private`', {
    preferences: { provider_sort: 'default', fallback_floor: 'private' },
  }),
  privacy: sotto('privacy', { preferences: { provider_sort: 'privacy' } }),
  price: sotto('price', { preferences: { provider_sort: 'price' } }),
  priceAnonymous: sotto('price, `anonymous` allowed', { provider: { sort: 'price', minimum_privacy: 'anonymous' } }),
  latency: sotto('latency', { preferences: { provider_sort: 'latency' } }),
  openRouter: openRouter("OpenRouter's rule", maxAttempts),
  openRouterUnlimited: openRouter("OpenRouter's rule, no limit of attempts", Number.POSITIVE_INFINITY),
} satisfies Record<string, ContenderKind>;
export type ContenderName = keyof typeof contenders;

/** Some days of one climate, and who is compared on them. */
export interface Comparison<Name extends ContenderName = ContenderName> {
  readonly climate: Climate;
  readonly seeds: readonly number[];
  readonly names: readonly Name[];
}

export type Results<Name extends ContenderName = ContenderName> = ReadonlyMap<Name, Result>;

/** Lets each contender serve the same days. `onDay` is told of each seed that is done with. */
export function compare<Name extends ContenderName>(
  { climate, seeds, names }: Comparison<Name>,
  onDay: (seed: number) => void = () => {},
): Results<Name> {
  const tallies = new Map(names.map((name) => [name, new Tally()]));
  for (const seed of seeds) {
    const world = drawWorld(seed, climate);
    for (const [name, tally] of tallies) runDay(world, contenders[name], (ending) => tally.add(world, ending));
    onDay(seed);
  }
  return new Map([...tallies].map(([name, tally]) => [name, tally.result()]));
}

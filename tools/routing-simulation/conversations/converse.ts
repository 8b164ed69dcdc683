import type { Route, RoutingRequest } from '@sotto/router';
import { around, between, randomOf } from '../../../test/kit/random.ts';
import { sotto } from '../contenders/sotto.ts';
import { type Ending, enterDay } from '../run-day.ts';
import { brokers, hours } from '../world/traffic.ts';
import { costOn, type World } from '../world/world.ts';

/** The conversations of a coding agent. Every turn sends the whole conversation again. */
export const turns = 60;
const systemTokens = 15_000;
const completionTokens = [300, 800] as const;
const toolTokens = [2000, 3000] as const;
/** Median times between an answer and the next turn, in ms, and the share of turns that wait for the user. */
const waits = { tool: 8000, user: 90_000, share: 0.08 } as const;

/** What the conversations of a day came to. */
export interface Spending {
  readonly requests: number;
  readonly successes: number;
  /** USD. */
  readonly cost: number;
}

export interface Conversations {
  readonly world: World;
  readonly modelId: string;
  readonly count: number;
}

const dayMs = (hours - 1) * 3_600_000;

/** Lets a day's conversations run under the sort Default. Each has a client of this kind. */
export function converse({ world, modelId, count }: Conversations, client: Client): Spending {
  const { timeline, serve } = enterDay(world, sotto('Default', { preferences: { provider_sort: 'default' } }));
  const spent = { requests: 0, successes: 0, cost: 0 };
  for (let conversation = 0; conversation < count; conversation += 1) {
    const random = randomOf(world.seed, 8, conversation);
    const preference = new Preference(client);
    const caches = new PrefixCaches();
    let promptTokens = systemTokens;
    const take = (turn: number): void => {
      const request = {
        index: conversation * turns + turn,
        arrivesAt: timeline.now,
        modelId,
        promptTokens,
        cachedTokens: 0,
        completionTokens: Math.round(between(random, ...completionTokens)),
        broker: random.below(brokers),
        provider: preference.policy,
      };
      const waitMs = around(random, random.chance(waits.share) ? waits.user : waits.tool, 1);
      promptTokens += request.completionTokens + Math.round(between(random, ...toolTokens));
      serve(request, (ending) => {
        const { route, success } = ending;
        preference.learn(ending);
        spent.requests += 1;
        if (success) spent.successes += 1;
        if (route !== undefined) {
          const cachedTokens = caches.use(route, request.promptTokens, timeline.now);
          spent.cost += costOn(route, { ...request, cachedTokens });
        }
        if (turn + 1 < turns) timeline.at(timeline.now + waitMs, () => take(turn + 1));
      });
    };
    timeline.at(between(random, 0, dayMs), () => take(0));
  }
  timeline.run();
  return spent;
}

/** How long a provider remembers a prefix that is not used. */
const lifetimeMs = 300_000;

/** The prefixes of one conversation that its providers remember. */
export class PrefixCaches {
  readonly #prefixes = new Map<string, { readonly tokens: number; readonly usedAt: number }>();

  /** Returns how many tokens of a longer prompt the route has cached. From now on it has cached the whole prompt. */
  use({ id }: Pick<Route, 'id'>, promptTokens: number, now: number): number {
    const known = this.#prefixes.get(id);
    this.#prefixes.set(id, { tokens: promptTokens, usedAt: now });
    return known === undefined || now - known.usedAt > lifetimeMs ? 0 : known.tokens;
  }
}

/** Which provider a client prefers during one conversation. */
export const clients = ['none', 'first', 'last'] as const;
/** `first`: the first that served, until a failure. `last`: after a failure, the provider that served instead. */
export type Client = (typeof clients)[number];

/** The provider that a client prefers in one conversation. It learns from the answers to its own requests only. */
export class Preference {
  readonly #client: Client;
  #provider: string | undefined;
  #takesAnother: boolean;

  constructor(client: Client) {
    this.#client = client;
    this.#takesAnother = client !== 'none';
  }

  /** No request can state the sort Default. `privacy` orders the fallbacks of one tier by health and price. */
  get policy(): RoutingRequest['provider'] {
    return this.#provider === undefined ? undefined : { order: [this.#provider], sort: 'privacy' };
  }

  learn({ route, success, attempts }: Pick<Ending, 'route' | 'success' | 'attempts'>): void {
    if (this.#provider !== undefined && (!success || attempts > 1)) {
      this.#provider = undefined;
      this.#takesAnother = this.#client === 'last';
    }
    if (!success || !this.#takesAnother) return;
    this.#provider = route?.publicProviderId;
    this.#takesAnother = false;
  }
}

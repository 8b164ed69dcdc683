import type { Route } from '@sotto/router';
import { percent, row, table } from '../report/table.ts';
import { drawWorld, type World } from '../world/world.ts';
import { type Client, clients, converse } from './converse.ts';

/** Days of conversations with providers of one model and one tier. */
export interface Scenario {
  readonly title: string;
  /** Each provider's price, relative to the model's. */
  readonly prices: readonly number[];
  /** How much more often something fails than on an ordinary day. */
  readonly trouble: number;
  readonly conversationsPerDay: number;
  readonly days: number;
}

const plain: Scenario = { title: 'equal prices', prices: [1, 1, 1], trouble: 1, conversationsPerDay: 20, days: 60 };

export const scenarios = {
  /** The one that decides. */
  plain,
  near: { ...plain, title: 'prices within 6 %', prices: [1, 1.03, 1.06] },
  cheaper: { ...plain, title: 'one is 20 % cheaper', prices: [0.8, 1, 1] },
  bad: { ...plain, title: 'equal prices, four times the faults', trouble: 4 },
  /** No provider has measurements for most of the day. */
  quiet: { ...plain, title: 'equal prices, one conversation a day', conversationsPerDay: 1, days: 120 },
} satisfies Record<string, Scenario>;

const modelId = 'lab/coder';
/** Pico-USD per token: $1, $0.10 and $4 per million. */
const price = { input: 1_000_000, cachedInput: 100_000, output: 4_000_000 } as const;
const contextLength = 262_144;

/** An ordinary world in which only some `private` providers serve the model, at the scenario's prices. */
export function drawScenario(seed: number, { trouble, prices }: Pick<Scenario, 'trouble' | 'prices'>): World {
  const world = drawWorld(seed, { perSecond: 0, trouble, teeRoutes: 5 });
  const catalog = world.catalogAt(0);
  const model = catalog.models.get(modelId);
  if (model === undefined) throw new Error(`the drawn world does not have ${modelId}`);
  const routes = model.routes
    .filter(({ privacyClass }) => privacyClass === 'private')
    .slice(0, prices.length)
    .map((route, at): Route => ({ ...route, contextLength, price: times(prices[at] ?? 1) }));
  const offered = { ...catalog, models: new Map([[modelId, { ...model, contextLength, routes }]]) };
  return { ...world, catalogAt: () => offered };
}

const times = (factor: number): Route['price'] => ({
  input: Math.round(price.input * factor),
  cachedInput: Math.round(price.cachedInput * factor),
  output: Math.round(price.output * factor),
});

/** How one kind of client did on the days of a scenario. */
export interface Outcome {
  /** USD per conversation. */
  readonly cost: number;
  readonly successRate: number;
  /** The mean share of a day's cost that it saves against no preference, and half of the 95 % confidence interval. */
  readonly saving: { readonly mean: number; readonly halfWidth: number };
}

/** Lets each kind of client have the same days. */
function compareClients({ days, conversationsPerDay: count, ...scenario }: Scenario): Record<Client, Outcome> {
  const spending = Array.from({ length: days }, (_, day) => {
    const world = drawScenario(day + 1, scenario);
    return Object.fromEntries(clients.map((client) => [client, converse({ world, modelId, count }, client)])) as Record<
      Client,
      ReturnType<typeof converse>
    >;
  });
  const outcomeOf = (client: Client): Outcome => {
    const sum = (figure: 'cost' | 'requests' | 'successes'): number =>
      spending.reduce((total, day) => total + day[client][figure], 0);
    return {
      cost: sum('cost') / (days * count),
      successRate: sum('successes') / sum('requests'),
      saving: interval(spending.map((day) => 1 - day[client].cost / day.none.cost)),
    };
  };
  return { none: outcomeOf('none'), first: outcomeOf('first'), last: outcomeOf('last') };
}

function interval(values: readonly number[]): Outcome['saving'] {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1);
  return { mean, halfWidth: 1.96 * Math.sqrt(variance / values.length) };
}

const heads = [
  'providers',
  'cost of a conversation',
  'success',
  'first provider: saves',
  'success',
  'last provider: saves',
  'success',
];

/** Runs the scenarios, and formats them as a Markdown table with one line per scenario. */
export const conversationTable = (scenarios: readonly Scenario[]): string =>
  table(heads, scenarios.map(conversationRow));

/** Runs one scenario. Returns its line of the table. */
export function conversationRow(scenario: Scenario): string {
  const { none, first, last } = compareClients(scenario);
  return row([
    scenario.title,
    `$${none.cost.toFixed(2)}`,
    percent(none.successRate, 2),
    ...[first, last].flatMap(({ saving, successRate }) => [
      `${(saving.mean * 100).toFixed(1)} ± ${percent(saving.halfWidth, 1)}`,
      percent(successRate, 2),
    ]),
  ]);
}

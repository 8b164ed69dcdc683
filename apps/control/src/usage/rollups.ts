/** What usage can be told apart by, beside its day. The order is that of columns in answers. */
export const dimensions = ['workspace_id', 'key_id', 'operation', 'model', 'provider', 'privacy_class'] as const;
export type Dimension = (typeof dimensions)[number];

/** The largest value of a column of sums. A sum that reaches it stays there, so that no row makes the next unbookable. */
export const largestSum = '9223372036854775807';

/** What is summed up, each with how it comes from rows of `usage`. */
export const sums = {
  requests: 'count(*)',
  failed: "count(*) filter (where status = 'failed')",
  cancelled: "count(*) filter (where status = 'cancelled')",
  estimated: 'count(*) filter (where estimated)',
  prompt_tokens: 'sum(prompt_tokens)',
  cached_tokens: 'sum(cached_tokens)',
  completion_tokens: 'sum(completion_tokens)',
  reasoning_tokens: 'sum(reasoning_tokens)',
  cost_nusd: 'sum(cost_nusd)',
} as const;
export type SumName = keyof typeof sums;
export const sumNames = Object.keys(sums) as readonly SumName[];

/** A table of `usage` summed up by account, day and some dimensions. */
export interface Rollup {
  readonly table: string;
  readonly dimensions: readonly Dimension[];
}

const everything: Rollup = { table: 'usage_daily', dimensions };

/** All of them, the one with the fewest rows first. */
export const rollups: readonly Rollup[] = [
  { table: 'usage_daily_keys', dimensions: ['workspace_id', 'key_id'] },
  { table: 'usage_daily_routes', dimensions: ['workspace_id', 'operation', 'model', 'provider', 'privacy_class'] },
  everything,
];

/** The smallest rollup that knows all these dimensions. */
export const rollupFor = (wanted: readonly Dimension[]): Rollup =>
  rollups.find((rollup) => wanted.every((dimension) => rollup.dimensions.includes(dimension))) ?? everything;

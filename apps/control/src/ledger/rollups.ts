/** The dimensions of usage, besides the day, in the order of the columns in answers. */
export const dimensions = ['workspace_id', 'key_id', 'operation', 'model', 'provider', 'privacy_class'] as const;
export type Dimension = (typeof dimensions)[number];

/**
 * The largest value of a sum. A sum stays there once it reaches it, so that an overflow never makes a row unbookable.
 */
export const maxSum = '9223372036854775807';

/** The sums, each with its SQL over rows of `usage`. */
export const sums = {
  requests: 'count(*)',
  failed: "count(*) filter (where status = 'failed')",
  cancelled: "count(*) filter (where status = 'cancelled')",
  estimated: 'count(*) filter (where estimated)',
  prompt_tokens: 'coalesce(sum(prompt_tokens), 0)',
  cached_tokens: 'coalesce(sum(cached_tokens), 0)',
  completion_tokens: 'coalesce(sum(completion_tokens), 0)',
  reasoning_tokens: 'coalesce(sum(reasoning_tokens), 0)',
  cost_nusd: 'sum(cost_nusd)',
} as const;
export type SumName = keyof typeof sums;
export const sumNames = Object.keys(sums) as readonly SumName[];

/** A table of `usage` summed by account, day and some dimensions. */
export interface Rollup {
  readonly table: string;
  readonly dimensions: readonly Dimension[];
}

const everything: Rollup = { table: 'usage_daily', dimensions };

/** All rollups, the one with the fewest rows first. */
export const rollups: readonly Rollup[] = [
  { table: 'usage_daily_keys', dimensions: ['workspace_id', 'key_id'] },
  { table: 'usage_daily_routes', dimensions: ['workspace_id', 'operation', 'model', 'provider', 'privacy_class'] },
  everything,
];

/** Returns the smallest rollup that has all these dimensions. */
export const rollupFor = (needed: readonly Dimension[]): Rollup =>
  rollups.find((rollup) => needed.every((dimension) => rollup.dimensions.includes(dimension))) ?? everything;

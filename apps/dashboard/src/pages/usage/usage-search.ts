export const usageRanges = ['7d', '30d', '90d', 'month', 'last-month', '12m'] as const;
export type UsageRange = (typeof usageRanges)[number];

export const usageKinds = ['model', 'key', 'provider'] as const;
/** What usage is told apart by. */
export type UsageKind = (typeof usageKinds)[number];

export const usageMeasures = ['cost', 'requests', 'tokens'] as const;
export type UsageMeasure = (typeof usageMeasures)[number];

/** What is asked of usage, as its address says it. */
export interface UsageSearch {
  /** Default: `30d`. */
  readonly range?: UsageRange | undefined;
  /** UTC days, both inclusive; together they win over `range`. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** Default: `model`. */
  readonly by?: UsageKind | undefined;
  /** Default: `cost`. */
  readonly show?: UsageMeasure | undefined;
  readonly model?: string | undefined;
  readonly key?: string | undefined;
  /** A workspace's id, or `all` that the reader pays for. Default: the workspace that is chosen. */
  readonly workspace?: string | undefined;
}

/** Reads an address; what it says wrongly is as if it were not there. */
export function readUsageSearch(search: Readonly<Record<string, unknown>>): UsageSearch {
  const [from, to] = [dayOf(search.from), dayOf(search.to)];
  const hasDays = from !== undefined && to !== undefined;
  return {
    range: hasDays ? undefined : usageRanges.find((range) => range === search.range),
    ...(hasDays ? { from, to } : {}),
    by: usageKinds.find((kind) => kind === search.by),
    show: usageMeasures.find((measure) => measure === search.show),
    model: textOf(search.model),
    key: idOf(search.key),
    workspace: search.workspace === 'all' ? 'all' : idOf(search.workspace),
  };
}

const textOf = (asked: unknown): string | undefined =>
  (typeof asked === 'string' && asked !== '') || typeof asked === 'number' ? String(asked).slice(0, 256) : undefined;

const idPattern = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;
const idOf = (asked: unknown): string | undefined =>
  typeof asked === 'string' && idPattern.test(asked) ? asked : undefined;

const dayOf = (asked: unknown): string | undefined =>
  typeof asked === 'string' && /^\d{4}-\d\d-\d\d$/.test(asked) && !Number.isNaN(Date.parse(asked)) ? asked : undefined;

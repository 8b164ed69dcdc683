import type { UsagePage } from '@sotto/contract/control/usage';
import type { UsageError } from '@sotto/wire';
import { dayOf, textOf } from '../../format/read-search.ts';

export const usageRanges = ['today', '7d', '30d', '90d', 'month', 'last-month', '12m'] as const;
export type UsageRange = (typeof usageRanges)[number];

/** Ranges of hours. Sums have the longer one, for readers who may see all requests. */
export const hourRanges = { '1h': 1, '24h': 24 } as const;
export type HourRange = keyof typeof hourRanges;

type Status = UsagePage['data'][number]['status'];
// Written out, because the first page reads addresses without the schemas of answers.
const statuses: readonly Status[] = ['completed', 'failed', 'cancelled'];
const errors: readonly UsageError[] = ['provider', 'timeout', 'rate_limit', 'request', 'cancelled'];

export const usageKinds = ['model', 'key', 'provider', 'tag', 'member'] as const;
/** Usage can be grouped by these. Only the owner and admins group it by member. */
export type UsageKind = (typeof usageKinds)[number];

export const usageMeasures = ['cost', 'requests', 'tokens'] as const;
export type UsageMeasure = (typeof usageMeasures)[number];

/** Filters and views of the page, as its address keeps them. */
export interface UsageSearch {
  /** Default: sums. */
  readonly view?: 'requests' | undefined;
  /** Default: `30d`. */
  readonly range?: UsageRange | undefined;
  /** Wins over `range` and days. */
  readonly hours?: HourRange | undefined;
  /** UTC minutes such as `2026-11-21T10:30Z`; together they win over all other times in the list of requests. */
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  /** UTC days, both inclusive; together they win over `range`. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** Default: `model`. */
  readonly by?: UsageKind | undefined;
  /** Default: `cost`. */
  readonly show?: UsageMeasure | undefined;
  readonly model?: string | undefined;
  readonly key?: string | undefined;
  /** Of the key. In the sums only. */
  readonly tag?: string | undefined;
  /** A workspace's id, or `all` that the reader pays for. Default: the workspace that is chosen. */
  readonly workspace?: string | undefined;
  readonly status?: Status | undefined;
  readonly error?: UsageError | undefined;
  readonly provider?: string | undefined;
  /** The account that created the key. */
  readonly member?: string | undefined;
}

const filterNames = ['status', 'error', 'model', 'provider', 'key', 'tag', 'member'] as const;

/** Whether any filter is set, besides the time and the workspace. */
export const isNarrowed = (search: UsageSearch): boolean => filterNames.some((name) => search[name] !== undefined);

export const withoutFilters = (search: UsageSearch): UsageSearch => ({
  ...search,
  ...Object.fromEntries(filterNames.map((name) => [name, undefined])),
});

/** The search for sums of what a search for requests finds. Its minutes become whole days. */
export function sumsOf({ view: _, hours, since, until, status, error, provider, ...search }: UsageSearch): UsageSearch {
  if (since === undefined || until === undefined) return { ...search, hours: hours === '24h' ? hours : undefined };
  const last = new Date(Math.max(Date.parse(since), Date.parse(until) - 1)).toISOString();
  return { ...search, range: undefined, from: since.slice(0, 10), to: last.slice(0, 10) };
}

/** Reads an address; ignores what is malformed. */
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
    member: idOf(search.member),
    workspace: search.workspace === 'all' ? 'all' : idOf(search.workspace),
    ...(search.view === 'requests'
      ? readRequestSearch(search)
      : { hours: search.hours === '24h' ? search.hours : undefined, tag: textOf(search.tag) }),
  };
}

/** What only the list of requests has. */
const readRequestSearch = (search: Readonly<Record<string, unknown>>): UsageSearch => ({
  view: 'requests',
  ...readTimes(search),
  status: statuses.find((status) => status === search.status),
  error: errors.find((error) => error === search.error),
  provider: textOf(search.provider),
});

function readTimes(search: Readonly<Record<string, unknown>>): UsageSearch {
  const [since, until] = [minuteOf(search.since), minuteOf(search.until)];
  if (since !== undefined && until !== undefined) return { since, until };
  return { hours: search.hours === '1h' || search.hours === '24h' ? search.hours : undefined };
}

const idPattern = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;
const idOf = (asked: unknown): string | undefined =>
  typeof asked === 'string' && idPattern.test(asked) ? asked : undefined;

const minuteOf = (asked: unknown): string | undefined =>
  typeof asked === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\dZ$/.test(asked) && !Number.isNaN(Date.parse(asked))
    ? asked
    : undefined;

import type { KeyAnswer } from '@sotto/contract/control/keys';
import type { UsageDailyAnswer, UsageGroup, UsageSums } from '@sotto/contract/control/usage';
import type { PlotPoint, PlotSeries } from '../../ui/plot-parts.ts';
import type { UsageKind, UsageMeasure } from './usage-search.ts';

export type UsageSumsRow = UsageDailyAnswer['data'][number];

/** The column that a kind is grouped by. */
export const groupOf: Readonly<
  Record<UsageKind, UsageGroup & ('model' | 'key_id' | 'provider' | 'tag' | 'member_id')>
> = {
  model: 'model',
  key: 'key_id',
  provider: 'provider',
  tag: 'tag',
  member: 'member_id',
};

/** What a row is about; null if no provider answered, or if the key has no tag. */
export const subjectOf = (row: UsageSumsRow, kind: UsageKind): string | null => row[groupOf[kind]] ?? null;

export const measureOf = (sums: UsageSums, measure: UsageMeasure): number =>
  measure === 'tokens' ? sums.prompt_tokens + sums.completion_tokens : sums[measure];

/** Adds up rows of several hours that are about the same. */
export function addHours(rows: readonly UsageSumsRow[], kind: UsageKind): readonly UsageSumsRow[] {
  const sums = new Map<string | null, UsageSumsRow>();
  for (const row of rows) {
    const before = sums.get(subjectOf(row, kind));
    const counts = Object.entries(row).map(([name, value]) => {
      const sum = before?.[name as keyof UsageSumsRow];
      return [name, typeof value === 'number' && typeof sum === 'number' ? value + sum : value];
    });
    sums.set(subjectOf(row, kind), Object.fromEntries(counts));
  }
  return [...sums.values()];
}

const mostSeries = 5;
const restId = 'rest';
const idOf = (subject: string | null): string => (subject === null ? 'none' : `of ${subject}`);

interface UsagePlot {
  readonly series: readonly PlotSeries[];
  readonly points: readonly PlotPoint[];
}

/**
 * Sums by time and subject as a stack: the five largest subjects, largest first, and the rest as one. Steps without
 * usage are zero.
 */
export function usagePlot({
  rows,
  steps,
  kind,
  measure,
  nameOf,
}: {
  readonly rows: readonly UsageSumsRow[];
  readonly steps: readonly string[];
  readonly kind: UsageKind;
  readonly measure: UsageMeasure;
  readonly nameOf: (subject: string | null) => string;
}): UsagePlot {
  const totals = new Map<string | null, number>();
  for (const row of rows) {
    const subject = subjectOf(row, kind);
    totals.set(subject, (totals.get(subject) ?? 0) + measureOf(row, measure));
  }
  const ranked = [...totals].filter(([, total]) => total > 0).toSorted((left, right) => right[1] - left[1]);
  const named = ranked.slice(0, ranked.length === mostSeries + 1 ? mostSeries + 1 : mostSeries);
  const restCount = ranked.length - named.length;
  const series: PlotSeries[] = named.map(([subject]) => ({ id: idOf(subject), name: nameOf(subject) }));
  if (restCount > 0) series.push({ id: restId, name: `${restCount} others`, isRest: true });
  const places = new Map(series.map(({ id }, place) => [id, place]));
  const values = new Map(steps.map((step) => [step, series.map(() => 0)]));
  for (const row of rows) {
    const sums = values.get(row.hour ?? row.day ?? row.month ?? '');
    const place = places.get(idOf(subjectOf(row, kind))) ?? places.get(restId);
    if (sums !== undefined && place !== undefined) sums[place] = (sums[place] ?? 0) + measureOf(row, measure);
  }
  return { series, points: [...values].map(([x, sums]) => ({ x, values: sums })) };
}

/** Names models, keys, providers, tags and members. */
export interface UsageNames {
  readonly nameOf: (subject: string | null, kind: UsageKind) => string;
}

/** The member who created each key that is listed or has sums. */
export const ownersOf = (keys: readonly KeyAnswer[], sums: readonly UsageSumsRow[] = []): ReadonlyMap<string, string> =>
  new Map([
    ...keys.map(({ id, created_by }) => [id, created_by] as const),
    ...sums.flatMap(({ key_id: id, member_id: by }) =>
      id === undefined || by === undefined ? [] : [[id, by] as const],
    ),
  ]);

/** Names keys and members by a list of them; an unlisted one is named by the start of its id. */
export function namesOf(
  keys: readonly KeyAnswer[],
  members: readonly { readonly account_id: string; readonly email: string | null }[],
): UsageNames {
  const emails = new Map(members.map(({ account_id, email }) => [account_id, email]));
  const keyNames = new Map(keys.map(({ id, name }) => [id, name]));
  return {
    nameOf: (subject, kind) => {
      if (subject === null) return kind === 'tag' ? 'No tag' : 'No provider';
      if (kind === 'key') return keyNames.get(subject) ?? `Key ${subject.slice(0, 8)}`;
      return kind === 'member' ? (emails.get(subject) ?? `Member ${subject.slice(0, 8)}`) : subject;
    },
  };
}

/** Names what sums are about as they name it themselves, and anything else by `names`. */
export function namesIn(rows: readonly UsageSumsRow[], names: UsageNames): UsageNames {
  const told = new Map(
    rows.flatMap((row) => [
      [row.key_id, row.key_name] as const,
      [row.member_id, row.member_email === null ? 'A person who was deleted' : row.member_email] as const,
    ]),
  );
  return { nameOf: (subject, kind) => told.get(subject ?? undefined) ?? names.nameOf(subject, kind) };
}

export const kindNames: Readonly<Record<UsageKind, string>> = {
  model: 'Model',
  key: 'Key',
  provider: 'Provider',
  tag: 'Tag',
  member: 'Member',
};

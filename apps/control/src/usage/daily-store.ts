import { type UsageDailyAnswer, type UsageGroup, usageDailyAnswerSchema } from '@sotto/contract/control/usage';
import { type Nusd, nusdToDecimal, nusdToUsd } from '@sotto/money';
import { firstTokenBoundsMs } from '@sotto/wire';
import type pg from 'pg';
import { Refused } from '../database/refused.ts';
import { type Dimension, dimensions, rollupFor, type SumName, sumNames } from '../ledger/rollups.ts';
import { type DayRange, dateOf, monthsOf, weeksOf } from './day-range.ts';

/** A query of an account’s daily sums. */
export interface DailyQuestion {
  readonly accountId: string;
  readonly days: DayRange;
  /** In the order of `usageGroups`. */
  readonly groups: readonly UsageGroup[];
  readonly filters: Partial<Record<Dimension, string | undefined>>;
}

type Group = Readonly<Partial<Record<UsageGroup, string | null>>>;
type Counts = Record<Exclude<SumName, 'cost_nusd'>, number>;

interface GroupSums {
  readonly group: Group;
  readonly counts: Counts;
  readonly costNusd: Nusd;
}

const maxGroups = 10_000;

/** An answer would have more groups than it may. */
export interface TooManyGroups {
  readonly why: 'too_many_groups';
  readonly most: number;
}

/** Returns the answer of `GET /usage/daily`. */
export async function readDaily(
  pool: pg.Pool,
  question: DailyQuestion,
): Promise<UsageDailyAnswer | Refused<TooManyGroups>> {
  const groups = await readGroups(pool, question, maxGroups + 1);
  if (groups.length > maxGroups) return new Refused({ why: 'too_many_groups', most: maxGroups });
  const total = groups.reduce(addUp, { group: {}, counts: zeroCounts, costNusd: 0n });
  return usageDailyAnswerSchema.parse({
    data: groups.map(toAnswer),
    total: toAnswer(total),
    first_token: await readFirstTokens(pool, question),
  });
}

/** Counts the times to the first token of all days. Null if the question filters by more than the workspace. */
async function readFirstTokens(pool: pg.Pool, { accountId, days, filters }: DailyQuestion) {
  const { workspace_id: workspaceId, ...others } = filters;
  if (Object.values(others).some((value) => value !== undefined)) return null;
  const { rows } = await pool.query<{ class: number; answers: string }>(
    `select class, least(sum(answers), ${Number.MAX_SAFE_INTEGER}) as answers from usage_daily_first_token
     where account_id = $1 and day >= $2::date and day < $3::date and ($4::uuid is null or workspace_id = $4)
     group by class`,
    [accountId, dateOf(days.from), dateOf(days.to), workspaceId ?? null],
  );
  const counts = new Map(rows.map((row) => [row.class, Number(row.answers)]));
  const answers = Array.from({ length: firstTokenBoundsMs.length + 1 }, (_, place) => counts.get(place) ?? 0);
  return { bounds_ms: [...firstTokenBoundsMs], answers };
}

/** A row of a CSV export: the group’s columns and its sums, the cost to the nano-dollar. */
export type ExportedGroup = Group & Counts & { readonly cost: string };

/** Yields all groups, in order. Groups by time are read one piece at a time. No connection is held between pieces. */
export async function* exportDaily(pool: pg.Pool, question: DailyQuestion): AsyncGenerator<ExportedGroup[]> {
  for (const days of pieces(question)) {
    const groups = await readGroups(pool, { ...question, days });
    if (groups.length > 0)
      yield groups.map(({ group, counts, costNusd }) => ({ ...group, ...counts, cost: nusdToDecimal(costNusd) }));
  }
}

function pieces({ days, groups }: DailyQuestion): readonly DayRange[] {
  if (groups.includes('day')) return weeksOf(days);
  return groups.includes('month') ? monthsOf(days) : [days];
}

const month = "date_trunc('month', day::timestamp)";
const keyOf = (group: UsageGroup): string => (group === 'month' ? month : group);

function columnOf(group: UsageGroup): string {
  if (group === 'day') return "to_char(day, 'YYYY-MM-DD') as day";
  return group === 'month' ? `to_char(${month}, 'YYYY-MM') as month` : group;
}

async function readGroups(
  pool: pg.Pool,
  { accountId, days, groups, filters }: DailyQuestion,
  limit?: number,
): Promise<GroupSums[]> {
  const values: unknown[] = [accountId, dateOf(days.from), dateOf(days.to)];
  const filtered = dimensions.filter((name) => filters[name] !== undefined);
  const conditions = filtered.map((name) => `and ${name} = $${values.push(filters[name])}`);
  const needed = dimensions.filter((name) => groups.includes(name) || filtered.includes(name));
  const keys = groups.map(keyOf).join(', ');
  const { rows } = await pool.query<Record<string, string | null>>(
    `select ${groups.map(columnOf).join(', ')}, ${sumNames.map((name) => `sum(${name})::bigint as ${name}`).join(', ')}
     from ${rollupFor(needed).table}
     where account_id = $1 and day >= $2::date and day < $3::date ${conditions.join(' ')}
     group by ${keys} order by ${keys} ${limit === undefined ? '' : `limit $${values.push(limit)}`}`,
    values,
  );
  return rows.map((row) => ({
    group: Object.fromEntries(groups.map((name) => [name, row[name] ?? null])),
    counts: countsOf((name) => Number(row[name])),
    costNusd: BigInt(row.cost_nusd ?? 0),
  }));
}

const countNames = sumNames.filter((name) => name !== 'cost_nusd');
const countsOf = (count: (name: keyof Counts) => number): Counts =>
  Object.fromEntries(countNames.map((name) => [name, count(name)])) as Counts;

const zeroCounts = countsOf(() => 0);

const addUp = (total: GroupSums, { counts, costNusd }: GroupSums): GroupSums => ({
  group: {},
  counts: countsOf((name) => total.counts[name] + counts[name]),
  costNusd: total.costNusd + costNusd,
});

const toAnswer = ({ group, counts, costNusd }: GroupSums) => ({ ...group, ...counts, cost: nusdToUsd(costNusd) });

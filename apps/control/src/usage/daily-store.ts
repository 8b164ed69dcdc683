import { type UsageDailyAnswer, type UsageGroup, usageDailyAnswerSchema } from '@sotto/contract/control/usage';
import { type Nusd, nusdToDecimal, nusdToUsd } from '@sotto/money';
import { firstTokenBoundsMs } from '@sotto/wire';
import type pg from 'pg';
import { Refused } from '../database/refused.ts';
import { type Dimension, dimensions, maxSum, rollupFor, type SumName, sumNames, sums } from '../ledger/rollups.ts';
import { type DayRange, dateOf, type HourRange, monthsOf, weeksOf } from './day-range.ts';

/** What a key belongs to, which its row tells and no sum. */
const ofKeys = { member_id: 'k.created_by', tag: 'k.tag' } as const;
type OfKey = keyof typeof ofKeys;

/** A query of an account’s daily sums. */
export interface DailyQuestion {
  readonly accountId: string;
  readonly days: DayRange;
  /** Set if `groups` has `hour`. Rows of these hours are summed then, instead of days. */
  readonly hours?: HourRange | undefined;
  /** In the order of `usageGroups`. */
  readonly groups: readonly UsageGroup[];
  readonly filters: Partial<Record<Dimension | OfKey, string | undefined>>;
  /** Names workspaces, members and keys that are grouped by. */
  readonly isNamed: boolean;
}

/** The name of each id that is grouped by: its column, and its SQL over the groups `s` of the account `$1`. */
const names: Partial<Record<UsageGroup, { readonly column: GroupName; readonly select: string }>> = {
  // A workspace that was handed over is its new owner's, and so is its present name.
  workspace_id: {
    column: 'workspace_name',
    select: '(select w.name from workspaces w where w.id = s.workspace_id and w.account_id = $1)',
  },
  member_id: {
    column: 'member_email',
    select: '(select u.email from accounts a join auth_user u on u.id = a.user_id where a.id = s.member_id)',
  },
  key_id: { column: 'key_name', select: '(select k.name from api_keys k where k.id = s.key_id)' },
};
type GroupName = 'workspace_name' | 'member_email' | 'key_name';

/** The columns of each group: what it is grouped by, each with its name. */
export const groupColumns = ({
  groups,
  isNamed,
}: Pick<DailyQuestion, 'groups' | 'isNamed'>): readonly (UsageGroup | GroupName)[] =>
  groups.flatMap((group) => {
    const name = names[group];
    return isNamed && name !== undefined ? [group, name.column] : [group];
  });

type Group = Readonly<Partial<Record<UsageGroup | GroupName, string | null>>>;
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
  const [groups, firstTokens] = await Promise.all([
    readGroups(pool, question, maxGroups + 1),
    readFirstTokens(pool, question),
  ]);
  if (groups.length > maxGroups) return new Refused({ why: 'too_many_groups', most: maxGroups });
  const total = groups.reduce(addUp, { group: {}, counts: zeroCounts, costNusd: 0n });
  return usageDailyAnswerSchema.parse({
    data: groups.map(toAnswer),
    total: toAnswer(total),
    first_token: firstTokens,
  });
}

/** Counts the times to the first token of all days. Null if the question is of hours, or filters by more than the workspace. */
async function readFirstTokens(pool: pg.Pool, { accountId, days, hours, filters }: DailyQuestion) {
  const { workspace_id: workspaceId, ...others } = filters;
  if (hours !== undefined || Object.values(others).some((value) => value !== undefined)) return null;
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

function pieces({ days, hours, groups }: DailyQuestion): readonly DayRange[] {
  if (hours !== undefined) return [days];
  if (groups.includes('day')) return weeksOf(days);
  return groups.includes('month') ? monthsOf(days) : [days];
}

function columnOf(group: UsageGroup): string {
  if (group === 'hour') return `to_char(s.hour, 'YYYY-MM-DD"T"HH24:MI:SS.000"Z"') as hour`;
  if (group === 'day') return "to_char(s.day, 'YYYY-MM-DD') as day";
  return group === 'month' ? "to_char(s.month, 'YYYY-MM') as month" : `s.${group}`;
}

const sumsOf = (rows: string): string => sumNames.map((name) => `sum(${rows}.${name})::bigint as ${name}`).join(', ');
const isOfKeys = (group: UsageGroup): group is OfKey => group in ofKeys;

async function readGroups(pool: pg.Pool, question: DailyQuestion, limit?: number): Promise<GroupSums[]> {
  const { accountId, days, hours, groups, isNamed } = question;
  const values: unknown[] = [accountId, ...(hours ? [hours.from, hours.to] : [dateOf(days.from), dateOf(days.to)])];
  const bind = (value: unknown): string => `$${values.push(value)}`;
  const summed = sumByTime(question, bind);
  const ordered = groups.map((group) => `s.${group}`).join(', ');
  const named = isNamed ? groups.flatMap((group) => names[group] ?? []) : [];
  const columns = [
    ...groups.map(columnOf),
    ...named.map(({ column, select }) => `${select} as ${column}`),
    ...sumNames.map((name) => `s.${name}`),
  ];
  // Only the groups that are answered are named.
  const { rows } = await pool.query<Record<string, string | null>>(
    `select ${columns.join(', ')}
     from (select * from (${groups.some(isOfKeys) ? sumByKey(groups, summed) : summed}) s
       order by ${ordered} ${limit === undefined ? '' : `limit ${bind(limit)}`}) s
     order by ${ordered}`,
    values,
  );
  const kept = groupColumns(question);
  return rows.map((row) => ({
    group: Object.fromEntries(kept.map((name) => [name, row[name] ?? null])),
    counts: countsOf((name) => Number(row[name])),
    costNusd: BigInt(row.cost_nusd ?? 0),
  }));
}

const rowTime = "r.at at time zone 'UTC'";
/** SQL of the times in rows of `usage`, and in days of a rollup. */
const timesOfRows: Partial<Record<UsageGroup, string>> = {
  hour: `date_trunc('hour', ${rowTime})`,
  day: `(${rowTime})::date`,
  month: `date_trunc('month', ${rowTime})`,
};
const timesOfDays: typeof timesOfRows = { month: "date_trunc('month', r.day::timestamp)" };
const sumsOfRows = sumNames.map((name) => `least(${sums[name]}, ${maxSum})::bigint as ${name}`).join(', ');

/** SQL: the sums of rows, or of the smallest rollup, by all groups that it has, and by key if its keys tell the others. */
function sumByTime({ groups, filters, hours }: DailyQuestion, bind: (value: unknown) => string): string {
  const asked = dimensions.filter((name) => filters[name] !== undefined);
  const askedOfKeys = (['member_id', 'tag'] as const).filter((name) => filters[name] !== undefined);
  const conditions = [
    ...asked.map((name) => `and r.${name} = ${bind(filters[name])}`),
    // An array, which Postgres looks up in the index by key. A join would let it read all of the account instead.
    ...askedOfKeys.map(
      (name) =>
        `and r.key_id = any (array(select k.id from api_keys k where k.account_id = $1 and ${ofKeys[name]} = ${bind(filters[name])}))`,
    ),
  ];
  const isByKey = groups.includes('key_id') || groups.some(isOfKeys);
  const by = [
    ...groups.filter((group) => group !== 'key_id' && !isOfKeys(group)),
    ...(isByKey ? (['key_id'] as const) : []),
  ];
  const needed = dimensions.filter(
    (name) => by.includes(name) || asked.includes(name) || (name === 'key_id' && askedOfKeys.length > 0),
  );
  const times = hours === undefined ? timesOfDays : timesOfRows;
  const sqlOf = (group: UsageGroup): string => times[group] ?? `r.${group}`;
  const [table, summed, within] =
    hours === undefined
      ? [rollupFor(needed).table, sumsOf('r'), 'r.day >= $2::date and r.day < $3::date']
      : ['usage', sumsOfRows, 'r.at >= $2 and r.at < $3'];
  return `select ${by.map((group) => `${sqlOf(group)} as ${group}`).join(', ')}, ${summed}
    from ${table} r where r.account_id = $1 and ${within} ${conditions.join(' ')}
    group by ${by.map(sqlOf).join(', ')}`;
}

/** SQL: sums by key, as sums by what each key belongs to. No key's row is ever deleted, so the join loses no usage. */
function sumByKey(groups: readonly UsageGroup[], summed: string): string {
  const sqlOf = (group: UsageGroup): string => (isOfKeys(group) ? ofKeys[group] : `t.${group}`);
  return `select ${groups.map((group) => `${sqlOf(group)} as ${group}`).join(', ')}, ${sumsOf('t')}
    from (${summed}) t join api_keys k on k.id = t.key_id group by ${groups.map(sqlOf).join(', ')}`;
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

import type { UsageDailyAnswer } from '@sotto/contract/control/usage';
import { addDays, dayAt, monthFrom } from '../../format/days.ts';
import { formatMs } from '../../format/format.ts';
import { projectedUsd } from '../budgets/budget-rules.ts';
import { overviewDays } from '../usage/days.ts';
import type { UsageSumsRow } from '../usage/usage-points.ts';

interface Sum {
  readonly usd: number;
  readonly requests: number;
}

interface Month extends Sum {
  /** The share of requests that failed, cancelled ones not counted; undefined without requests. */
  readonly failedShare: number | undefined;
}

export interface OverviewFigures {
  readonly today: Sum;
  readonly month: Month;
  readonly lastMonth: Sum;
  /** The cost of the whole month at its present rate; undefined on its first day. */
  readonly projectedUsd: number | undefined;
}

/** Sums the rows of days. Days and months are UTC. */
export function figuresOf(rows: readonly UsageSumsRow[], now: number): OverviewFigures {
  const today = dayAt(now);
  const month = today.slice(0, 7);
  const lastMonth = overviewDays(now).from.slice(0, 7);
  const sumOf = (start: string): Sum =>
    rows
      .filter(({ day }) => day?.startsWith(start) === true)
      .reduce((sum, { cost, requests }) => ({ usd: sum.usd + cost, requests: sum.requests + requests }), {
        usd: 0,
        requests: 0,
      });
  const ofMonth = sumOf(month);
  const failed = rows.reduce((sum, row) => sum + (row.day?.startsWith(month) === true ? row.failed : 0), 0);
  return {
    today: sumOf(today),
    month: { ...ofMonth, failedShare: ofMonth.requests === 0 ? undefined : failed / ofMonth.requests },
    lastMonth: sumOf(lastMonth),
    projectedUsd: projectedUsd({ month, month_ends_at: monthFrom(today, 1), spent_usd: ofMonth.usd }, now),
  };
}

/** How many requests ended in the last seven days, and how many of them failed. */
export interface Ends {
  readonly requests: number;
  readonly failed: number;
}

export const recentEnds = (rows: readonly UsageSumsRow[], now: number): Ends => {
  const first = addDays(dayAt(now), 1 - rateDays);
  return rows
    .filter(({ day = '' }) => day >= first)
    .reduce((sum, row) => ({ requests: sum.requests + row.requests, failed: sum.failed + row.failed }), {
      requests: 0,
      failed: 0,
    });
};

type FirstTokens = UsageDailyAnswer['first_token'];

/**
 * Says within which time this share of streamed answers had their first token: "≤ 0.5 s", or "> 16 s" beyond the last
 * bound. Undefined if none was streamed.
 */
export function firstTokenWithin(counts: FirstTokens, share: number): string | undefined {
  const { bounds_ms: bounds, answers } = counts ?? { bounds_ms: [], answers: [] };
  const total = answers.reduce((sum, count) => sum + count, 0);
  if (total === 0) return undefined;
  let counted = 0;
  const place = answers.findIndex((count) => {
    counted += count;
    return counted >= share * total;
  });
  const bound = bounds[place];
  return bound === undefined ? `> ${formatMs(bounds.at(-1) ?? 0)}` : `≤ ${formatMs(bound)}`;
}

const rateDays = 7;

/**
 * Returns what a day costs at present: the mean of the last seven days, today among them, or of the days since the first of
 * these with a request. 0 without any.
 */
export function dailyRate(rows: readonly UsageSumsRow[], now: number): number {
  const days = Array.from({ length: rateDays }, (_, ago) => addDays(dayAt(now), -ago));
  const used = rows.filter(({ day, cost }) => day !== undefined && days.includes(day) && cost > 0);
  const oldest = Math.max(-1, ...used.map(({ day = '' }) => days.indexOf(day)));
  return oldest < 0 ? 0 : used.reduce((sum, { cost }) => sum + cost, 0) / (oldest + 1);
}

/** How many whole days a balance lasts at a rate; undefined if nothing is spent, or for longer than a year. */
export function daysLeft(availableUsd: number, rateUsd: number): number | undefined {
  if (rateUsd <= 0) return undefined;
  const days = Math.floor(availableUsd / rateUsd);
  return days > 365 ? undefined : days;
}

/** One of the largest models, keys or members. */
export interface Top extends Sum {
  readonly id: string;
  readonly name: string;
  /** Of the cost of all; of the requests if nothing cost anything. */
  readonly share: number;
}

const mostTops = 5;

/** Returns the largest groups by cost, then requests. Groups whose `pick` is the same are one. */
export function topsOf(
  rows: readonly UsageSumsRow[],
  pick: (row: UsageSumsRow) => { readonly id: string; readonly name: string },
): readonly Top[] {
  const sums = new Map<string, Omit<Top, 'share'>>();
  for (const row of rows) {
    const { id, name } = pick(row);
    const { usd, requests } = sums.get(id) ?? { usd: 0, requests: 0 };
    sums.set(id, { id, name, usd: usd + row.cost, requests: requests + row.requests });
  }
  const all = [...sums.values()].reduce(
    (total, { usd, requests }) => ({ usd: total.usd + usd, requests: total.requests + requests }),
    { usd: 0, requests: 0 },
  );
  const shareOf = ({ usd, requests }: Sum): number => (all.usd > 0 ? usd / all.usd : requests / all.requests);
  return [...sums.values()]
    .toSorted((left, right) => right.usd - left.usd || right.requests - left.requests)
    .slice(0, mostTops)
    .map((sum) => ({ ...sum, share: shareOf(sum) }));
}

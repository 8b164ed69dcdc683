import { formatShare } from '../../format/format.ts';
import { addDays, type Days } from './days.ts';

const dayMs = 86_400_000;

/** As many days as a range has, just before it. Both ends are inclusive. */
export function daysBefore({ from, to }: Days): Days {
  const count = Math.round((Date.parse(to) - Date.parse(from)) / dayMs) + 1;
  return { from: addDays(from, -count), to: addDays(from, -1) };
}

/** How a sum changed from the period before: "+12.5%". Undefined if there was nothing before. */
export function changeOf(now: number, before: number): string | undefined {
  if (before === 0) return undefined;
  const change = now / before - 1;
  return `${change > 0 ? '+' : change < 0 ? '−' : '±'}${formatShare(Math.abs(change))}`;
}

/** Reasoning efforts in ascending order. A model may also have levels of its own. */
export const effortLadder = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;

const ranks: ReadonlyMap<string, number> = new Map(effortLadder.map((level, rank) => [level, rank]));
const rankOf = (effort: string): number => ranks.get(effort) ?? -1;

/** Whether an effort is on the ladder. Every model that offers any effort has a nearest level for it. */
export const isOnLadder = (effort: string): boolean => rankOf(effort) !== -1;

/**
 * The level of a model that is nearest to an effort. If two are equally near, the lower one. An effort above `none`
 * never becomes `none`: a request for some reasoning gets some. Undefined if no offered level can be compared.
 */
export function nearestEffort(asked: string, offered: readonly string[]): string | undefined {
  if (offered.includes(asked)) return asked;
  const rank = rankOf(asked);
  if (rank === -1) return undefined;
  let nearest: string | undefined;
  for (const level of effortLadder) {
    if (level === 'none' || !offered.includes(level)) continue;
    if (nearest === undefined || Math.abs(rankOf(level) - rank) < Math.abs(rankOf(nearest) - rank)) nearest = level;
  }
  return nearest;
}

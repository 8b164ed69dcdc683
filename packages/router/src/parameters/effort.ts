/** Reasoning efforts from none to the most. A model may name further levels of its own. */
export const effortLadder = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;

const ranks: ReadonlyMap<string, number> = new Map(effortLadder.map((level, rank) => [level, rank]));
const rankOf = (effort: string): number => ranks.get(effort) ?? -1;

/** Whether an effort is a level of the ladder, which has a nearest level on every model that offers any. */
export const isOnLadder = (effort: string): boolean => rankOf(effort) !== -1;

/**
 * The level of a model that comes nearest to an effort: itself where the model offers it; of two as near, the lower.
 * `none` is only ever itself: who asks for some thought gets some. Undefined where nothing offered can be compared.
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

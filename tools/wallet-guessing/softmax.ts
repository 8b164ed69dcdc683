/** The bin of a value; the last one for what is beyond all bounds. */
export const binOf = (bounds: readonly number[], value: number): number => {
  const bin = bounds.findIndex((bound) => value < bound);
  return bin === -1 ? bounds.length : bin;
};

/** Logarithms, by feature and bin. A candidate's score is the sum of those that it has. */
export type Weights = number[][];
/** The features of one candidate, with their bins. */
export type Seen = readonly (readonly [feature: number, bin: number])[];

export const scoreOf = (weights: Weights, seen: Seen): number =>
  seen.reduce((sum, [feature, bin]) => sum + (weights[feature]?.[bin] ?? 0), 0);

/** Moves the weights a step toward naming the first candidate, the right one (softmax regression). */
export function step(weights: Weights, candidates: readonly Seen[], size: number): void {
  const likely = candidates.map((seen) => Math.exp(Math.min(50, scoreOf(weights, seen))));
  const total = likely.reduce((sum, each) => sum + each, 0);
  for (const [which, seen] of candidates.entries()) {
    const error = (which === 0 ? 1 : 0) - (likely[which] ?? 0) / total;
    for (const [feature, bin] of seen) {
      const row = weights[feature] ?? [];
      row[bin] = (row[bin] ?? 0) + size * error;
    }
  }
}

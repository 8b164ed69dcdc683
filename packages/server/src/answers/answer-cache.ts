export interface AnswerCacheOptions {
  /** Time in ms until an answer is computed again. */
  readonly keptMs: number;
  /** The number of answers that are kept. */
  readonly most: number;
  /** A clock in ms that never steps back. */
  readonly now: () => number;
}

/**
 * Keeps answers that are costly to compute, for a short time. Callers who ask for the same get the same object. A new
 * catalog replaces them at once.
 */
export class AnswerCache<Answer extends object> {
  readonly #options: AnswerCacheOptions;
  readonly #kept = new Map<string, { readonly catalog: object; readonly until: number; readonly answer: Answer }>();

  constructor(options: AnswerCacheOptions) {
    this.#options = options;
  }

  /** Returns the answer to a question about a catalog. Computes it if none is kept. */
  get(catalog: object, question: string, compute: () => Answer): Answer {
    const { keptMs, most, now } = this.#options;
    const known = this.#kept.get(question);
    if (known !== undefined && known.catalog === catalog && now() < known.until) return known.answer;
    const answer = compute();
    this.#kept.delete(question);
    this.#kept.set(question, { catalog, until: now() + keptMs, answer });
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > most && oldest !== undefined) this.#kept.delete(oldest);
    return answer;
  }
}

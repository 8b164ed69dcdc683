import type { JsonObject } from '../json.ts';

/** The most answers that are kept, and the most characters of all of their conversations. */
const defaultLimits = { answers: 256, chars: 64 * 1024 * 1024 } as const;

interface Kept {
  readonly items: readonly JsonObject[];
  readonly chars: number;
}

/**
 * The conversations of recent answers, in the memory of this process alone, for requests that name one by
 * `previous_response_id`. The one that was used least recently goes first.
 */
export class KeptAnswers {
  readonly #kept = new Map<string, Kept>();
  readonly #limits: { readonly answers: number; readonly chars: number };
  #chars = 0;

  constructor(limits: { readonly answers: number; readonly chars: number } = defaultLimits) {
    this.#limits = limits;
  }

  /** Returns the items of a conversation up to the end of an answer. Undefined if it is not kept. */
  find(id: string): readonly JsonObject[] | undefined {
    const kept = this.#kept.get(id);
    if (kept === undefined) return undefined;
    this.#kept.delete(id);
    this.#kept.set(id, kept);
    return kept.items;
  }

  keep(id: string, items: readonly JsonObject[]): void {
    this.#forget(id);
    const kept = { items, chars: JSON.stringify(items).length };
    this.#kept.set(id, kept);
    this.#chars += kept.chars;
    for (const [oldest] of this.#kept) {
      if (this.#chars <= this.#limits.chars && this.#kept.size <= this.#limits.answers) return;
      this.#forget(oldest);
    }
  }

  #forget(id: string): void {
    this.#chars -= this.#kept.get(id)?.chars ?? 0;
    this.#kept.delete(id);
  }
}

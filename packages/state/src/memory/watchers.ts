import type { StateWatch } from '../ports/index.ts';

/** Those who want to know of one kind of change. */
export class Watchers {
  readonly #wakes = new Set<() => void>();

  wake(): void {
    for (const wake of this.#wakes) wake();
  }

  watch(wake: () => void): StateWatch {
    return { start: () => void this.#wakes.add(wake), stop: () => void this.#wakes.delete(wake) };
  }
}

import { Refusal, Unmade } from './refusal.ts';
import type { Check } from './verdict.ts';

/**
 * The checks that one verifier makes. It starts with all of them unmade, so that a check that was forgotten, or that
 * depended on one that did not pass, is in the result and is no pass.
 */
export class CheckList<Name extends string> {
  readonly #checks: Map<Name, Check<Name>>;

  constructor(names: readonly Name[]) {
    this.#checks = new Map(
      names.map((name) => [name, { name, outcome: 'not_made', reason: 'it depends on a check that did not pass' }]),
    );
  }

  /**
   * Makes one check: it passes when `check` returns, and what it returned is handed on. A `Refusal` fails it, an
   * `Unmade` leaves it unmade, and any other error fails it without its message, which could quote evidence.
   */
  async make<T>(name: Name, check: () => T | Promise<T>): Promise<T | undefined> {
    try {
      const value = await check();
      this.#checks.set(name, { name, outcome: 'passed' });
      return value;
    } catch (error) {
      const outcome = error instanceof Unmade ? 'not_made' : 'failed';
      const reason = error instanceof Refusal ? error.message : 'it is not what the format allows';
      this.#checks.set(name, { name, outcome, reason });
      return undefined;
    }
  }

  /** All checks, in the order in which they were announced. */
  list(): Check<Name>[] {
    return [...this.#checks.values()];
  }
}

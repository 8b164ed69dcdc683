import { Refusal, Unmade } from './refusal.ts';

/**
 * The conclusions of a verifier, weakest first (docs/concepts/attestation.md). Compare by order, never as strings.
 * - `unavailable`: there was no evidence.
 * - `untrusted`: a check failed, or the evidence proved nothing.
 * - `policy_matched`: the claimed values equal local pins.
 * - `cryptographically_checked`: genuine hardware signed the evidence, and it is bound to the client's nonce.
 * - `hardware_verified`: every check on the list passed.
 */
export const verdicts = [
  'unavailable',
  'untrusted',
  'policy_matched',
  'cryptographically_checked',
  'hardware_verified',
] as const;
export type Verdict = (typeof verdicts)[number];

const isVerdict = (word: unknown): boolean => verdicts.some((verdict) => verdict === word);

/** Negative if `left` is weaker, 0 if equal, positive if stronger. Throws `TypeError` for an unknown word. */
export function compareVerdicts(left: Verdict, right: Verdict): number {
  if (isVerdict(left) && isVerdict(right)) return verdicts.indexOf(left) - verdicts.indexOf(right);
  throw new TypeError(`verdicts are ${verdicts.join(', ')}; got ${String(isVerdict(left) ? right : left)}`);
}

/** Whether `verdict` is at least `minimum`. False for an unknown word on either side, which may be misspelt. */
export function meetsVerdict(verdict: Verdict, minimum: Verdict): boolean {
  return isVerdict(verdict) && isVerdict(minimum) && compareVerdicts(verdict, minimum) >= 0;
}

/** One check and its outcome. A `not_made` check has a reason and never raises a verdict. */
export type Check<Name extends string = string> =
  | { readonly name: Name; readonly outcome: 'passed' }
  | { readonly name: Name; readonly outcome: 'failed' | 'not_made'; readonly reason: string };

/** The checks that each rung requires, besides those of the rungs below it. */
export interface Rungs<Name extends string> {
  readonly policy_matched: readonly Name[];
  readonly cryptographically_checked: readonly Name[];
  readonly hardware_verified: readonly Name[];
}

/**
 * The strongest verdict that these checks support. `untrusted` if any failed. Otherwise the highest rung whose checks
 * all passed, together with those of all lower rungs. A check that is missing from the list counts as `not_made`.
 */
export function judge<Name extends string>(checks: readonly Check<Name>[], rungs: Rungs<Name>): Verdict {
  if (checks.some((check) => check.outcome === 'failed')) return 'untrusted';
  const passed = new Set(checks.filter((check) => check.outcome === 'passed').map((check) => check.name));
  let verdict: Verdict = 'untrusted';
  for (const rung of ['policy_matched', 'cryptographically_checked', 'hardware_verified'] as const) {
    if (!rungs[rung].every((name) => passed.has(name))) break;
    verdict = rung;
  }
  return verdict;
}

/** Whether evidence is shown to be up to date, which may be more than its verdict demands. */
export interface Currency<Name extends string = string> {
  /**
   * Whether content may go to the machine now: the verdict is at least `policy_matched`, and its vendor's documents show that nothing is
   * revoked, expired or out of date. A machine that is could leave these documents out.
   */
  readonly isCurrent: boolean;
  /** The checks of the vendor's documents that did not pass. */
  readonly notCurrent: readonly Check<Name>[];
}

/** @param names - the checks of the vendor's documents. One that is missing from the list did not pass. */
export function currencyOf<Name extends string>(
  verdict: Verdict,
  checks: readonly Check<Name>[],
  names: readonly Name[],
): Currency<Name> {
  const notCurrent = names.flatMap((name): Check<Name>[] => {
    const check = checks.find((each) => each.name === name);
    return check?.outcome === 'passed' ? [] : [check ?? { name, outcome: 'not_made', reason: 'it was not made' }];
  });
  return { isCurrent: notCurrent.length === 0 && meetsVerdict(verdict, 'policy_matched'), notCurrent };
}

/** The reason of a check that another one prevented. */
export const isPrevented = 'it depends on a check that did not pass';

/**
 * The checks of one verifier. All of them start as `not_made`. So a check that was forgotten, or that depended on a
 * failed one, appears in the result and does not count as passed.
 */
export class CheckList<Name extends string> {
  readonly #checks: Map<Name, Check<Name>>;

  constructor(names: readonly Name[]) {
    this.#checks = new Map(names.map((name) => [name, { name, outcome: 'not_made', reason: isPrevented }]));
  }

  /**
   * Makes one check. It passes if `check` returns, and its value is returned. A `Refusal` fails it, and an `Unmade`
   * leaves it `not_made`. Any other error fails it without its message, which could quote evidence.
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

  /** All checks, in the order of the constructor's list. */
  list(): Check<Name>[] {
    return [...this.#checks.values()];
  }
}

/**
 * What a verifier concludes, weakest first (interface 3.5). Compare by order, never by string:
 * `unavailable` nothing to look at; `untrusted` looked, and it failed or proved nothing; `policy_matched` what is claimed
 * equals local pins; `cryptographically_checked` the evidence is signed by genuine hardware and bound to our nonce;
 * `hardware_verified` every check on the list passed.
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

/** Negative when `left` is weaker, 0 when equal, positive when stronger. Throws `TypeError` for an unknown word. */
export function compareVerdicts(left: Verdict, right: Verdict): number {
  if (isVerdict(left) && isVerdict(right)) return verdicts.indexOf(left) - verdicts.indexOf(right);
  throw new TypeError(`verdicts are ${verdicts.join(', ')}; got ${String(isVerdict(left) ? right : left)}`);
}

/** Whether `verdict` is at least `minimum`. An unknown word, on either side, may be misspelt: false. */
export function meetsVerdict(verdict: Verdict, minimum: Verdict): boolean {
  return isVerdict(verdict) && isVerdict(minimum) && compareVerdicts(verdict, minimum) >= 0;
}

/** One check and how it ended. A check that could not be made says why, and never raises a verdict. */
export type Check<Name extends string = string> =
  | { readonly name: Name; readonly outcome: 'passed' }
  | { readonly name: Name; readonly outcome: 'failed' | 'not_made'; readonly reason: string };

/** Which checks each rung asks for, besides those of the rungs below it. */
export interface Rungs<Name extends string> {
  readonly policy_matched: readonly Name[];
  readonly cryptographically_checked: readonly Name[];
  readonly hardware_verified: readonly Name[];
}

/**
 * The strongest verdict that these checks carry: `untrusted` as soon as one failed, else the highest rung of which, and
 * of all rungs below which, every check passed. A check that is missing from the list counts as not made.
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

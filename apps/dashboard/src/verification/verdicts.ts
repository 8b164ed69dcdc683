import type { OriginVerification } from '@sotto/client';
import type { Tone } from '../ui/badge.tsx';

/** What a verifier concludes (interface 3.5). */
export type Verdict = OriginVerification['verdict'];

interface VerdictWords {
  readonly name: string;
  /** What it says of the machine that would read content. */
  readonly meaning: string;
  readonly tone: Tone;
}

/** Verdicts as people read them. */
export const verdictWords: Readonly<Record<Verdict, VerdictWords>> = {
  unavailable: {
    name: 'Unavailable',
    meaning: 'There was no evidence to look at.',
    tone: 'neutral',
  },
  untrusted: {
    name: 'Untrusted',
    meaning: 'A check failed, nothing is pinned to compare with, or the evidence is simulated.',
    tone: 'danger',
  },
  policy_matched: {
    name: 'Policy matched',
    meaning: 'Nonce, origin, keys and measurements agree with what is pinned.',
    tone: 'warn',
  },
  cryptographically_checked: {
    name: 'Cryptographically checked',
    meaning: 'And genuine hardware signed it, for a machine that its host cannot look into.',
    tone: 'good',
  },
  hardware_verified: {
    name: 'Hardware verified',
    meaning: 'And it is current: revocation, firmware and the TLS key of the connection.',
    tone: 'good',
  },
};

/** Weakest first: each asks for everything that those before it ask for. */
export const verdictOrder: readonly Verdict[] = [
  'unavailable',
  'untrusted',
  'policy_matched',
  'cryptographically_checked',
  'hardware_verified',
];

/** The weakest verdict on which a browser sends content, which is also the strongest that it can reach. */
export const browserMinimum: Verdict = 'cryptographically_checked';

/** Whether a verdict is at least another. Unknown words never meet, and are never met. */
export const meets = (verdict: Verdict, minimum: Verdict): boolean => {
  const floor = verdictOrder.indexOf(minimum);
  return floor !== -1 && verdictOrder.indexOf(verdict) >= floor;
};

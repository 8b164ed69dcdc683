import type { OriginVerification } from '@sotto/client';
import { ShieldAlert, ShieldCheck, ShieldQuestion } from 'lucide-react';
import { Badge, type Tone } from '../ui/badge.tsx';

/** The conclusion of a verifier. */
export type Verdict = OriginVerification['verdict'];

interface VerdictWords {
  readonly name: string;
  /** The statement about the machine that would read content. */
  readonly meaning: string;
  readonly tone: Tone;
}

/** Names and meanings of the verdicts, for people. */
export const verdictWords: Readonly<Record<Verdict, VerdictWords>> = {
  unavailable: {
    name: 'Unavailable',
    meaning: 'The service returned no evidence.',
    tone: 'neutral',
  },
  untrusted: {
    name: 'Untrusted',
    meaning: 'A check failed, no pins match, or the evidence is simulated.',
    tone: 'danger',
  },
  policy_matched: {
    name: 'Policy matched',
    meaning: 'The evidence is recent and names the keys in use, and its measurements match your pins.',
    tone: 'warn',
  },
  cryptographically_checked: {
    name: 'Cryptographically checked',
    meaning: 'Also, genuine hardware signed the evidence, and the host cannot inspect the machine.',
    tone: 'good',
  },
  hardware_verified: {
    name: 'Hardware verified',
    meaning: 'Also, revocation lists and firmware are current, and the TLS key of the connection is verified.',
    tone: 'good',
  },
};

/** Weakest first: each verdict demands all that the one before it demands. */
export const verdictOrder: readonly Verdict[] = [
  'unavailable',
  'untrusted',
  'policy_matched',
  'cryptographically_checked',
  'hardware_verified',
];

/** The weakest verdict on which a browser sends content, which is also the strongest that it can reach. */
export const browserMinimum: Verdict = 'cryptographically_checked';

/** Whether a verdict is at least as strong as another. An unknown word never is. */
export const meets = (verdict: Verdict, minimum: Verdict): boolean => {
  const floor = verdictOrder.indexOf(minimum);
  return floor !== -1 && verdictOrder.indexOf(verdict) >= floor;
};

/** Whether a browser sends content after such a verification. */
export const isAccepted = ({ verdict, isCurrent }: Pick<OriginVerification, 'verdict' | 'isCurrent'>): boolean =>
  isCurrent && meets(verdict, browserMinimum);

/** A fact about a machine: whether its documents show that nothing is revoked or out of date. */
export const currencyFact = ({ isCurrent }: Pick<OriginVerification, 'isCurrent'>) => ({
  name: 'Up to date',
  value: isCurrent ? 'Yes' : 'Not proven',
});

const size = 'size-3.5';

export function VerdictBadge({ verdict }: { verdict: Verdict }) {
  const { name, meaning, tone } = verdictWords[verdict];
  const icon =
    verdict === 'unavailable' ? (
      <ShieldQuestion aria-hidden className={size} />
    ) : meets(verdict, browserMinimum) ? (
      <ShieldCheck aria-hidden className={size} />
    ) : (
      <ShieldAlert aria-hidden className={size} />
    );
  return (
    <span title={meaning}>
      <Badge tone={tone} icon={icon}>
        {name}
      </Badge>
    </span>
  );
}

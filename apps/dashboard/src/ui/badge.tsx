import type { PrivacyClass } from '@sotto/wire';
import clsx from 'clsx';
import { EyeOff, Lock, ShieldCheck, UserRoundX } from 'lucide-react';
import type { ReactNode } from 'react';

export type Tone = 'neutral' | 'good' | 'warn' | 'danger' | 'info' | 'accent' | 'violet';

const tones: Record<Tone, string> = {
  neutral: 'bg-raised text-muted',
  good: 'bg-good-soft text-good',
  warn: 'bg-warn-soft text-warn',
  danger: 'bg-danger-soft text-danger',
  info: 'bg-info-soft text-info',
  accent: 'bg-accent-soft text-accent-strong',
  violet: 'bg-violet-soft text-violet',
};

/** A word in a colour. The word alone says everything; the colour only helps. */
export function Badge({ tone = 'neutral', icon, children }: { tone?: Tone; icon?: ReactNode; children: ReactNode }) {
  return (
    <span
      className={clsx(
        'inline-flex items-center gap-1 rounded-md px-1.5 py-0.5 text-xs font-medium whitespace-nowrap',
        tones[tone],
      )}
    >
      {icon}
      {children}
    </span>
  );
}

interface Tier {
  readonly name: string;
  /** The promise of the tier, in one sentence. */
  readonly promise: string;
  readonly tone: Tone;
  readonly icon: ReactNode;
}

const icon = 'size-3.5';

/** Privacy tiers as people read them, weakest first. */
export const tiers: Readonly<Record<PrivacyClass, Tier>> = {
  anonymous: {
    name: 'Anonymous',
    promise: 'The provider gets content without your identity, and may keep it.',
    tone: 'neutral',
    icon: <UserRoundX aria-hidden className={icon} />,
  },
  private: {
    name: 'Private',
    promise: 'The provider promises by contract not to keep content or train on it.',
    tone: 'info',
    icon: <EyeOff aria-hidden className={icon} />,
  },
  tee: {
    name: 'TEE',
    promise: 'Content is sent to an enclave only after its attestation was verified.',
    tone: 'accent',
    icon: <ShieldCheck aria-hidden className={icon} />,
  },
  e2ee: {
    name: 'E2EE',
    promise:
      'Your client encrypts content for the attested enclave. The provider’s protocol decides whether a malicious broker could still read it.',
    tone: 'violet',
    icon: <Lock aria-hidden className={icon} />,
  },
};

export function TierBadge({ tier }: { tier: PrivacyClass }) {
  const { name, promise, tone, icon: sign } = tiers[tier];
  return (
    <span title={promise}>
      <Badge tone={tone} icon={sign}>
        {name}
      </Badge>
    </span>
  );
}

export function TierBadges({ of }: { of: readonly PrivacyClass[] }) {
  return (
    <span className="flex flex-wrap gap-1">
      {of.map((tier) => (
        <TierBadge key={tier} tier={tier} />
      ))}
    </span>
  );
}

interface TierPromisesProps {
  readonly of: readonly PrivacyClass[];
  /** More entries of the list. */
  readonly children?: ReactNode;
}

/** Lists what each tier promises. */
export function TierPromises({ of, children }: TierPromisesProps) {
  return (
    <ul className="mt-4 space-y-1 text-sm text-muted">
      {of.map((tier) => (
        <li key={tier}>
          <span className="font-medium text-text">{tiers[tier].name}.</span> {tiers[tier].promise}
        </li>
      ))}
      {children}
    </ul>
  );
}

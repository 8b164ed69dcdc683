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

/** A word about something, never its only sign: the word itself says it, the colour only helps. */
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
  /** What the tier promises, in one sentence (design 6). */
  readonly promise: string;
  readonly tone: Tone;
  readonly icon: ReactNode;
}

const icon = 'size-3.5';

/** Privacy tiers as people read them, weakest first. */
export const tiers: Readonly<Record<PrivacyClass, Tier>> = {
  anonymous: {
    name: 'Anonymous',
    promise: 'The provider gets content without identity, and may keep it.',
    tone: 'neutral',
    icon: <UserRoundX aria-hidden className={icon} />,
  },
  private: {
    name: 'Private',
    promise: 'The provider says by contract that it neither keeps content nor trains on it.',
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
    promise: 'Content is encrypted by your client for the attested enclave; this service relays what it cannot read.',
    tone: 'violet',
    icon: <Lock aria-hidden className={icon} />,
  },
};

/** Privacy tiers, weakest first. */
export const tierOrder: readonly PrivacyClass[] = ['anonymous', 'private', 'tee', 'e2ee'];

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

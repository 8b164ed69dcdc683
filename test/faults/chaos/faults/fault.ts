import { errorOf, type Flow } from '../../../kit/call.ts';
import type { Sent } from '../load.ts';
import type { Rig } from '../rig.ts';

/**
 * What a request came to: `answered` to its end, `cut` short after it began, `none` where no answer came, or an error's
 * status and type.
 */
export type Outcome = 'answered' | 'cut' | 'none' | 'stuck' | `${number} ${string}`;

/** One thing that goes wrong, and what follows from it. */
export interface Fault {
  readonly name: string;
  /** What it happens to. Of a pair that happens at once, each happens to something else. */
  readonly to: 'broker' | 'control' | 'redis' | 'postgres' | 'providers' | 'names' | 'clocks' | 'logs';
  /** How long it lasts before it ends. */
  readonly lastsMs: number;
  /** Whether requests insist on the first provider's being tried first, whatever it did before. */
  readonly inOrder?: boolean;
  begin(rig: Rig): Promise<void>;
  end(rig: Rig): Promise<void>;
  /** What the requests may come to that were under way or begun from its beginning until all is well again. */
  readonly outcomes: Readonly<Record<Flow, readonly Outcome[]>>;
  /** What each plane says of itself in the end, while it lasts; where it says nothing, it does not matter. */
  readonly ready?: { readonly broker?: boolean; readonly control?: boolean };
  /** Whether answers may be lost that had come whole from the provider, and are paid. */
  readonly brokerDies?: boolean;
  /** Whether Redis loses what it had accepted: only the broker that handed it over still knows it then. */
  readonly redisForgets?: boolean;
  /** Why it cannot be had on this machine, and how it could. */
  missing?(rig: Rig): string | undefined;
}

export const served: readonly Outcome[] = ['answered'];
export const unavailable: Outcome = '503 service_unavailable';
/** Whoever needs what is away is told to come back; what is under way goes on. */
export const refused: readonly Outcome[] = ['answered', unavailable];

export function outcomeOf({ called }: Sent): Outcome {
  if (called.ended === 'stuck') return 'stuck';
  if (called.complete) return 'answered';
  if (called.status === undefined) return 'none';
  return called.status === 200 ? 'cut' : `${called.status} ${errorOf(called)?.type ?? 'without an envelope'}`;
}

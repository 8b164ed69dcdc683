import type { Flow } from '../../../kit/client.ts';
import type { Sent } from '../../../kit/load.ts';
import type { Rig } from '../rig.ts';

/**
 * The outcome of a request: `answered` completely, `cut` short after it began, `none` without any answer, `stuck` past
 * its deadline, or an error's status and type.
 */
export type Outcome = 'answered' | 'cut' | 'none' | 'stuck' | `${number} ${string}`;

/** A fault and its permitted effects. */
export interface Fault {
  readonly name: string;
  /** The part that fails. Two faults that happen at once must affect different parts. */
  readonly to: 'broker' | 'control' | 'redis' | 'postgres' | 'providers' | 'names' | 'clocks' | 'logs';
  /** The time before the fault ends. */
  readonly lastsMs: number;
  /** Whether requests ask for the first provider first, whatever it did before. */
  readonly inOrder?: boolean;
  /**
   * When it begins in a pair: first, because `begin` itself needs Redis; or last, because it takes effect at once and must not last
   * longer than `lastsMs` while the other one begins.
   */
  readonly begins?: 'first' | 'last';
  begin(rig: Rig): Promise<void>;
  end(rig: Rig): Promise<void>;
  /** The permitted outcomes of requests that run or start between the beginning of the fault and full recovery. */
  readonly outcomes: Readonly<Record<Flow, readonly Outcome[]>>;
  /** The readiness of each plane at the end of the fault. An absent value is not checked. */
  readonly ready?: { readonly broker?: boolean; readonly control?: boolean };
  /** Whether an answer that arrived completely from the provider may be lost and still be charged. */
  readonly brokerDies?: boolean;
  /** Whether the broker ends and tells Redis first what it has charged, as far as Redis takes it. */
  readonly brokerStops?: boolean;
  /** Returns why this machine cannot run the fault, and how to enable it. */
  missing?(rig: Rig): string | undefined;
}

export const served: readonly Outcome[] = ['answered'];
/** The same outcomes for both flows. */
export const both = (...outcomes: readonly Outcome[]) => ({ outcomes: { compatibility: outcomes, ticket: outcomes } });
export const unavailable: Outcome = '503 service_unavailable';
/** A request that needs the failed part gets a 503 with a retry time; running requests continue. */
export const refused: readonly Outcome[] = ['answered', unavailable];

export function outcomeOf({ called }: Sent): Outcome {
  if (called.ended === 'stuck') return 'stuck';
  if (called.complete) return 'answered';
  if (called.status === 0) return 'none';
  return called.status === 200 ? 'cut' : `${called.status} ${called.error?.type ?? 'without an envelope'}`;
}

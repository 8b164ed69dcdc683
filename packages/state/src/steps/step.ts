import type { Caller } from '../membership/membership.ts';
import type { AdmissionPort, EpochPort, MembershipPort, ProjectionPort } from '../ports/index.ts';

/** The methods of the ports that are one atomic step on one shard. Each has a row of `steps.ts`. */
export type StepPorts = Omit<AdmissionPort, 'lookupKey' | 'sent'> &
  Omit<MembershipPort, 'membership'> &
  Omit<EpochPort, 'isOpen' | 'watchMembers'> &
  Omit<ProjectionPort, 'indexKey' | 'readWallet' | 'readSettlements' | 'watchSettlements' | 'readNotes'>;

export type StepName = keyof StepPorts;
export type Asked<N extends StepName> = Parameters<StepPorts[N]>;

/** The answers of steps whose methods do more. */
interface Further {
  /** Undefined: the state has a newer generation. `before`: the hashes of the secrets that the key had. */
  putKey: { readonly isLacking: boolean | undefined; readonly before: readonly string[] };
  /** Whether there was a record, or is one now that refuses older projections. */
  removeKey: boolean;
}
export type Answer<N extends StepName> = N extends keyof Further ? Further[N] : Awaited<ReturnType<StepPorts[N]>>;

/** Redis gets a bigint in decimal, and undefined as ''. */
export type Argument = string | number | bigint | undefined;

/** The member that takes a step, and the time. `now` is in Unix ms, and empty outside tests, because the scripts use Redis' own clock. */
export interface By {
  readonly client: string;
  readonly now: string;
}

/** What a driver must know of a step. Its script in `redis/scripts` and its method of `memory/shard-state.ts` have its name. */
export interface Step<N extends StepName> {
  /**
   * Only members take steps, and those of `admit` and `settle` need an open epoch. `join` makes a member. `none` is no step of a
   * member, so it is not counted.
   */
  readonly kind: 'admit' | 'settle' | 'project' | 'join' | 'none';
  /** Throws a `RangeError` for a value that is out of bounds. */
  readonly check?: (...asked: Asked<N>) => void;
  /** The values that the script takes, in their order. */
  readonly args: (asked: Asked<N>, by: By) => readonly Argument[];
  readonly reply: (reply: readonly unknown[], asked: Asked<N>, caller: Caller) => Answer<N>;
  /**
   * The steps that were asked for in one turn of the event loop have one call. `common` is the value that they share, and `most` the
   * number of shards of a call if it is no step of a member.
   */
  readonly together?: { readonly common: (now: string) => Argument; readonly most?: number };
}
export type Steps = { readonly [N in StepName]: Step<N> };

export function shardOf([first]: Asked<StepName>): number {
  if (typeof first === 'number') return first;
  return 'wallet' in first ? first.wallet.shard : first.shard;
}

import { randomUUID } from 'node:crypto';
import { shards } from '../shard.ts';
import { StateUnavailableError } from '../unavailable.ts';

/**
 * The caller of a step on a shard. `acked` is the number of the caller's answered steps. A shard that remembers fewer has lost
 * data.
 */
export interface Caller {
  /** One incarnation, which ends when its lease lapses. */
  readonly client: string;
  /** The shard's epoch as the caller knows it. 0: none yet. */
  readonly epoch: number;
  readonly acked: number;
  /** End of the caller's lease at the time of the step, by the shard's clock. */
  readonly leaseUntil: number;
}

/** Reasons why a shard refuses a step. A refused step has no effect. */
export const refusals = [
  /** The shard has lost its epoch or never had one. */
  'not_ready',
  /** The epoch is being rebuilt: processes declare their holds. */
  'not_open',
  /** The caller's epoch has ended, and the caller must join the new one. */
  'new_epoch',
  /** The shard has forgotten answered steps. This ends its epoch. */
  'rolled_back',
  /** The caller has not joined this epoch. */
  'not_joined',
  /** The lease lapsed and the caller's holds may be reaped. The caller begins a new incarnation. */
  'lapsed',
  /** The lease that the caller knows of has ended, but can still be renewed. */
  'unleased',
] as const;
export type Refusal = (typeof refusals)[number];

/** A shard's reply: an answer, the number of the caller's steps that it remembers, and how many of them are new; or a refusal. */
export type Guarded<T> =
  | { readonly count: number; readonly changed: number; readonly answer: T }
  | { readonly refused: Refusal; readonly epoch: number };

const controlPrefix = 'control.';

/** The name of an incarnation of a control plane, which never has holds. */
export const controlClient = (id: string = randomUUID()): string => controlPrefix + id;

const quietPrefix = 'broker.quiet.';

/** The name of an incarnation of a broker. It says that the broker knows quiet tickets. */
export const brokerClient = (id: string = randomUUID()): string => quietPrefix + id;

/** Whether a process of this name serves no tickets, or knows quiet ones. */
export const isQuiet = (client: string): boolean => !mayHold(client) || client.startsWith(quietPrefix);

/** Whether a process of this name can have holds. A rebuild does not wait for others. */
export const mayHold = (client: string): boolean => !client.startsWith(controlPrefix);

interface Member extends Caller {
  readonly joined: boolean;
  /** Number of steps that changed something and were answered. The shard cannot remember fewer. */
  readonly answered: number;
}

const outside = { epoch: 0, acked: 0, answered: 0, leaseUntil: 0, joined: false } as const;

/** A process's membership of every shard: its incarnation, the epoch and the number of answered steps. */
export class Membership {
  readonly #newClient: () => string;
  readonly #members: Member[];
  /** Called when a shard refuses a step, so that the membership is renewed soon. */
  onRefused: (shard: number) => void = () => {};

  /** `newClient` creates the random name of an incarnation. */
  constructor(newClient: () => string) {
    this.#newClient = newClient;
    this.#members = shards.map(() => ({ ...outside, client: newClient() }));
  }

  caller(shard: number): Caller {
    return this.#member(shard);
  }

  isJoined(shard: number): boolean {
    return this.#member(shard).joined;
  }

  /** Whether that caller is still the present one, so that its step may have been or may yet be executed. */
  isCurrent(shard: number, { client, epoch }: Pick<Caller, 'client' | 'epoch'>): boolean {
    const member = this.#member(shard);
    return member.client === client && member.epoch === epoch;
  }

  /** Asserts that the caller of an earlier step is still the present one. Holds of past epochs are removed. */
  assertCurrent(shard: number, caller: Pick<Caller, 'client' | 'epoch'>): void {
    if (!this.isCurrent(shard, caller)) throw new StateUnavailableError('epoch ended');
  }

  joined(shard: number, caller: Caller, leaseUntil: number): void {
    if (!this.isCurrent(shard, caller)) return;
    const member = this.#member(shard);
    this.#members[shard] = { ...member, joined: true, leaseUntil: Math.max(leaseUntil, member.leaseUntil) };
  }

  /** Processes a shard's reply to a step and updates the membership. Throws if the step was refused. */
  take<T>(shard: number, caller: Caller, guarded: Guarded<T>): T {
    if (!('refused' in guarded)) {
      const member = this.#member(shard);
      if (this.isCurrent(shard, caller)) {
        const answered = member.answered + guarded.changed;
        this.#members[shard] = { ...member, answered, acked: Math.max(member.acked, guarded.count, answered) };
      }
      return guarded.answer;
    }
    const { refused, epoch } = guarded;
    this.#refuse(shard, caller, refused, epoch);
    this.onRefused(shard);
    throw new StateUnavailableError(refused.replace('_', ' '));
  }

  #refuse(shard: number, caller: Caller, refused: Refusal, epoch: number): void {
    const member = this.#member(shard);
    switch (refused) {
      case 'new_epoch':
        if (epoch > member.epoch) this.#members[shard] = { ...outside, client: member.client, epoch };
        return;
      case 'lapsed':
        if (this.isCurrent(shard, caller))
          this.#members[shard] = { ...outside, client: this.#newClient(), epoch: member.epoch };
        return;
      case 'not_joined':
      case 'not_ready':
      case 'rolled_back':
        if (this.isCurrent(shard, caller)) this.#members[shard] = { ...member, joined: false };
        return;
      case 'not_open':
      case 'unleased':
        return;
      default:
        refused satisfies never;
    }
  }

  #member(shard: number): Member {
    const member = this.#members[shard];
    if (member === undefined) throw new StateUnavailableError('no such shard');
    return member;
  }
}

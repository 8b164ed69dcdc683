import { randomUUID } from 'node:crypto';
import { newestTicketForm, type TicketForm } from '../envelopes/ticket.ts';
import { shards } from '../shard.ts';
import { StateUnavailableError } from '../unavailable.ts';

/**
 * Who takes a step on a shard, and what of its own the shard must remember. `acked` is how many of the caller's steps
 * were answered: a shard that remembers fewer has lost some, whatever other callers did since.
 */
export interface Caller {
  /** One incarnation: it ends when its lease lapses. */
  readonly client: string;
  /** The shard's epoch as the caller knows it; 0: none yet. */
  readonly epoch: number;
  readonly acked: number;
  /** Until when the caller's lease ran when it took the step, by the shard's clock. */
  readonly leaseUntil: number;
}

/** Why a shard takes no step of a caller. In every case nothing was done. */
export const refusals = [
  /** The shard has lost its epoch, or never had one. */
  'not_ready',
  /** The epoch is being rebuilt: who is alive declares what it holds. */
  'not_open',
  /** The caller's epoch is over; it must join the new one. */
  'new_epoch',
  /** The shard has forgotten what it had answered. Its epoch ended with this. */
  'rolled_back',
  /** The caller has not joined this epoch. */
  'not_joined',
  /** The lease was not renewed in time, and the caller's holds may have been reaped: it begins a new incarnation. */
  'lapsed',
  /** The lease that the caller knew of has run out; it may renew it still. */
  'unleased',
] as const;
export type Refusal = (typeof refusals)[number];

/** What a shard answers: the step's answer with the number of the caller's steps that it remembers, or a refusal. */
export type Guarded<T> =
  | { readonly count: number; readonly changed: boolean; readonly answer: T }
  | { readonly refused: Refusal; readonly epoch: number };

const controlPrefix = 'control.';

/** The name of an incarnation of a control plane: it takes steps, and never sets anything aside. */
export const controlClient = (id: string = randomUUID()): string => controlPrefix + id;

/**
 * The name of an incarnation of a broker. It says the newest form of tickets that the broker reads, so that control mints
 * none that a broker beside it could not open.
 */
export const brokerClient = (id: string = randomUUID()): string => `broker.${newestTicketForm}.${id}`;

/**
 * Returns the newest form of tickets that each of these processes reads. Brokers from before the second form have a name
 * that says nothing. If there is no broker yet, the first to come may be one of those.
 */
export function ticketFormFor(clients: readonly string[]): TicketForm {
  const brokers = clients.filter(mayHold);
  const readsNewest = (client: string): boolean => Number(/^broker\.(\d+)\./.exec(client)?.[1]) >= newestTicketForm;
  return brokers.length > 0 && brokers.every(readsNewest) ? newestTicketForm : 1;
}

/** Whether a process of this name may hold something: if not, nobody need wait for it when a shard begins anew. */
export const mayHold = (client: string): boolean => !client.startsWith(controlPrefix);

interface Standing extends Caller {
  readonly joined: boolean;
  /** Answers here that said a step had changed something: the shard cannot remember fewer. */
  readonly answered: number;
}

const outside = { epoch: 0, acked: 0, answered: 0, leaseUntil: 0, joined: false } as const;

/** What one process knows of its place in every shard (design 5): its incarnation, the epoch, and what was answered. */
export class Membership {
  readonly #newClient: () => string;
  readonly #standings: Standing[];
  /** Called where a shard refused a step: the place in it is to be looked after soon. */
  onRefused: (shard: number) => void = () => {};

  /** `newClient` makes the random name of an incarnation. */
  constructor(newClient: () => string) {
    this.#newClient = newClient;
    this.#standings = shards.map(() => ({ ...outside, client: newClient() }));
  }

  caller(shard: number): Caller {
    return this.#standing(shard);
  }

  isJoined(shard: number): boolean {
    return this.#standing(shard).joined;
  }

  /** Whether a step of that caller could still be carried out, or could have been, as the caller's who asks now. */
  isCurrent(shard: number, { client, epoch }: Pick<Caller, 'client' | 'epoch'>): boolean {
    const standing = this.#standing(shard);
    return standing.client === client && standing.epoch === epoch;
  }

  /** For answers that count only in the epoch they were given in: a hold of an epoch that is over was taken off. */
  assertCurrent(shard: number, caller: Caller): void {
    if (!this.isCurrent(shard, caller)) throw new StateUnavailableError('epoch ended');
  }

  joined(shard: number, caller: Caller, leaseUntil: number): void {
    if (!this.isCurrent(shard, caller)) return;
    const standing = this.#standing(shard);
    this.#standings[shard] = { ...standing, joined: true, leaseUntil: Math.max(leaseUntil, standing.leaseUntil) };
  }

  /** Takes a shard's answer to a step: notes what it says of the caller's place. Throws where it was refused. */
  take<T>(shard: number, caller: Caller, guarded: Guarded<T>): T {
    if (!('refused' in guarded)) {
      const standing = this.#standing(shard);
      if (this.isCurrent(shard, caller)) {
        const answered = standing.answered + (guarded.changed ? 1 : 0);
        this.#standings[shard] = { ...standing, answered, acked: Math.max(standing.acked, guarded.count, answered) };
      }
      return guarded.answer;
    }
    const { refused, epoch } = guarded;
    this.#refuse(shard, caller, refused, epoch);
    this.onRefused(shard);
    throw new StateUnavailableError(refused.replace('_', ' '));
  }

  #refuse(shard: number, caller: Caller, refused: Refusal, epoch: number): void {
    const standing = this.#standing(shard);
    switch (refused) {
      case 'new_epoch':
        if (epoch > standing.epoch) this.#standings[shard] = { ...outside, client: standing.client, epoch };
        return;
      case 'lapsed':
        if (this.isCurrent(shard, caller))
          this.#standings[shard] = { ...outside, client: this.#newClient(), epoch: standing.epoch };
        return;
      case 'not_joined':
      case 'not_ready':
      case 'rolled_back':
        if (this.isCurrent(shard, caller)) this.#standings[shard] = { ...standing, joined: false };
        return;
      case 'not_open':
      case 'unleased':
        return;
      default:
        refused satisfies never;
    }
  }

  #standing(shard: number): Standing {
    const standing = this.#standings[shard];
    if (standing === undefined) throw new StateUnavailableError('no such shard');
    return standing;
  }
}

import { randomBytes } from 'node:crypto';
import type { Settler } from '@sotto/control';
import {
  controlClient,
  createMemoryState,
  type EpochKeeper,
  generationOf,
  type HoldBook,
  type LeaseKeeper,
  MemoryStore,
  type ShardData,
  type State,
  StateUnavailableError,
} from '@sotto/state';
import { Random } from '../../kit/random.ts';
import { type SimulatedAccount, type SimulatedKey, SimulatedLedger } from './ledger.ts';
import { Network, type Process } from './network.ts';
import type { JudgedRequest } from './rules.ts';

/** Probabilities of faults, for each step or message. */
export interface Faults {
  readonly lose: number;
  readonly late: number;
  readonly repeat: number;
  readonly crash: number;
  /** Redis continues from an older replica. */
  readonly failOver: number;
  /** Redis loses everything. */
  readonly wipe: number;
  /** The clock leaps, or a stalled process resumes, by more than a lease. */
  readonly leap: number;
  /** The number of control planes. Default: 1. */
  readonly controls?: number;
}

export const shard = 0;
export const shards = [shard];
/** Low, so that brokers reach this limit of settlements that the ledger has not booked. */
export const mostPending = 9;
export const macKey = randomBytes(32);
export const refKey = randomBytes(32);
export const firstGeneration = generationOf(1, 1);

export interface Request extends JudgedRequest {
  readonly broker: Broker;
  readonly accountRef: string;
}

export interface Broker {
  readonly process: Process;
  readonly state: State;
  readonly book: HoldBook;
  readonly leases: LeaseKeeper;
  readonly running: Set<string>;
  reconciledAt: number;
}
export interface Control {
  readonly process: Process;
  readonly state: State;
  readonly settler: Settler;
  readonly epochs: EpochKeeper;
  readonly leases: LeaseKeeper;
  readonly running: Set<string>;
  /** Carries calls to Postgres, and calls that wait there for the locks of a withdrawal. */
  readonly database: Carrier;
  readonly locked: Carrier;
}
export type Carrier = <T>(run: () => T) => Promise<T>;

/**
 * The ground on which every actor of a simulated world acts: the clock, the network, Redis, the ledger and the requests. One seed drives it.
 */
export class Ground {
  readonly random: Random;
  readonly network: Network;
  readonly ledger = new SimulatedLedger();
  readonly faults: Faults;
  /** Whether brokers declare what they hold. */
  readonly declares: boolean;
  /** Whether control withdraws with a reservation. */
  readonly reserves: boolean;
  /** A minute before a month ends, so that holds are placed in one month and settled in the next. */
  now = Date.parse('2027-01-31T23:59:00Z');
  readonly store = new MemoryStore(() => this.now);
  replicas: ShardData[] = [];
  readonly brokers: Broker[] = [];
  readonly controls: Control[] = [];
  readonly requests = new Map<string, Request>();
  readonly open = new Set<Request>();
  readonly tickets: { readonly hash: string; readonly key: SimulatedKey; uses: number }[] = [];
  /** A replica took over, and a living process has not yet noticed what Redis lost. */
  dirty = false;
  /** How often Redis has lost data. */
  losses = 0;
  names = 0;
  readonly seen = new Map<string, number>();

  constructor(seed: number, faults: Faults, { declares, reserves }: { declares: boolean; reserves: boolean }) {
    this.declares = declares;
    this.reserves = reserves;
    this.random = new Random(seed);
    this.network = new Network(this.random);
    this.faults = faults;
  }

  get shard() {
    return this.store.shard(shard);
  }

  account(): SimulatedAccount {
    const account = this.random.pick(this.ledger.accounts);
    if (account === undefined) throw new Error('no account');
    return account;
  }

  name(kind: string): string {
    this.names += 1;
    return `${kind}-${this.names}`;
  }

  note(what: string): void {
    this.seen.set(what, (this.seen.get(what) ?? 0) + 1);
  }

  stateOf(process: Process): State {
    const state = createMemoryState({
      store: this.store,
      newClient: () => (process.name === 'control' ? controlClient(this.name('')) : this.name(process.name)),
      carry: this.network.carrier(process, 'Redis'),
    });
    // Ending holds of living brokers excuses their later charges: their leases had lapsed.
    return {
      ...state,
      reap: (at, graceMs) =>
        this.network.carrier(
          process,
          'Redis',
        )(() => {
          const before = [...this.shard.contents.holds.keys()];
          const count = this.store.shard(at).reap([at, graceMs]);
          if (count > 0) {
            const { holds } = this.shard.contents;
            for (const id of before) if (!holds.has(id)) this.excuse(id);
            this.note('reaped');
          }
          return count;
        }),
    };
  }

  excuse(holdId: string): void {
    const request = this.requests.get(holdId);
    if (request !== undefined) request.excused = true;
  }

  /** Runs a task unless it is already running, as in production. */
  once(running: Set<string>, name: string, task: () => Promise<unknown>): void {
    if (running.has(name)) return;
    running.add(name);
    task()
      .catch((error: unknown) => {
        if (!(error instanceof StateUnavailableError)) throw error;
      })
      .finally(() => running.delete(name));
  }
}

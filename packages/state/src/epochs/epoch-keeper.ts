import type { AccountRef } from '../envelopes/account-ref.ts';
import { verifyDeclaration } from '../envelopes/declaration.ts';
import type { Keys } from '../envelopes/sealing.ts';
import { verifyBookable } from '../envelopes/settlement.ts';
import { joinShard, leaseGraceMs, leaseMs } from '../membership/lease-keeper.ts';
import { isQuiet, mayHold } from '../membership/membership.ts';
import type {
  Declared,
  EpochPort,
  MembershipPort,
  ProjectionPort,
  RestoredAmount,
  ShardMembers,
} from '../ports/index.ts';
import { shards as allShards } from '../shard.ts';
import { forAllReachable, forEachReachable, StateUnavailableError } from '../unavailable.ts';

/** In what an amount counts. */
export type AmountOwner = Pick<RestoredAmount, 'walletId' | 'keyHash' | 'budgetIds'>;

/** Facts that a rebuild needs and that the shared state may have lost. */
export interface EpochLedger {
  /** The newest epoch of a shard that was ever recorded. 0: none yet. */
  epochOf(shard: number): Promise<number>;
  /** Called before an epoch is opened. Never decreases. */
  recordEpoch(shard: number, epoch: number): Promise<void>;
  /** Stores the clients of the shards, so that a rebuild knows whom to wait for if a shard loses everything. */
  noteClients(clients: ReadonlyMap<number, readonly string[]>): Promise<void>;
  /**
   * Clients that were noted when the shard was last open, or within `withinMs` before. While it is not open, no clients are noted.
   * Empty for a shard that was last open over ten minutes ago.
   */
  clientsSeen(shard: number, withinMs: number): Promise<readonly string[]>;
  /** Decrypts a reference. Returns undefined if control did not encrypt it. */
  openRef(accountRef: string): AccountRef | undefined;
  /** Returns the wallets, keys and budgets of references. Unknown ones are omitted. */
  attribute(refs: readonly AccountRef[]): Promise<ReadonlyMap<AccountRef, AmountOwner>>;
  /** Returns those of these holds whose charges the ledger has booked, or never will, because the operator has dismissed them. */
  endedOf(holdIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** Books the shard's stream to its end. */
  drain(shard: number): Promise<void>;
  /** Writes the wallets, keys, preferences and budgets of these shards. Returns a failure of each shard that lacks one and so must not open. */
  project(shards: ReadonlySet<number>): Promise<ReadonlyMap<number, unknown>>;
}

export interface EpochKeeperDependencies {
  readonly state: EpochPort & MembershipPort & Pick<ProjectionPort, 'readNotes' | 'forget'>;
  readonly ledger: EpochLedger;
  /** The brokers' key for declarations. */
  readonly macKey: Keys;
  /** Monotonic clock in ms. */
  readonly now: () => number;
  /** True if no other process can have holds. Then a rebuild waits for none. */
  readonly isAlone: boolean;
  /** The shards to maintain. Default: all. Simulations use fewer. */
  readonly shards?: readonly number[];
  readonly onOpened: (shards: readonly number[]) => void;
  readonly onUndeclared: (shard: number, clients: readonly string[]) => void;
  readonly onUnreadable: (shard: number, reason: 'mac' | 'form' | 'account') => void;
}

const noteEveryMs = 10_000;
const sweepEveryMs = 30_000;

/**
 * Maintains the epochs of the shards. A new shard, or one that lost data, gets a new epoch: control books its stream, writes
 * wallets and keys from the ledger, and restores the holds that running processes declare. Only then does money move. A process
 * that declares too late is admitted later by itself. The record docs/decisions/shared-state.md explains this.
 *
 * Several control planes may do this at once, and each may stop at any step. Every step is idempotent within its epoch, and its
 * script compares the epoch's number.
 */
export class EpochKeeper {
  readonly #deps: EpochKeeperDependencies;
  /** When this process first saw each unopened epoch. */
  readonly #since = new Map<number, { readonly epoch: number; readonly at: number }>();
  #noted = '';
  #notedAt = Number.NEGATIVE_INFINITY;
  #sweptAt = Number.NEGATIVE_INFINITY;
  isSettled = false;
  /** Whether every broker knew quiet tickets when this process last looked, at most some seconds ago. */
  areBrokersQuiet = false;

  constructor(deps: EpochKeeperDependencies) {
    this.#deps = deps;
  }

  /** Advances every shard by one step. Called when a process joins, every few seconds, and more often while shards are not open. */
  async maintain(): Promise<void> {
    const { state, ledger, onOpened, now, isAlone, shards = allShards } = this.#deps;
    const ready = new Map<number, ShardMembers & { readonly epoch: number }>();
    const clients = new Map<number, readonly string[]>();
    let open = 0;
    const notSeen = await forAllReachable(shards, async (shard) => {
      const members = await this.#begun(shard);
      if (members === undefined) return;
      const { epoch, isOpen } = members;
      if (isOpen) {
        this.#since.delete(shard);
        open += 1;
        clients.set(shard, members.clients);
        for (const declared of members.declared) await this.#admit(shard, epoch, declared);
        return;
      }
      await ledger.recordEpoch(shard, epoch);
      await joinShard(state, shard, () => undefined);
      await ledger.drain(shard);
      if (await this.#areAllHere(shard, members)) ready.set(shard, members);
    });
    let notProjected: ReadonlyMap<number, unknown> = new Map();
    let notOpened: StateUnavailableError | undefined;
    if (ready.size > 0) {
      notProjected = await ledger.project(new Set(ready.keys()));
      for (const shard of notProjected.keys()) ready.delete(shard);
      const opened: number[] = [];
      notOpened = await forEachReachable(ready, async ([shard, { epoch }]) => {
        const { clients: joined, declared } = await state.readMembers(shard);
        for (const each of declared) await this.#admit(shard, epoch, each);
        // Before money moves, store the clients that a rebuild must wait for if this epoch ends.
        const here = [...joined, ...declared.map(({ client }) => client)];
        await ledger.noteClients(new Map([[shard, here]]));
        this.#assertIn(shard, epoch);
        await state.openEpoch(shard);
        open += 1;
        opened.push(shard);
      });
      if (opened.length > 0) onOpened(opened);
    }
    this.isSettled = open === shards.length;
    const all = [...clients.values()].flat();
    this.areBrokersQuiet = all.every(isQuiet);
    const names = all.sort().join(' ');
    // A rebuild that waits for nobody needs no list of clients.
    if (!isAlone && (names !== this.#noted || now() - this.#notedAt >= noteEveryMs)) {
      await ledger.noteClients(clients);
      this.#noted = names;
      this.#notedAt = now();
    }
    let notSwept: StateUnavailableError | undefined;
    if (now() - this.#sweptAt >= sweepEveryMs) {
      this.#sweptAt = now();
      notSwept = await forEachReachable(clients.keys(), (shard) => this.#sweepNotes(shard));
    }
    const [failure] = [notSeen, ...notProjected.values(), notOpened, notSwept].filter((error) => error !== undefined);
    if (failure !== undefined) throw failure;
  }

  /** Returns the members of a shard's epoch. Begins an epoch if there is none or the present one is outdated. */
  async #begun(shard: number): Promise<(ShardMembers & { readonly epoch: number }) | undefined> {
    const { state } = this.#deps;
    const members = await state.readMembers(shard);
    const { epoch } = members;
    const known = await this.#knownEpoch(shard, epoch);
    if (epoch !== undefined && epoch >= known) return { ...members, epoch };
    // A failover to a replica brought back an older epoch.
    if (epoch !== undefined) await state.discardEpoch(shard, epoch);
    if (!(await state.beginEpoch(shard, known + 1))) return undefined;
    return { epoch: known + 1, isOpen: false, clients: [], gone: [], declared: [] };
  }

  readonly #known = new Map<number, number>();

  /** Returns the newest epoch. Queries the ledger only if the shard's epoch has changed. */
  async #knownEpoch(shard: number, epoch: number | undefined): Promise<number> {
    const known = this.#known.get(shard);
    if (known !== undefined && known === epoch) return known;
    const recorded = await this.#deps.ledger.epochOf(shard);
    this.#known.set(shard, recorded);
    return recorded;
  }

  /** Whether every process that was alive at the end of the previous epoch has joined, has declared, or had enough time to. */
  async #areAllHere(shard: number, { epoch, clients, declared }: ShardMembers & { epoch: number }): Promise<boolean> {
    const { state, ledger, now, isAlone, onUndeclared } = this.#deps;
    if (isAlone) return true;
    const since = this.#since.get(shard);
    if (since?.epoch !== epoch) this.#since.set(shard, { epoch, at: now() });
    const waitedMs = since?.epoch === epoch ? now() - since.at : 0;
    const here = new Set([state.membership.caller(shard).client, ...clients, ...declared.map(({ client }) => client)]);
    const seen = await ledger.clientsSeen(shard, leaseMs + leaseGraceMs);
    // A dead control plane has nothing to declare, so waiting for it would only delay the others.
    const missing = seen.filter((client) => mayHold(client) && !here.has(client));
    if (missing.length === 0) return true;
    if (waitedMs < leaseMs) return false;
    onUndeclared(shard, missing);
    return true;
  }

  async #admit(shard: number, epoch: number, declared: Declared): Promise<void> {
    const { state, ledger, macKey, onUnreadable } = this.#deps;
    const declaration = verifyDeclaration(macKey, declared);
    if (typeof declaration === 'string') return onUnreadable(shard, declaration);
    const isOurs = declaration.client === declared.client && declaration.shard === shard && declaration.epoch === epoch;
    if (!isOurs) return onUnreadable(shard, 'mac');
    const charges = declaration.charges.flatMap((entry) => {
      // The settler sets aside what only another version can book. Until then its note counts.
      const settlement = verifyBookable(macKey, entry);
      if (settlement === undefined) onUnreadable(shard, 'mac');
      return settlement === undefined ? [] : [{ entry, ...settlement, nusd: settlement.chargeNusd }];
    });
    const ended = await ledger.endedOf(charges.map(({ id }) => id));
    const restored = {
      leaseMs,
      holds: await this.#attribute(shard, declaration.holds),
      charges: await this.#attribute(
        shard,
        charges.filter(({ id }) => !ended.has(id)),
      ),
    };
    this.#assertIn(shard, epoch);
    await state.admitDeclared(shard, declared.client, restored);
  }

  /**
   * Asserts the epoch before a step. This process's lease may have moved to an epoch that another control plane began, in which
   * only part of the wallets is written.
   */
  #assertIn(shard: number, epoch: number): void {
    if (this.#deps.state.membership.caller(shard).epoch !== epoch) throw new StateUnavailableError('epoch ended');
  }

  /** Attributes amounts to their accounts. Amounts of unknown accounts are omitted. */
  async #attribute<
    T extends {
      readonly id: string;
      readonly nusd: string;
      readonly accountRef: string;
      readonly month: string;
    },
  >(shard: number, amounts: readonly T[]): Promise<(T & RestoredAmount)[]> {
    const { ledger, onUnreadable } = this.#deps;
    const refs = amounts.map(({ accountRef }) => ledger.openRef(accountRef));
    const owners = await ledger.attribute(refs.filter((ref) => ref !== undefined));
    return amounts.flatMap((amount, at) => {
      const ref = refs[at];
      const owner = ref === undefined ? undefined : owners.get(ref);
      if (owner === undefined) {
        onUnreadable(shard, 'account');
        return [];
      }
      const { id: holdId, nusd } = amount;
      return [{ ...amount, holdId, ...owner, amountNusd: BigInt(nusd) }];
    });
  }

  /**
   * Removes notes of charges that are booked or dismissed. The settler removes them when it books. A dismissal is known to the ledger alone. And if a charge is booked between the query of the
   * ledger and the placing of its note, and its broker dies, no other process removes the note. Balances are written first, because
   * a charge with neither a note nor a new balance would not count.
   */
  async #sweepNotes(shard: number): Promise<void> {
    const { state, ledger } = this.#deps;
    const noted = await state.readNotes(shard);
    if (noted.length === 0) return;
    const ended = [...(await ledger.endedOf(noted))];
    if (ended.length === 0) return;
    const notProjected = await ledger.project(new Set([shard]));
    if (notProjected.has(shard)) throw notProjected.get(shard);
    await state.forget(shard, ended);
  }
}

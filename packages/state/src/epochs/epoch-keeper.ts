import type { AccountRef } from '../envelopes/account-ref.ts';
import { verifyDeclaration } from '../envelopes/declaration.ts';
import type { Keys } from '../envelopes/keys.ts';
import { verifySettlement } from '../envelopes/settlement.ts';
import { newestTicketForm, type TicketForm } from '../envelopes/ticket.ts';
import { joinShard, leaseGraceMs, leaseMs } from '../membership/lease-keeper.ts';
import { mayHold, ticketFormFor } from '../membership/membership.ts';
import type { Declared, EpochPort, MembershipPort, ProjectionPort, RestoredAmount, ShardMembers } from '../ports.ts';
import { shards as allShards } from '../shard.ts';
import { forEachReachable, StateUnavailableError } from '../unavailable.ts';

/** What a rebuild needs to know that the shared state may have lost. */
export interface EpochLedger {
  /** The newest epoch of a shard that was ever to be opened; 0: none yet. */
  epochOf(shard: number): Promise<number>;
  /** Called before an epoch is opened; never goes back. */
  recordEpoch(shard: number, epoch: number): Promise<void>;
  /** Keeps who is in the shards, to know whom to wait for should a shard lose everything. */
  noteClients(clients: ReadonlyMap<number, readonly string[]>): Promise<void>;
  /**
   * Those who were noted when the shard was open last, or within `withinMs` before: while it is not open nobody is
   * noted, however long that takes. Of a shard that was open last over ten minutes ago, nobody.
   */
  clientsSeen(shard: number, withinMs: number): Promise<readonly string[]>;
  /** Opens a sealed reference; undefined where it was not sealed by control. */
  openRef(accountRef: string): AccountRef | undefined;
  /** The wallet and the key behind references; what is unknown is left out. */
  attribute(
    refs: readonly AccountRef[],
  ): Promise<ReadonlyMap<AccountRef, { readonly walletId: string; readonly keyHash: string }>>;
  /** Which of these holds' charges are in the ledger. */
  bookedOf(holdIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** Books what the shard's stream has, to its end. */
  drain(shard: number): Promise<void>;
  /** Writes the wallets and keys of these shards. */
  project(shards: ReadonlySet<number>): Promise<void>;
}

export interface EpochKeeperDependencies {
  readonly state: EpochPort & MembershipPort & Pick<ProjectionPort, 'readNotes' | 'forget'>;
  readonly ledger: EpochLedger;
  /** The brokers' key for what they declare. */
  readonly macKey: Keys;
  /** A clock in ms that never jumps. */
  readonly now: () => number;
  /** True where there can be no other process that holds anything: nobody is waited for. */
  readonly isAlone: boolean;
  /** The shards to keep; all, but for simulations. */
  readonly shards?: readonly number[];
  readonly onOpened: (shards: readonly number[]) => void;
  readonly onUndeclared: (shard: number, clients: readonly string[]) => void;
  readonly onUnreadable: (shard: number, reason: 'mac' | 'account') => void;
}

const noteEveryMs = 3_000;
const sweepEveryMs = 30_000;

/**
 * Gives each shard its epochs (design 5). A shard that is new, or has lost something, gets a new one: what is in its
 * stream is booked, wallets and keys are written from the ledger, and what living processes hold is placed again as
 * they declare it. Only then does money move. One that comes too late is let in later, by itself.
 *
 * Any number of control planes may do this at once, and each may stop anywhere: every step is idempotent within its
 * epoch, and the epoch's number is compared by the script that takes it.
 */
export class EpochKeeper {
  readonly #deps: EpochKeeperDependencies;
  /** When each epoch that is not open was first seen here. */
  readonly #since = new Map<number, { readonly epoch: number; readonly at: number }>();
  #noted = '';
  #notedAt = Number.NEGATIVE_INFINITY;
  #sweptAt = Number.NEGATIVE_INFINITY;
  readonly #ticketForms = new Map<number, TicketForm>();
  isSettled = false;

  constructor(deps: EpochKeeperDependencies) {
    this.#deps = deps;
  }

  /**
   * The form in which to mint tickets: the newest that every broker reads that is in a shard, or was in the last day. So a
   * broker that restarts, or goes back to the version before, can still open what clients hold.
   */
  get ticketForm(): TicketForm {
    const { shards = allShards } = this.#deps;
    return shards.every((shard) => this.#ticketForms.get(shard) === newestTicketForm) ? newestTicketForm : 1;
  }

  /** Looks at every shard and does what is to be done. Called twice a second, and more often while not settled. */
  async maintain(): Promise<void> {
    const { state, ledger, onOpened, now, shards = allShards } = this.#deps;
    const ready = new Map<number, ShardMembers & { readonly epoch: number }>();
    const clients = new Map<number, readonly string[]>();
    let open = 0;
    const notSeen = await forEachReachable(shards, async (shard) => {
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
    let notOpened: StateUnavailableError | undefined;
    if (ready.size > 0) {
      await ledger.project(new Set(ready.keys()));
      const opened: number[] = [];
      notOpened = await forEachReachable(ready, async ([shard, { epoch }]) => {
        const { clients: joined, declared } = await state.readMembers(shard);
        for (const each of declared) await this.#admit(shard, epoch, each);
        // Before money moves it must be known whom to wait for, should this epoch end.
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
    const names = [...clients.values()].flat().sort().join(' ');
    if (names !== this.#noted || now() - this.#notedAt >= noteEveryMs) {
      await ledger.noteClients(clients);
      this.#noted = names;
      this.#notedAt = now();
    }
    if (now() - this.#sweptAt >= sweepEveryMs) {
      this.#sweptAt = now();
      for (const shard of clients.keys()) await this.#sweepNotes(shard);
    }
    const failure = notSeen ?? notOpened;
    if (failure !== undefined) throw failure;
  }

  /** The members of a shard's epoch, which is begun where there is none, or only one that is over. */
  async #begun(shard: number): Promise<(ShardMembers & { readonly epoch: number }) | undefined> {
    const { state } = this.#deps;
    const members = await state.readMembers(shard);
    const { epoch, clients, gone, declared } = members;
    this.#ticketForms.set(shard, ticketFormFor([...clients, ...gone, ...declared.map(({ client }) => client)]));
    const known = await this.#knownEpoch(shard, epoch);
    if (epoch !== undefined && epoch >= known) return { ...members, epoch };
    // An older epoch came back with a replica: nobody may have noticed yet.
    if (epoch !== undefined) await state.discardEpoch(shard, epoch);
    if (!(await state.beginEpoch(shard, known + 1))) return undefined;
    return { epoch: known + 1, isOpen: false, clients: [], gone: [], declared: [] };
  }

  readonly #known = new Map<number, number>();

  /** The newest epoch; the ledger is asked only where the shard's is not the one that was last seen. */
  async #knownEpoch(shard: number, epoch: number | undefined): Promise<number> {
    const known = this.#known.get(shard);
    if (known !== undefined && known === epoch) return known;
    const recorded = await this.#deps.ledger.epochOf(shard);
    this.#known.set(shard, recorded);
    return recorded;
  }

  /** Whether everyone who was alive when the epoch before ended is in, has declared, or has had the time to. */
  async #areAllHere(shard: number, { epoch, clients, declared }: ShardMembers & { epoch: number }): Promise<boolean> {
    const { state, ledger, now, isAlone, onUndeclared } = this.#deps;
    if (isAlone) return true;
    const since = this.#since.get(shard);
    if (since?.epoch !== epoch) this.#since.set(shard, { epoch, at: now() });
    const waitedMs = since?.epoch === epoch ? now() - since.at : 0;
    const here = new Set([state.membership.caller(shard).client, ...clients, ...declared.map(({ client }) => client)]);
    const seen = await ledger.clientsSeen(shard, leaseMs + leaseGraceMs);
    // A control plane that died has nothing to declare: waiting for it would only keep everybody out.
    const missing = seen.filter((client) => mayHold(client) && !here.has(client));
    if (missing.length === 0) return true;
    if (waitedMs < leaseMs) return false;
    onUndeclared(shard, missing);
    return true;
  }

  async #admit(shard: number, epoch: number, declared: Declared): Promise<void> {
    const { state, ledger, macKey, onUnreadable } = this.#deps;
    const declaration = verifyDeclaration(macKey, declared);
    const isOurs =
      declaration !== undefined &&
      declaration.client === declared.client &&
      declaration.shard === shard &&
      declaration.epoch === epoch;
    if (!isOurs) return onUnreadable(shard, 'mac');
    const charges = declaration.charges.flatMap((entry) => {
      const settlement = verifySettlement(macKey, entry);
      if (settlement === undefined) onUnreadable(shard, 'mac');
      return settlement === undefined ? [] : [{ entry, ...settlement, nusd: settlement.chargeNusd }];
    });
    const booked = await ledger.bookedOf(charges.map(({ id }) => id));
    const restored = {
      leaseMs,
      holds: await this.#attribute(shard, declaration.holds),
      charges: await this.#attribute(
        shard,
        charges.filter(({ id }) => !booked.has(id)),
      ),
    };
    this.#assertIn(shard, epoch);
    await state.admitDeclared(shard, declared.client, restored);
  }

  /**
   * A step is taken in the epoch that this process is in by now: its lease may have followed into one that another
   * control plane began, and into which only a part of the wallets was written.
   */
  #assertIn(shard: number, epoch: number): void {
    if (this.#deps.state.membership.caller(shard).epoch !== epoch) throw new StateUnavailableError('epoch ended');
  }

  /** Says whose amounts are; those of nobody that the ledger knows are left out. */
  async #attribute<T extends { readonly id: string; readonly nusd: string; readonly accountRef: string }>(
    shard: number,
    amounts: readonly T[],
  ): Promise<(T & RestoredAmount)[]> {
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
      return [{ ...amount, holdId: amount.id, ...owner, amountNusd: BigInt(amount.nusd) }];
    });
  }

  /**
   * Takes off notes of charges that are booked. The settler does so as it books; but a charge that is booked between a
   * look at the ledger and the placing of its note, while the broker that declared it dies, nobody books again.
   * The balances come first: without its note and with the old balance a charge would count for nothing.
   */
  async #sweepNotes(shard: number): Promise<void> {
    const { state, ledger } = this.#deps;
    const noted = await state.readNotes(shard);
    if (noted.length === 0) return;
    const booked = [...(await ledger.bookedOf(noted))];
    if (booked.length === 0) return;
    await ledger.project(new Set([shard]));
    await state.forget(shard, booked);
  }
}

// Longer than 400 lines, because every step, fault and judgement acts on the same private state, which one seed drives.

import { randomBytes } from 'node:crypto';
import { Settler } from '@sotto/control';
import {
  type AccountRef,
  type AmountOwner,
  controlClient,
  createMemoryState,
  EpochKeeper,
  emptyShard,
  generationOf,
  HoldBook,
  LeaseKeeper,
  leaseGraceMs,
  MemoryStore,
  monthOf,
  openAccountRef,
  type Right,
  type Settlement,
  type ShardData,
  type State,
  StateUnavailableError,
  sealAccountRef,
  shownGeneration,
  signSettlement,
} from '@sotto/state';
import { initialPreferences } from '@sotto/wire';
import { Random } from '../../kit/random.ts';
import { fundsOf, type SimulatedAccount, type SimulatedKey, SimulatedLedger } from './ledger.ts';
import { Network, type Process } from './network.ts';
import { Broken, type Judged, type JudgedRequest, judgeLedger, judgeRest, judgeShard } from './rules.ts';

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

const shard = 0;
const shards = [shard];
/** Low, so that brokers reach this limit of settlements that the ledger has not booked. */
const mostPending = 9;
const macKey = randomBytes(32);
const refKey = randomBytes(32);
const firstGeneration = generationOf(1, 1);

interface Request extends JudgedRequest {
  readonly broker: Broker;
  readonly accountRef: string;
}

interface Broker {
  readonly process: Process;
  readonly state: State;
  readonly book: HoldBook;
  readonly leases: LeaseKeeper;
  readonly running: Set<string>;
  reconciledAt: number;
}
interface Control {
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
type Carrier = <T>(run: () => T) => Promise<T>;

/** The age at which `endReservations` of apps/control takes a reservation, in ms. */
const reservedMs = 30_000;

/**
 * Two brokers, one or more control planes, Redis and Postgres in one thread. It runs the production code on a network
 * and a clock that a seed drives. Throws at the first step after which a rule about money does not hold.
 */
export class World {
  readonly #random: Random;
  readonly #network: Network;
  readonly #ledger = new SimulatedLedger();
  readonly #faults: Faults;
  readonly #declares: boolean;
  readonly #reserves: boolean;
  /** A minute before a month ends, so that holds are placed in one month and settled in the next. */
  #now = Date.parse('2027-01-31T23:59:00Z');
  readonly #store = new MemoryStore(() => this.#now);
  #replicas: ShardData[] = [];
  #brokers: Broker[] = [];
  readonly #controls: Control[];
  readonly #requests = new Map<string, Request>();
  readonly #open = new Set<Request>();
  readonly #tickets: { readonly hash: string; readonly key: SimulatedKey; uses: number }[] = [];
  /** A replica took over, and a living process has not yet noticed what Redis lost. */
  #dirty = false;
  /** How often Redis has lost data. */
  #losses = 0;
  #names = 0;
  readonly seen = new Map<string, number>();
  step = 0;

  /**
   * With `declares: false`, brokers do not declare what they hold. With `reserves: false`, control withdraws without a reservation.
   * The rules must find these faults.
   */
  constructor(seed: number, faults: Faults, { declares = true, reserves = true } = {}) {
    this.#declares = declares;
    this.#reserves = reserves;
    this.#random = new Random(seed);
    this.#network = new Network(this.#random);
    this.#faults = faults;
    for (let index = 0; index < 2; index += 1) {
      const account: SimulatedAccount = {
        ...{ accountId: uuid(index), walletId: `wallet-${index}`, shard },
        ...{ balanceNusd: 0n, version: 0, toppedUpNusd: 0n, withdrawnNusd: 0n },
        // The first account has a budget from the beginning, the second gets one later.
        budget: {
          ...{ budgetId: `workspace:${index}`, limitNusd: undefined, version: 0, spent: new Map() },
          highestNusd: index === 0 ? 0n : undefined,
        },
      };
      this.#ledger.accounts.push(account);
      this.#ledger.topUp(account, 1000n);
      if (index === 0) this.#ledger.setBudget(account, 300n);
      for (const limitNusd of [undefined, 300n]) {
        const keyId = uuid(100 + this.#ledger.keys.length);
        const keyHash = `key-${this.#ledger.keys.length}`;
        this.#ledger.keys.push({ keyId, keyHash, account, limitNusd, spentNusd: 0n, version: 1 });
      }
    }
    this.#controls = Array.from({ length: faults.controls ?? 1 }, () => this.#startControl());
    this.#brokers = [this.#startBroker(), this.#startBroker()];
  }

  /** Takes this many steps, lets everything come to rest, and judges the end. */
  async run(steps: number): Promise<void> {
    for (; this.step < steps; this.step += 1) {
      await this.#act();
      this.#judge();
    }
    await this.#rest();
  }

  async #act(): Promise<void> {
    const random = this.#random;
    this.#now += random.below(60);
    const what = random.weighted({
      message: 40 + 6 * this.#network.size,
      broker: 14,
      control: 16,
      request: 10,
      end: 10,
      mint: 4,
      top_up: 1.5,
      withdraw: 1,
      set_budget: 3,
      replica: 1.5,
      fault: 1,
    });
    this.#note(what);
    switch (what) {
      case 'message':
        this.#network.move(this.#faults);
        break;
      case 'broker':
        this.#brokerTask(
          random.pick(this.#brokers),
          random.pick(['lease', 'resend', 'lease', 'resend', 'reconcile']) ?? 'resend',
        );
        break;
      case 'control':
        this.#controlTask(
          this.#controls.length === 1 ? 0 : random.below(this.#controls.length),
          random.pick(['settle', 'settle', 'epochs', 'epochs', 'lease', 'project', 'reap', 'endReservations']) ??
            'settle',
        );
        break;
      case 'request':
        this.#ask();
        break;
      case 'end':
        this.#end(random.pick([...this.#open]));
        break;
      case 'mint':
        this.#mint();
        break;
      case 'top_up':
        if (!this.#ledger.isLocked(this.#now)) this.#ledger.topUp(this.#account(), BigInt(random.below(600)));
        break;
      case 'withdraw':
        this.#controlTask(random.below(this.#controls.length), 'withdraw');
        break;
      case 'set_budget':
        this.#setBudget(this.#account());
        break;
      case 'replica':
        this.#replicas = [...this.#replicas.slice(-3), this.#shard.copy()];
        break;
      case 'fault':
        this.#fault();
        break;
      default:
        what satisfies never;
    }
    await quiet();
  }

  get #shard() {
    return this.#store.shard(shard);
  }

  #account(): SimulatedAccount {
    const account = this.#random.pick(this.#ledger.accounts);
    if (account === undefined) throw new Error('no account');
    return account;
  }

  /** The first account’s budget is small, so that it refuses; the second’s large, so that its wallet does. */
  #setBudget(account: SimulatedAccount): void {
    const isSmall = account.budget.highestNusd !== undefined;
    // Above what the month has cost, or else the account would ask in vain until the month ends.
    const spent = account.budget.spent.get(monthOf(this.#now)) ?? 0n;
    this.#ledger.setBudget(account, spent + BigInt((isSmall ? 100 : 1000) + this.#random.below(250)));
  }

  #name(kind: string): string {
    this.#names += 1;
    return `${kind}-${this.#names}`;
  }

  #note(what: string): void {
    this.seen.set(what, (this.seen.get(what) ?? 0) + 1);
  }

  #stateOf(process: Process): State {
    const state = createMemoryState({
      store: this.#store,
      newClient: () => (process.name === 'control' ? controlClient(this.#name('')) : this.#name(process.name)),
      carry: this.#network.carrier(process, 'Redis'),
    });
    // Ending holds of living brokers excuses their later charges: their leases had lapsed.
    return {
      ...state,
      reap: (at, graceMs) =>
        this.#network.carrier(
          process,
          'Redis',
        )(() => {
          const before = [...this.#shard.contents.holds.keys()];
          const count = this.#store.shard(at).reap(graceMs);
          if (count > 0) {
            const { holds } = this.#shard.contents;
            for (const id of before) if (!holds.has(id)) this.#excuse(id);
            this.#note('reaped');
          }
          return count;
        }),
    };
  }

  #excuse(holdId: string): void {
    const request = this.#requests.get(holdId);
    if (request !== undefined) request.excused = true;
  }

  #startBroker(): Broker {
    const process: Process = { name: 'broker', isAlive: true };
    const state = this.#stateOf(process);
    const book = new HoldBook({
      state,
      macKey,
      now: () => this.#now,
      mostPending,
      onDelayed: () => {},
    });
    const leases = new LeaseKeeper({
      state,
      declare: (at) => (this.#declares ? book.declarationOf(at) : undefined),
      shards,
    });
    return { process, state, book, leases, running: new Set(), reconciledAt: this.#now };
  }

  #startControl(): Control {
    const process: Process = { name: 'control', isAlive: true };
    const state = this.#stateOf(process);
    const database = this.#network.carrier(process, 'Postgres');
    const ledger = this.#ledger;
    const locked = this.#network.carrier(process, 'Postgres', () => ledger.isLocked(this.#now));
    const settler = new Settler({
      ledger: {
        book: (batch) => locked(() => ledger.book(batch)),
        setAside: async (_, { payload }) => {
          ledger.rejected.push(payload);
        },
        unbookable: async () => [],
        rebooked: async () => {},
        isRefusal: () => false,
      },
      state,
      settlementMacKey: macKey,
      accountRefKey: refKey,
      events: { shortfall: () => {}, waived: () => {}, booked: () => {}, settlementRejected: () => {} },
    });
    const epochs = new EpochKeeper({
      state,
      macKey,
      now: () => this.#now,
      isAlone: false,
      shards,
      onOpened: () => {
        this.#note('opened');
      },
      onUndeclared: (_, clients) => {
        this.#note('undeclared');
        for (const request of this.#open) {
          if (clients.includes(request.broker.state.membership.caller(shard).client)) request.excused = true;
        }
      },
      onUnreadable: (_, reason) => {
        throw new Error(`declaration: ${reason}`);
      },
      ledger: {
        epochOf: (at) => database(() => ledger.epochs.get(at) ?? 0),
        recordEpoch: (at, epoch) =>
          locked(() => {
            ledger.epochs.set(at, Math.max(epoch, ledger.epochs.get(at) ?? 0));
          }),
        noteClients: (clients) =>
          database(() => {
            for (const [at, names] of clients) ledger.clients.set(at, new Map(names.map((name) => [name, this.#now])));
          }),
        clientsSeen: (at, withinMs) =>
          database(() => {
            const seen = [...(ledger.clients.get(at) ?? [])];
            const last = Math.max(...seen.map(([, seenAt]) => seenAt));
            return seen.flatMap(([name, seenAt]) => (seenAt > last - withinMs ? [name] : []));
          }),
        openRef: (text) => openAccountRef(refKey, text),
        attribute: (refs) =>
          database(
            () =>
              new Map(
                refs.flatMap((ref): [AccountRef, AmountOwner][] => {
                  const key = ledger.keyOf(ref);
                  if (key === undefined) return [];
                  const { walletId, budget } = key.account;
                  return [[ref, { walletId, keyHash: key.keyHash, budgetIds: [budget.budgetId] }]];
                }),
              ),
          ),
        bookedOf: (ids) => database(() => new Set(ids.filter((id) => ledger.booked.has(id)))),
        drain: (at) => settler.drain(at),
        project: async () => {
          await this.#project(state);
          return new Map();
        },
      },
    });
    return {
      process,
      state,
      settler,
      epochs,
      database,
      locked,
      leases: new LeaseKeeper({ state, declare: () => undefined, shards }),
      running: new Set(),
    };
  }

  async #project(state: State): Promise<void> {
    const rows = {
      accounts: this.#ledger.accounts.map((row) => ({ ...row })),
      keys: this.#ledger.keys.map((row) => ({ ...row })),
      budgets: this.#ledger.accounts.flatMap(({ budget: { budgetId, limitNusd, version, spent } }) =>
        limitNusd === undefined
          ? []
          : [{ budgetId, limitNusd, version, spent: [...spent].map(([month, spentNusd]) => ({ month, spentNusd })) }],
      ),
    };
    await Promise.all(
      rows.accounts.map(({ walletId, balanceNusd, version }) =>
        state.putWallet({ shard, walletId, balanceNusd, version }),
      ),
    );
    await Promise.all(
      rows.keys.map(async (key) => {
        const { walletId } = key.account;
        const workspace = { workspaceId: walletId, version: 1 };
        const isLacking = await state.putKey({
          ...{ shard, keyHash: key.keyHash, walletId, generation: 1, workspace },
          record: { v: 1, kind: 'inference', openaiCompatible: true, accountRef: key.keyHash },
          ...{ limitFundsNusd: fundsOf(key), fundsVersion: key.version },
          ...{ limitRequests: 1_000_000, limitTokens: 1_000_000_000, budgetIds: [key.account.budget.budgetId] },
        });
        if (isLacking) await state.putWorkspace({ shard, ...workspace, preferences: initialPreferences });
      }),
    );
    // After the keys, because a new budget finds what is held by the budgets that the keys named.
    await Promise.all(rows.budgets.map((budget) => state.putBudget({ ...budget, shard, keptSince: '2026-12' })));
  }

  /** Runs a task unless it is already running, as in production. */
  #once(running: Set<string>, name: string, task: () => Promise<unknown>): void {
    if (running.has(name)) return;
    running.add(name);
    task()
      .catch((error: unknown) => {
        if (!(error instanceof StateUnavailableError)) throw error;
      })
      .finally(() => running.delete(name));
  }

  #brokerTask(broker: Broker | undefined, task: 'lease' | 'resend' | 'reconcile'): void {
    if (broker === undefined) return;
    if (task === 'reconcile' && this.#now - broker.reconciledAt < 60_000) return;
    if (task === 'reconcile') broker.reconciledAt = this.#now;
    const tasks = {
      lease: () => broker.leases.renew(),
      resend: () => broker.book.resend(),
      reconcile: () => broker.book.reconcile(shard),
    };
    this.#once(broker.running, task, tasks[task]);
  }

  /** Withdraws as `withdrawLot` of apps/control does, or everything as `closeWallet` does, but the key stays. */
  async #withdraw({ state, database, locked }: Control): Promise<void> {
    const account = this.#account();
    const { walletId } = account;
    const alone = this.#random.chance(0.2);
    // Often all but a little, so that whatever else needs the money is in the way.
    const keptNusd = BigInt(this.#random.below(300));
    const losses = this.#dirty ? -1 : this.#losses;
    const withdrawal = await locked(() => this.#ledger.begin(account, { shard, now: this.#now }));
    const rollBack = () => database(() => this.#ledger.commit(withdrawal, 0n, this.#now));
    const { balanceNusd } = account;
    const amountNusd = alone || balanceNusd < keptNusd ? balanceNusd : balanceNusd - keptNusd;
    const noteId = `reservation:${walletId}:${this.#now}:${this.#name('')}`;
    if (this.#reserves) {
      const request = { shard, noteId, walletId, amountNusd, balanceNusd, alone };
      const reply = await state.reserve(request).catch(async (error: unknown) => {
        await rollBack();
        throw error;
      });
      this.#note(`withdrawal ${reply.result}`);
      if (reply.result !== 'reserved' || reply.epoch !== withdrawal.epoch) return void (await rollBack());
    } else if (balanceNusd < amountNusd) return void (await rollBack());
    const after = await database(() => {
      if (!this.#ledger.commit(withdrawal, amountNusd, this.#now)) return undefined;
      // Redis may have lost holds before it was asked, and neither it nor control could notice.
      if (losses !== this.#losses)
        for (const request of this.#open) if (request.key.account === account) request.excused = true;
      return { balanceNusd: account.balanceNusd, version: account.version };
    });
    if (after === undefined) return;
    this.#note('withdrawn');
    await state.book({ wallet: { shard, walletId, ...after }, keys: [], budgets: [], holdIds: [noteId] });
  }

  /** Ends old reservations, as `endReservations` of apps/control does. */
  async #endReservations({ state, database, locked }: Control): Promise<void> {
    for (const noteId of await state.readNotes(shard)) {
      const [kind, walletId, at] = noteId.split(':');
      const account = this.#ledger.accounts.find((each) => each.walletId === walletId);
      if (kind !== 'reservation' || account === undefined || this.#now - Number(at) < reservedMs) continue;
      const lock = await locked(() => this.#ledger.begin(account, { shard, now: this.#now }));
      const { balanceNusd, version } = account;
      const wallet = { shard, walletId: account.walletId, balanceNusd, version };
      await state
        .book({ wallet, keys: [], budgets: [], holdIds: [noteId] })
        .finally(() => database(() => this.#ledger.commit(lock, 0n, this.#now)));
      this.#note('reservation ended');
    }
  }

  #controlTask(
    at: number,
    task: 'settle' | 'epochs' | 'lease' | 'project' | 'reap' | 'withdraw' | 'endReservations',
  ): void {
    const control = this.#controls[at];
    if (control === undefined) return;
    const { state, settler, epochs, leases, running } = control;
    const tasks = {
      settle: () => settler.settleShard(shard),
      epochs: () => epochs.maintain(),
      lease: () => leases.renew(),
      project: () => this.#project(state),
      reap: () => state.reap(shard, leaseGraceMs),
      withdraw: () => this.#withdraw(control),
      endReservations: () => this.#endReservations(control),
    };
    this.#once(running, task, tasks[task]);
  }

  #mint(): void {
    const key = this.#random.pick(this.#ledger.keys);
    if (key === undefined) return;
    const hash = this.#name('ticket');
    this.#controls[0]?.state
      .mint({
        ...{ shard, ticketHashes: [hash], walletId: key.account.walletId, keyHash: key.keyHash },
        ...{ generation: firstGeneration, form: 2, ttlMs: 300_000 },
      })
      .then(
        ({ result }) => {
          if (result === 'minted') this.#tickets.push({ hash, key, uses: 0 });
        },
        () => {},
      );
  }

  #ask(): void {
    const broker = this.#random.pick(this.#brokers);
    const ticket = this.#random.chance(0.5) ? this.#random.pick(this.#tickets.slice(-20)) : undefined;
    const key = ticket?.key ?? this.#random.pick(this.#ledger.keys);
    if (broker === undefined || key === undefined) return;
    const right: Right =
      ticket === undefined ? { kind: 'key', keyHash: key.keyHash } : { kind: 'ticket', ticketHash: ticket.hash };
    const { accountId } = key.account;
    const accountRef = sealAccountRef(refKey, { accountId, workspaceId: accountId, keyId: key.keyId });
    const request: Request = {
      ...{ holdId: this.#name('hold'), broker, key, amountNusd: BigInt(this.#random.below(150)) },
      ...{ accountRef, state: 'asking', chargeNusd: 0n },
      ...{ excused: false, accepted: false, isLost: false, month: '' },
    };
    this.#requests.set(request.holdId, request);
    if (broker.book.size >= mostPending) this.#note('redeem not asked');
    broker.book
      .redeem({
        ...{ shard, right, holdId: request.holdId, amountNusd: request.amountNusd },
        ...(ticket === undefined
          ? { generation: shownGeneration(key.account.walletId, key.keyHash, firstGeneration) }
          : {}),
        ...{ estimatedTokens: 1, accountRef },
      })
      .then(
        (reply) => {
          const { result } = reply;
          if (result === 'admitted') request.month = reply.month;
          this.#note(result === 'insufficient' && reply.scope === 'budget' ? 'redeem over budget' : `redeem ${result}`);
          request.state = result === 'admitted' ? 'running' : 'refused';
          if (result !== 'admitted') return;
          this.#open.add(request);
          if (this.#dirty) request.excused = true;
          if (ticket === undefined || this.#dirty) return;
          ticket.uses += 1;
          if (ticket.uses > 1) throw new Broken('a ticket was used twice');
        },
        () => {
          request.state = 'refused';
        },
      )
      .catch((error: unknown) => this.#network.defects.push(error));
  }

  /** Ends a request: some charge, some release, some end before any attempt. */
  #end(request: Request | undefined): void {
    if (request === undefined || request.state !== 'running') return;
    request.state = 'ended';
    const charged = this.#random.chance(0.7);
    request.chargeNusd = charged ? BigInt(this.#random.below(Number(request.amountNusd) + 1)) : 0n;
    const entry = this.#random.chance(0.9) || charged ? signSettlement(macKey, settlementOf(request)) : undefined;
    request.broker.book
      .settle({ shard, holdId: request.holdId, chargeNusd: request.chargeNusd, usedTokens: 1, entry })
      .then(
        () => {
          request.accepted = true;
        },
        () => {},
      );
  }

  #fault(): void {
    const random = this.#random;
    const { crash, failOver, wipe, leap } = this.#faults;
    if (random.chance(crash)) this.#crashBroker(random.below(this.#brokers.length));
    for (const [at, control] of this.#controls.entries()) {
      if (!random.chance(crash)) continue;
      this.#note('control crashed');
      control.process.isAlive = false;
      this.#controls[at] = this.#startControl();
    }
    const replica = random.pick(this.#replicas);
    if (random.chance(failOver) && replica !== undefined) {
      this.#note('failed over');
      this.#lose(replica);
    }
    if (random.chance(wipe)) {
      this.#note('wiped');
      this.#lose(emptyShard());
    }
    if (random.chance(leap)) {
      this.#note('leapt');
      this.#now += random.below(40_000);
    }
  }

  #lose(replica: ShardData): void {
    const streamed = new Set(replica.stream.map(({ payload }) => payload));
    for (const { payload } of this.#shard.contents.stream) {
      const { id } = JSON.parse(payload) as Settlement;
      const request = this.#requests.get(id);
      if (request !== undefined && !streamed.has(payload)) request.isLost = true;
    }
    // Control does not wait for a broker that joined too recently to be recorded. That broker is admitted later,
    // automatically.
    for (const request of this.#open) {
      const { client } = request.broker.state.membership.caller(shard);
      if (!this.#ledger.clients.get(shard)?.has(client)) request.excused = true;
    }
    this.#network.cut();
    this.#shard.failOver(replica);
    this.#dirty = true;
    this.#losses += 1;
    // A replica that is newer than the restored one does not belong to its history.
    this.#replicas = this.#replicas.filter((each) => each === replica);
  }

  #crashBroker(at: number): void {
    const broker = this.#brokers[at];
    if (broker === undefined) return;
    this.#note('broker crashed');
    broker.process.isAlive = false;
    for (const request of this.#open) if (request.broker === broker) this.#open.delete(request);
    this.#brokers[at] = this.#startBroker();
  }

  #judge(): void {
    if (this.#network.defects.length > 0) throw this.#network.defects[0];
    const data = this.#shard.contents;
    if (this.#dirty && this.#allNoticed(data)) this.#dirty = false;
    judgeLedger(this.#everything);
    for (const request of this.#open) {
      if (request.accepted && this.#ledger.booked.has(request.holdId)) this.#open.delete(request);
    }
    if (!this.#dirty && data.isOpen && data.epoch !== undefined) judgeShard(this.#everything);
  }

  get #everything(): Judged {
    return { data: this.#shard.contents, ledger: this.#ledger, requests: this.#requests, open: this.#open };
  }

  /** Whether no living process remembers more steps of the shard than the shard does. */
  #allNoticed(data: Readonly<ShardData>): boolean {
    return [...this.#brokers, ...this.#controls].every(({ state }) => {
      const { client, epoch, acked } = state.membership.caller(shard);
      if (data.epoch === undefined) return true;
      if (epoch > data.epoch) return false;
      return epoch < data.epoch || (data.members.get(client)?.steps ?? 0) >= acked;
    });
  }

  /**
   * Stops all faults, then ends, sends, books and reports everything. After that nothing is held and all records agree.
   */
  async #rest(): Promise<void> {
    for (let round = 0; round < 200; round += 1) {
      for (const request of this.#open) this.#end(request);
      for (const broker of this.#brokers)
        for (const task of ['lease', 'resend', 'reconcile'] as const) this.#brokerTask(broker, task);
      for (const at of this.#controls.keys())
        for (const task of ['lease', 'epochs', 'settle', 'project', 'reap', 'endReservations'] as const)
          this.#controlTask(at, task);
      for (let turn = 0; turn < 30; turn += 1) {
        this.#network.settle();
        await quiet();
      }
      this.#now += 1_000;
      this.#judge();
    }
    judgeRest(this.#everything);
  }
}

/** Waits until every promise that can continue has continued. */
const quiet = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const uuid = (index: number): string => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;

function settlementOf(request: Request): Settlement {
  const isCharge = request.chargeNusd > 0n;
  return {
    v: 1,
    id: isCharge ? request.holdId : `${request.holdId}-released`,
    kind: isCharge ? 'charge' : 'release',
    accountRef: request.accountRef,
    chargeNusd: request.chargeNusd.toString(),
    ...{ at: 0, operation: 'chat', model: 'acme/small', provider: 'acme', privacyClass: 'private' },
    ...{ promptTokens: 1, cachedTokens: 0, completionTokens: 1, reasoningTokens: 0, attempts: 1, fallback: false },
    ...{ status: 'completed', estimated: false, ...(request.month === '' ? {} : { month: request.month }) },
  };
}

import { monthOf, type ShardData } from '@sotto/state';
import { brokerTask, startBroker } from './brokers.ts';
import { clientAsks, end, mint } from './clients.ts';
import { controlTask, startControl } from './controls.ts';
import { fault } from './disasters.ts';
import { type Faults, Ground, shard } from './ground.ts';
import type { SimulatedAccount } from './ledger.ts';
import { type Judged, judgeLedger, judgeRest, judgeShard } from './rules.ts';

/**
 * Two brokers, one or more control planes, Redis and Postgres in one thread. It runs the production code on a network
 * and a clock that a seed drives. Throws at the first step after which a rule about money does not hold.
 */
export class World {
  readonly #ground: Ground;
  step = 0;

  /**
   * With `declares: false`, brokers do not declare what they hold. With `reserves: false`, control withdraws without a reservation.
   * The rules must find these faults.
   */
  constructor(seed: number, faults: Faults, { declares = true, reserves = true } = {}) {
    const ground = new Ground(seed, faults, { declares, reserves });
    this.#ground = ground;
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
      ground.ledger.accounts.push(account);
      ground.ledger.topUp(account, 1000n);
      if (index === 0) ground.ledger.setBudget(account, 300n);
      for (const limitNusd of [undefined, 300n]) {
        const keyId = uuid(100 + ground.ledger.keys.length);
        const keyHash = `key-${ground.ledger.keys.length}`;
        ground.ledger.keys.push({ keyId, keyHash, account, limitNusd, spentNusd: 0n, version: 1 });
      }
    }
    ground.controls.push(...Array.from({ length: faults.controls ?? 1 }, () => startControl(ground)));
    ground.brokers.push(startBroker(ground), startBroker(ground));
  }

  /** How often each step and outcome occurred. */
  get seen(): ReadonlyMap<string, number> {
    return this.#ground.seen;
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
    const random = this.#ground.random;
    this.#ground.now += random.below(60);
    const what = random.weighted({
      message: 40 + 6 * this.#ground.network.size,
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
    this.#ground.note(what);
    switch (what) {
      case 'message':
        this.#ground.network.move(this.#ground.faults);
        break;
      case 'broker':
        brokerTask(
          this.#ground,
          random.pick(this.#ground.brokers),
          random.pick(['lease', 'resend', 'lease', 'resend', 'reconcile']) ?? 'resend',
        );
        break;
      case 'control':
        controlTask(
          this.#ground,
          this.#ground.controls.length === 1 ? 0 : random.below(this.#ground.controls.length),
          random.pick(['settle', 'settle', 'epochs', 'epochs', 'lease', 'project', 'reap', 'endReservations']) ??
            'settle',
        );
        break;
      case 'request':
        clientAsks(this.#ground);
        break;
      case 'end':
        end(this.#ground, random.pick([...this.#ground.open]));
        break;
      case 'mint':
        mint(this.#ground);
        break;
      case 'top_up':
        if (!this.#ground.ledger.isLocked(this.#ground.now))
          this.#ground.ledger.topUp(this.#ground.account(), BigInt(random.below(600)));
        break;
      case 'withdraw':
        controlTask(this.#ground, random.below(this.#ground.controls.length), 'withdraw');
        break;
      case 'set_budget':
        setBudget(this.#ground, this.#ground.account());
        break;
      case 'replica':
        this.#ground.replicas = [...this.#ground.replicas.slice(-3), this.#ground.shard.copy()];
        break;
      case 'fault':
        fault(this.#ground);
        break;
      default:
        what satisfies never;
    }
    await quiet();
  }

  #judge(): void {
    if (this.#ground.network.defects.length > 0) throw this.#ground.network.defects[0];
    const data = this.#ground.shard.contents;
    if (this.#ground.dirty && this.#allNoticed(data)) this.#ground.dirty = false;
    judgeLedger(this.#everything);
    for (const request of this.#ground.open) {
      if (request.accepted && this.#ground.ledger.booked.has(request.holdId)) this.#ground.open.delete(request);
    }
    if (!this.#ground.dirty && data.isOpen && data.epoch !== undefined) judgeShard(this.#everything);
  }

  get #everything(): Judged {
    return {
      data: this.#ground.shard.contents,
      ledger: this.#ground.ledger,
      requests: this.#ground.requests,
      open: this.#ground.open,
    };
  }

  /** Whether no living process remembers more steps of the shard than the shard does. */
  #allNoticed(data: Readonly<ShardData>): boolean {
    return [...this.#ground.brokers, ...this.#ground.controls].every(({ state }) => {
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
      for (const request of this.#ground.open) end(this.#ground, request);
      for (const broker of this.#ground.brokers)
        for (const task of ['lease', 'resend', 'reconcile'] as const) brokerTask(this.#ground, broker, task);
      for (const at of this.#ground.controls.keys())
        for (const task of ['lease', 'epochs', 'settle', 'project', 'reap', 'endReservations'] as const)
          controlTask(this.#ground, at, task);
      for (let turn = 0; turn < 30; turn += 1) {
        this.#ground.network.settle();
        await quiet();
      }
      this.#ground.now += 1_000;
      this.#judge();
    }
    judgeRest(this.#everything);
  }
}

/** The first account’s budget is small, so that it refuses; the second’s large, so that its wallet does. */
function setBudget(ground: Ground, account: SimulatedAccount): void {
  const isSmall = account.budget.highestNusd !== undefined;
  // Above what the month has cost, or else the account would ask in vain until the month ends.
  const spent = account.budget.spent.get(monthOf(ground.now)) ?? 0n;
  ground.ledger.setBudget(account, spent + BigInt((isSmall ? 100 : 1000) + ground.random.below(250)));
}

/** Waits until every promise that can continue has continued. */
const quiet = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const uuid = (index: number): string => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;

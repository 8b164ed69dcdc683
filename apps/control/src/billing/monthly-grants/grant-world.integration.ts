import { randomBytes, randomUUID } from 'node:crypto';
import {
  type AccountRef,
  controlClient,
  createMemoryState,
  createRedisState,
  MemoryStore,
  monthOf,
  type RedeemReply,
  type State,
  sealAccountRef,
  shardOfWallet,
  signSettlement,
} from '@sotto/state';
import { noteSkip, redisSkipReason, startTestRedis, type TestRedis } from '@sotto/test-servers';
import { afterAll, expect } from 'vitest';
import { createAccount } from '../../accounts/ensure-account.ts';
import { insertKey } from '../../keys/key-store.ts';
import { creditAccount } from '../../ledger/post-transaction.ts';
import { postgresSettlementLedger } from '../../ledger/settlement-ledger.ts';
import { Projector } from '../../projection/projector.ts';
import { Settler } from '../../settler/settler.ts';
import { openTestDatabase, settledChat } from '../../testing/test-database.integration.ts';
import { expireGrants } from './expire-grants.ts';
import { giveGrant } from './monthly-grants.ts';

const redis = await startTestRedis();
if (redis === undefined) noteSkip('monthly grants on a real Redis', redisSkipReason);

export const { pool } = await openTestDatabase();
afterAll(async () => {
  await redis?.stop();
});

export const months = ['2026-10', '2026-11', '2026-12', '2027-01'] as const;
export const timeOf = (month: string): number => Date.parse(`${month}-15T12:00:00Z`);
export const startOf = (month: string): number => Date.parse(`${month}-01T00:01:00Z`);

const keys = { mac: randomBytes(32), ref: randomBytes(32) };
/** The clock of the state. */
export const clock = { now: timeOf(months[0]) };

/** One account, its grants, and the shared state that it spends them in. */
export class World {
  readonly shortfalls: bigint[] = [];
  /** The charge that each hold may still have, by its id. */
  readonly holds = new Map<string, { readonly amountNusd: bigint; readonly month: string }>();
  readonly state: State;
  readonly owner: AccountRef;
  readonly walletId: string;
  readonly #keyHash: string;
  readonly projector: Projector;
  readonly settler: Settler;

  private constructor(state: State, owner: AccountRef, { walletId, keyHash }: { walletId: string; keyHash: string }) {
    this.state = state;
    this.owner = owner;
    this.walletId = walletId;
    this.#keyHash = keyHash;
    const quiet = () => {};
    this.projector = new Projector({
      ...{ pool, state, accountRefKey: keys.ref, limits: { requests: 1e6, tokens: 1e6 } },
      events: { projected: quiet, unreadablePreferences: quiet },
    });
    this.settler = new Settler({
      ...{ ledger: postgresSettlementLedger(pool), state },
      settlementMacKey: [keys.mac],
      accountRefKey: [keys.ref],
      events: {
        shortfall: ({ shortfallNusd }) => void this.shortfalls.push(shortfallNusd),
        ...{ used: () => {}, waived: quiet, booked: quiet, settlementRejected: quiet },
      },
    });
  }

  static async open(state: State): Promise<World> {
    clock.now = timeOf(months[0]);
    const { accountId, walletId, defaultWorkspaceId } = await createAccount(pool, { userId: undefined, name: 'x' });
    const key = { accountId, workspaceId: defaultWorkspaceId, kind: 'inference', name: 'x' } as const;
    const { id: keyId } = await insertKey(pool, { ...key, openaiCompatible: true, creditLimitNusd: undefined });
    const { rows } = await pool.query<{ hash: string }>('select hash from api_keys where id = $1', [keyId]);
    const owner = { accountId, workspaceId: defaultWorkspaceId, keyId };
    const world = new World(state, owner, { walletId, keyHash: rows[0]?.hash ?? '' });
    await world.projector.key(keyId);
    await world.project();
    return world;
  }

  get shard(): number {
    return shardOfWallet(this.walletId);
  }
  get month(): string {
    return monthOf(clock.now);
  }
  project = (): Promise<void> => this.projector.account(this.owner.accountId);

  async give(defaultNusd: bigint): Promise<void> {
    await giveGrant(pool, this.owner.accountId, { month: this.month, defaultNusd, needsVerified: true });
    await this.project();
  }
  credit = (amountNusd: bigint): Promise<unknown> =>
    creditAccount(pool, { ...this.owner, amountNusd, kind: 'top_up', reference: randomUUID() });

  /** Places a hold, and returns its id if it was admitted. */
  async hold(amountNusd: bigint): Promise<string | undefined> {
    const holdId = randomUUID();
    const right = { kind: 'key', keyHash: this.#keyHash } as const;
    const { generation } = (await this.state.lookupKey(this.#keyHash)) ?? expect.fail('no key');
    const order = { shard: this.shard, right, generation, holdId, amountNusd, estimatedTokens: 0 };
    const reply: RedeemReply = await this.state.redeem(order);
    if (reply.result !== 'admitted') return undefined;
    this.holds.set(holdId, { amountNusd, month: reply.month });
    return holdId;
  }

  /** Ends a hold by a charge, which waits for the settler. */
  async settle(holdId: string | undefined, chargeNusd: bigint): Promise<void> {
    const hold = this.holds.get(holdId ?? '');
    if (holdId === undefined || hold === undefined) throw new Error('there is no such hold');
    this.holds.delete(holdId);
    const entry = signSettlement(keys.mac, {
      ...{ ...settledChat, id: holdId, accountRef: sealAccountRef(keys.ref, this.owner) },
      ...{ chargeNusd: String(chargeNusd), at: clock.now, month: hold.month },
    });
    await this.state.settle({ shard: this.shard, holdId, chargeNusd, usedTokens: 0, entry });
  }
  book = (): Promise<void> => this.settler.drain(this.shard);

  /** Expires, while `meanwhile` runs between reading what is held and lowering the balance. */
  async expire(meanwhile: () => Promise<unknown> = async () => {}): Promise<boolean> {
    const state = {
      readWallet: async (...wallet: Parameters<State['readWallet']>) => {
        const read = await this.state.readWallet(...wallet);
        await meanwhile();
        return read;
      },
    };
    return expireGrants({ pool, state }, this.owner.accountId, clock.now);
  }

  async balance(): Promise<bigint> {
    const { rows } = await pool.query<{ nusd: string }>('select balance_nusd as nusd from accounts where id = $1', [
      this.owner.accountId,
    ]);
    return BigInt(rows[0]?.nusd ?? -1);
  }
  async grants(): Promise<[month: string, amount: number, spent: number, expired: number][]> {
    const { rows } = await pool.query(
      `select month, amount_nusd::int as amount, spent_nusd::int as spent, expired_nusd::int as expired
       from monthly_grants where account_id = $1 order by month`,
      [this.owner.accountId],
    );
    return rows.map(({ month, amount, spent, expired }) => [month, amount, spent, expired]);
  }
  /** The parts of a charge of a hold: what was taken from the wallet, the grants and the shortfall. */
  async payers(holdId: string | undefined): Promise<Record<string, number>> {
    const { rows } = await pool.query<{ payer: string; nusd: number }>(
      `select split_part(e.ledger_account, ':', 1) as payer, e.amount_nusd::int as nusd from ledger_entries e
       join ledger_transactions t on t.id = e.transaction_id where t.reference = $1`,
      [`settlement:${holdId}`],
    );
    return Object.fromEntries(rows.map(({ payer, nusd }) => [payer, nusd]));
  }
}

/** What a state of the tests runs on, and how many random histories it gets. */
export const drivers = [
  {
    name: 'memory',
    runs: 60,
    open: () => createMemoryState({ store: new MemoryStore(() => clock.now), newClient: controlClient }),
  },
  ...(redis === undefined ? [] : [{ name: 'Redis', runs: 15, open: () => onRedis(redis) }]),
];
const onRedis = ({ url }: TestRedis): State =>
  createRedisState({ url, clock: () => clock.now, newClient: controlClient });

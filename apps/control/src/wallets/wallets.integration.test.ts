// Longer than 400 lines: withdrawals, deposits and closed wallets share one ledger, which the audit judges after each test.

import {
  constants,
  createHash,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  randomInt,
  randomUUID,
  sign,
} from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  controlClient,
  createMemoryState,
  createRedisState,
  hashSecret,
  MemoryStore,
  type State,
  StateUnavailableError,
  sealAccountRef,
  shardOfWallet,
  shards,
  signSettlement,
} from '@sotto/state';
import { creditChallenge, creditInput, creditSpki, ServiceError } from '@sotto/wire';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, test } from 'vitest';
import { openTestDatabase, settledChat } from '../../../../test/kit/database.ts';
import { redisSkipReason, startTestRedis } from '../../../../test/kit/redis.ts';
import { noteSkip } from '../../../../test/kit/skips.ts';
import { until } from '../../../../test/kit/until.ts';
import { createAccount } from '../accounts/ensure-account.ts';
import { auditLedger } from '../audit/audit-ledger.ts';
import { parseBilling } from '../billing/billing-plan.ts';
import { builtInBilling } from '../billing/billing-settings.ts';
import { applyEvent } from '../billing/orders/apply-event.ts';
import { orderWallet } from '../billing/orders/order-wallet.ts';
import type { PlaceDependencies } from '../billing/orders/place-order.ts';
import { inTransaction } from '../database/in-transaction.ts';
import { creditWithin, ledgerAccounts } from '../ledger/post-transaction.ts';
import { postgresSettlementLedger } from '../ledger/settlement-ledger.ts';
import { Projector } from '../projection/projector.ts';
import { Settler } from '../settler/settler.ts';
import { postgresEpochLedger } from '../shards/epoch-ledger.ts';
import { depositCredits, findWallet, readDeposit, type Wallet } from './deposit.ts';
import { type Issuer, readCreditKeysFile, readIssuer } from './issuer.ts';
import { closeWallet, endReservations, hasMore, type Lot, type LotDependencies, withdrawLot } from './lots.ts';

const redis = await startTestRedis();
if (redis === undefined) noteSkip('anonymous wallets on a real Redis', redisSkipReason);

const { pool } = await openTestDatabase();
let issuer: Issuer;
let folder = '';
const clock = { now: Date.parse('2026-11-15T12:00:00Z') };
const issuerKeys = [2026, 2027].map((year) => ({ year, ...generateKeyPairSync('rsa', { modulusLength: 2048 }) }));
const pem = (key: KeyObject): string =>
  key.export({ format: 'pem', type: key.type === 'private' ? 'pkcs8' : 'spki' }).toString();
const yamlOf = (keys: readonly { year: number; pem: string }[]): string =>
  `issuer: issuer.example\nkeys:\n${keys.map(({ year, pem: text }) => `  - year: ${year}\n    pem: |\n      ${text.trim().replaceAll('\n', '\n      ')}\n`).join('')}`;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sotto-wallets-'));
  const file = join(folder, 'keys.yaml');
  await writeFile(file, yamlOf(issuerKeys.map(({ year, privateKey }) => ({ year, pem: pem(privateKey) }))));
  const read = await readIssuer(file);
  if (!read.ok) throw new Error(read.message);
  issuer = read.settings;
});
afterAll(async () => {
  await redis?.stop();
  await rm(folder, { recursive: true, force: true });
});

const spkiOf = (key: KeyObject): Buffer => Buffer.from(creditSpki(key.export({ format: 'der', type: 'pkcs1' })));
const sha256 = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest();
const keyIdOf = (at = 0): string => sha256(spkiOf(issuerKeys[at]?.publicKey as KeyObject)).toString('hex');

/** A credit that the issuer's key signs directly. How it came about does not matter to a deposit. */
function credit({
  at = 0,
  issuerName = 'issuer.example',
  nonce = randomBytes(32),
  key = issuerKeys[at]?.privateKey,
}: {
  at?: number;
  issuerName?: string;
  nonce?: Buffer;
  key?: KeyObject | undefined;
} = {}): Buffer {
  const input = Buffer.from(creditInput(nonce, sha256(creditChallenge(issuerName)), Buffer.from(keyIdOf(at), 'hex')));
  const terms = { key: key as KeyObject, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 48 };
  return Buffer.concat([input, sign('sha384', input, terms)]);
}
const credits = (count: number, at = 0): Buffer[] => Array.from({ length: count }, () => credit({ at }));

const numbers = (): Buffer[] =>
  Array.from({ length: 50 }, () => {
    const number = randomBytes(256);
    number[0] = 0;
    return number;
  });
const lotOf = (kind: Lot['paidBy']['kind'], secret: string, more: Partial<Lot> = {}): Lot => ({
  ...{ keyId: keyIdOf(), blinded: numbers(), paidBy: { kind, secret } },
  ...more,
});

const keys = { mac: randomBytes(32), ref: randomBytes(32) };
const quiet = (): void => {};
let orderedAt = clock.now;
const usd = (amount: number): bigint => BigInt(Math.round(amount * 1e9));

class World {
  readonly state: State;
  readonly projector: Projector;
  readonly settler: Settler;
  readonly shortfalls: bigint[] = [];
  readonly findings: string[] = [];

  constructor(state: State) {
    this.state = state;
    this.projector = new Projector({
      ...{ pool, state, accountRefKey: keys.ref, limits: { requests: 1e6, tokens: 1e6 } },
      events: { projected: quiet, unreadablePreferences: quiet },
    });
    this.settler = new Settler({
      ...{ ledger: postgresSettlementLedger(pool), state, settlementMacKey: [keys.mac], accountRefKey: [keys.ref] },
      events: {
        shortfall: ({ shortfallNusd }) => void this.shortfalls.push(shortfallNusd),
        ...{ waived: quiet, booked: quiet, settlementRejected: quiet },
      },
    });
  }

  deps(own: Partial<LotDependencies> = {}): LotDependencies {
    return { pool, state: this.state, projector: this.projector, issuer, now: () => clock.now, ...own };
  }

  /** An account that was paid `crypto` USD by crypto and `card` USD by card. */
  async account(crypto: number, card = 0): Promise<{ accountId: string; walletId: string }> {
    const { accountId, walletId } = await createAccount(pool, { userId: undefined, name: 'x' });
    for (const [rail, amount] of Object.entries({ crypto, card })) {
      if (amount === 0) continue;
      const order = { accountId, amountNusd: usd(amount), kind: 'top_up', reference: randomUUID() } as const;
      await inTransaction(pool, (client) => creditWithin(client, { ...order, from: ledgerAccounts.fundingBy(rail) }));
    }
    await this.projector.account(accountId);
    return { accountId, walletId };
  }

  async code(accountId: string): Promise<string> {
    const code = randomUUID();
    await pool.query(
      `insert into credit_codes (account_id, code_hash, expires_at) values ($1, $2, $3)
       on conflict (account_id) do update set code_hash = excluded.code_hash, expires_at = excluded.expires_at`,
      [accountId, hashSecret(code), new Date(clock.now + 600_000)],
    );
    return code;
  }

  async withdraw(accountId: string, own: Partial<LotDependencies> = {}): Promise<Buffer[]> {
    return withdrawLot(this.deps(own), lotOf('code', await this.code(accountId)));
  }

  /** Withdraws as many lots as 50 new credits of each key need, and deposits the credits. */
  async wallet({
    tokens = credits(50),
    keyHash = hashSecret(randomUUID()),
    secret = randomUUID() as string,
    database = pool,
  } = {}) {
    const deposit = readDeposit(issuer, { keyHash, closeHash: hashSecret(secret), tokens });
    const made = await depositCredits(
      { pool: database, issuer, events: { auditFinding: ({ what }) => this.findings.push(what) } },
      deposit,
    );
    return this.projected(made, { keyHash, secret });
  }

  async projected(made: Wallet, secrets: { keyHash: string; secret: string }) {
    await this.projector.account(made.accountId);
    await this.projector.key(made.keyId);
    const { rows } = await pool.query<{ wallet_id: string; workspace_id: string }>(
      'select a.wallet_id, w.id as workspace_id from accounts a join workspaces w on w.account_id = a.id where a.id = $1',
      [made.accountId],
    );
    const [row] = rows;
    if (row === undefined) throw new Error('no wallet');
    return { ...made, ...secrets, walletId: row.wallet_id, workspaceId: row.workspace_id };
  }

  /** Signs a lot from an account that pays for it, so that 50 credits may be deposited. */
  async fund(lots = 1): Promise<void> {
    for (let lot = 0; lot < lots; lot += 1) await this.withdraw((await this.account(5)).accountId);
  }

  async orders(): Promise<PlaceDependencies> {
    const plan = parseBilling(await readFile(builtInBilling, 'utf8'));
    if (!plan.ok) throw new Error('no plan');
    const crypto = {
      name: 'crypto' as const,
      open: async ({ id }: { readonly id: string }) => ({ reference: id, checkoutUrl: undefined, events: [] }),
      observe: async () => ({ events: [], processing: false }),
      close: async () => {},
    };
    return {
      ...{ pool, plan: plan.value, seller: plan.value.file.seller },
      // Few orders are accepted in a minute. Each comes in another one.
      now: () => (orderedAt += 60_000),
      rails: { card: undefined, crypto, test: undefined },
      events: { orderMoved: quiet, orderFlagged: quiet } as never,
      project: (accountId) => this.projector.account(accountId),
    };
  }

  /** A wallet that crypto has paid for. */
  async paidWallet(packageId = 'usd-10') {
    const orders = await this.orders();
    const [keyHash, secret] = [hashSecret(randomUUID()), randomUUID()];
    const asked = { keyHash, closeHash: hashSecret(secret), packageId };
    const order = await orderWallet(orders, asked);
    const paidNusd = usd(order?.total ?? 0);
    const paid = { type: 'paid', payment: 'p', paidNusd, currency: 'USD' } as const;
    await applyEvent(orders, order?.id ?? '', paid, { source: 'webhook' });
    expect(await orderWallet(orders, asked)).toBeUndefined();
    const made = await findWallet(pool, asked);
    if (made === undefined) throw new Error('no wallet');
    return this.projected(made, { keyHash, secret });
  }

  close(secret: string, own: Partial<LotDependencies> = {}): Promise<Buffer[]> {
    return closeWallet(this.deps(own), lotOf('close', secret));
  }

  async hold(
    { walletId, keyHash }: { walletId: string; keyHash: string },
    amountNusd: bigint,
  ): Promise<string | undefined> {
    const holdId = randomUUID();
    const right = { kind: 'key', keyHash } as const;
    const generation = (await this.state.lookupKey(keyHash))?.generation;
    const request = { shard: shardOfWallet(walletId), right, generation, holdId, amountNusd, estimatedTokens: 0 };
    const { result } = await this.state.redeem(request);
    return result === 'admitted' ? holdId : undefined;
  }

  async settle(
    { walletId, ...owner }: { accountId: string; workspaceId: string; keyId: string; walletId: string },
    holdId: string,
    { chargeNusd, waivable = false }: { chargeNusd: bigint; waivable?: boolean },
  ): Promise<void> {
    const entry = signSettlement(keys.mac, {
      ...{ ...settledChat, id: holdId, accountRef: sealAccountRef(keys.ref, owner) },
      ...{ chargeNusd: String(chargeNusd), at: clock.now, month: '2026-11' },
      ...(waivable ? { waivable } : {}),
    });
    await this.state.settle({ shard: shardOfWallet(walletId), holdId, chargeNusd, usedTokens: 0, entry });
  }

  async book(): Promise<void> {
    for (const shard of shards) await this.settler.drain(shard);
  }

  /** Funds minus everything that is held and unbooked, in the state. */
  async available(walletId: string): Promise<bigint> {
    const wallet = await this.state.readWallet(shardOfWallet(walletId), walletId);
    return (wallet?.fundsNusd ?? 0n) - (wallet?.heldNusd ?? 0n) - (wallet?.unbookedNusd ?? 0n);
  }

  async balance(accountId: string): Promise<bigint> {
    const { rows } = await pool.query<{ nusd: string }>('select balance_nusd as nusd from accounts where id = $1', [
      accountId,
    ]);
    return BigInt(rows[0]?.nusd ?? -1);
  }

  async notes(): Promise<string[]> {
    return (await Promise.all(shards.map((shard) => this.state.readNotes(shard)))).flat();
  }
}

const drivers = [
  {
    driver: 'memory',
    start: async () => createMemoryState({ store: new MemoryStore(() => clock.now), newClient: controlClient }),
  },
  ...(redis === undefined
    ? []
    : [
        {
          driver: 'Redis',
          start: async () => createRedisState({ url: redis.url, clock: () => clock.now, newClient: controlClient }),
        },
      ]),
];
const refused = (type: string) => expect.objectContaining({ type });
const died = new Error('control died');

describe.each(drivers)('anonymous wallets, with the state in $driver', ({ start }) => {
  let world: World;
  let epoch = 0;

  beforeEach(async () => {
    clock.now = Date.parse('2026-11-15T12:00:00Z');
    const state = await start();
    world = new World(state);
    await until(
      () =>
        state.readMembers(0).then(
          () => true,
          () => false,
        ),
      'the state is reachable',
    );
    const ledger = postgresEpochLedger({
      pool,
      projector: world.projector,
      settler: world.settler,
      accountRefKey: [keys.ref],
    });
    for (const shard of shards) {
      epoch = await ledger.epochOf(shard);
      const { epoch: old } = await state.readMembers(shard);
      if (old !== undefined) await state.discardEpoch(shard, old);
      await state.beginEpoch(shard, epoch + 1);
      await ledger.recordEpoch(shard, epoch + 1);
      // The first attempt learns of the epoch.
      const join = () => state.join(shard, { declaration: undefined, leaseMs: 1e9 });
      await join().catch(join);
      await state.openEpoch(shard);
    }
  });
  afterEach(async () => {
    expect(await auditLedger(pool)).toEqual([]);
    await world.state.close();
  });

  describe('a withdrawal', () => {
    it('moves 5 USD to the credits of the key, and signs the same lot the same way again', async () => {
      const { accountId, walletId } = await world.account(12);
      const lot = lotOf('code', await world.code(accountId));
      const signatures = await withdrawLot(world.deps(), lot);
      expect(signatures).toHaveLength(50);
      expect(await withdrawLot(world.deps(), lot)).toEqual(signatures);
      expect([await world.balance(accountId), await world.available(walletId)]).toEqual([usd(7), usd(7)]);
      expect(await world.notes()).toEqual([]);
      await expect(withdrawLot(world.deps(), { ...lot, blinded: numbers() })).rejects.toEqual(refused('forbidden'));
    });

    it('leaves what running requests hold and what is not booked', async () => {
      const { accountId, walletId } = await world.account(9);
      const { accountId: other, walletId: otherWallet } = await world.account(10);
      const { rows } = await pool.query<{ id: string }>('select id from workspaces where account_id = $1', [accountId]);
      const keyHash = hashSecret(randomUUID());
      const keyId = randomUUID();
      await pool.query(
        "insert into api_keys (id, account_id, workspace_id, created_by, kind, name, hash, preview) values ($1, $2, $3, $2, 'inference', 'x', $4, '')",
        [keyId, accountId, rows[0]?.id, keyHash],
      );
      await world.projector.key(keyId);
      const owner = { accountId, workspaceId: rows[0]?.id ?? '', keyId, walletId };
      const held = await world.hold({ walletId, keyHash }, usd(4.5));
      await expect(world.withdraw(accountId)).rejects.toEqual(refused('insufficient_balance'));
      await world.settle(owner, held ?? '', { chargeNusd: usd(4.2) });
      await expect(world.withdraw(accountId)).rejects.toEqual(refused('insufficient_balance'));
      await world.book();
      await expect(world.withdraw(accountId)).rejects.toEqual(refused('insufficient_balance'));
      const second = await world.account(0);
      expect(await world.available(second.walletId)).toBe(0n);
      // Requests meanwhile find the money set aside.
      let meanwhile: string | undefined = 'not asked';
      const state: LotDependencies['state'] = {
        ...world.state,
        async reserve(request) {
          const reply = await world.state.reserve(request);
          meanwhile = await world.available(otherWallet).then((nusd) => String(nusd));
          return reply;
        },
      };
      await world.withdraw(other, { state });
      expect(meanwhile).toBe(String(usd(5)));
    });

    it('is refused beyond a balance that the state does not have yet', async () => {
      const { accountId } = await world.account(8);
      await inTransaction(pool, (client) =>
        creditWithin(client, {
          ...{
            accountId,
            amountNusd: -usd(4),
            kind: 'adjustment',
            reference: randomUUID(),
            from: ledgerAccounts.funding,
          },
        }),
      );
      await expect(world.withdraw(accountId)).rejects.toEqual(refused('insufficient_balance'));
    });

    it.each([
      ['nothing by crypto', 0, 20, 'insufficient_balance'],
      ['a part by card', 4.99, 20, 'insufficient_balance'],
      ['enough by crypto', 5, 20, undefined],
    ])('takes only money of crypto payments: %s', async (_, crypto, card, problem) => {
      const { accountId } = await world.account(crypto, card);
      if (problem === undefined) expect(await world.withdraw(accountId)).toHaveLength(50);
      else await expect(world.withdraw(accountId)).rejects.toEqual(refused(problem));
      await expect(world.withdraw(accountId)).rejects.toEqual(refused('insufficient_balance'));
    });

    it('counts what requests used against crypto first, so goodwill and card money never leave', async () => {
      const { accountId } = await world.account(10);
      await inTransaction(pool, (client) =>
        creditWithin(client, {
          ...{
            accountId,
            amountNusd: usd(10),
            kind: 'adjustment',
            reference: randomUUID(),
            from: ledgerAccounts.funding,
          },
        }),
      );
      await world.projector.account(accountId);
      await world.withdraw(accountId);
      await world.withdraw(accountId);
      await expect(world.withdraw(accountId)).rejects.toEqual(refused('insufficient_balance'));
    });

    it('is refused while a payment of the account is disputed', async () => {
      const { accountId } = await world.account(50);
      const [id, orders] = [randomUUID(), await world.orders()];
      await pool.query(
        `insert into orders (id, account_id, status, rail, package_id, amount_nusd, fee_nusd, automatic, save_card, created_at, expires_at)
         values ($1, $2, 'paid', 'card', 'x', 1, 0, false, false, now(), now())`,
        [id, accountId],
      );
      const tell = (event: Parameters<typeof applyEvent>[2]) => applyEvent(orders, id, event, { source: 'webhook' });
      const isRefused = () => expect(world.withdraw(accountId)).rejects.toEqual(refused('forbidden'));
      // As an earlier version noted it, without a name. The end of any is its end.
      await pool.query(
        `insert into order_events (order_id, at, source, event, from_status, to_status, flag)
         values ($1, now(), 'webhook', 'noticed', 'paid', 'paid', 'disputed')`,
        [id],
      );
      await isRefused();
      await tell({ type: 'dispute_won', dispute: 'dp_0' });
      expect(await world.withdraw(accountId)).toHaveLength(50);
      await tell({ type: 'noticed', flag: 'disputed', dispute: 'dp_1' });
      await isRefused();
      await tell({ type: 'noticed', flag: 'refund_failed' });
      await isRefused();
      await tell({ type: 'noticed', flag: 'disputed', dispute: 'dp_2' });
      await tell({ type: 'dispute_won', dispute: 'dp_1' });
      await isRefused();
      await tell({ type: 'dispute_won', dispute: 'dp_2' });
      // Delivered again, late.
      await tell({ type: 'noticed', flag: 'disputed', dispute: 'dp_1' });
      expect(await world.withdraw(accountId)).toHaveLength(50);
    });

    it('is limited to ten lots in 24 hours', async () => {
      const { accountId } = await world.account(100);
      for (let lot = 0; lot < 10; lot += 1) await world.withdraw(accountId);
      await expect(world.withdraw(accountId)).rejects.toEqual(refused('top_up_limit'));
      clock.now += 86_400_001;
      expect(await world.withdraw(accountId)).toHaveLength(50);
    });

    it('is refused for a disabled account, a used or expired code, and unfit numbers', async () => {
      const { accountId } = await world.account(50);
      const code = await world.code(accountId);
      const [number] = numbers();
      for (const blinded of [[number, number], [Buffer.alloc(256)], [Buffer.alloc(256, 255)], [Buffer.alloc(255, 1)]]) {
        const unfit = [...blinded, ...numbers()].slice(0, 50) as Buffer[];
        await expect(withdrawLot(world.deps(), lotOf('code', code, { blinded: unfit }))).rejects.toEqual(
          refused('invalid_request'),
        );
      }
      // The key of next year signs only near the end of this one.
      const next = lotOf('code', code, { keyId: keyIdOf(1) });
      await expect(withdrawLot(world.deps(), next)).rejects.toEqual(refused('invalid_request'));
      await pool.query('update accounts set disabled_at = now() where id = $1', [accountId]);
      await expect(withdrawLot(world.deps(), lotOf('code', code))).rejects.toEqual(refused('forbidden'));
      await pool.query('update accounts set disabled_at = null where id = $1', [accountId]);
      clock.now += 600_001;
      await expect(withdrawLot(world.deps(), lotOf('code', code))).rejects.toEqual(refused('forbidden'));
      expect(await world.balance(accountId)).toBe(usd(50));
    });

    it('by two requests with one code happens once: for the same lot both get it, for another one of them', async () => {
      for (const isSame of [true, false]) {
        const { accountId } = await world.account(50);
        const code = await world.code(accountId);
        const lot = lotOf('code', code);
        const other = isSame ? lot : lotOf('code', code);
        const both = await Promise.allSettled([withdrawLot(world.deps(), lot), withdrawLot(world.deps(), other)]);
        expect(both.filter(({ status }) => status === 'fulfilled')).toHaveLength(isSame ? 2 : 1);
        expect(await world.balance(accountId)).toBe(usd(45));
      }
    });

    it('survives the death of control after each step', async () => {
      const { accountId, walletId } = await world.account(7);
      const lot = lotOf('code', await world.code(accountId));
      const { state } = world;
      const diesAfter = {
        ...state,
        reserve: async (request: Parameters<State['reserve']>[0]) => {
          await state.reserve(request);
          throw died;
        },
      };
      await expect(withdrawLot(world.deps({ state: diesAfter }), lot)).rejects.toBe(died);
      expect([await world.balance(accountId), await world.available(walletId)]).toEqual([usd(7), usd(2)]);
      // It cannot be withdrawn twice, and the note goes when its transaction can no longer commit.
      await expect(withdrawLot(world.deps(), lot)).rejects.toEqual(refused('insufficient_balance'));
      await endReservations(world.deps());
      expect(await world.notes()).toHaveLength(1);
      clock.now += 31_000;
      await endReservations(world.deps());
      expect([await world.available(walletId), await world.notes()]).toEqual([usd(7), []]);

      const diesBefore = { ...state, book: () => Promise.reject(new StateUnavailableError('timeout')) };
      const signatures = await withdrawLot(world.deps({ state: diesBefore }), lot);
      expect([await world.balance(accountId), await world.available(walletId)]).toEqual([usd(2), usd(2)]);
      // The projector writes the lower balance while the note is still there: too little is available, never too much.
      await world.projector.account(accountId);
      expect(await world.available(walletId)).toBe(-usd(3));
      clock.now += 31_000;
      await endReservations(world.deps());
      expect([await world.available(walletId), await world.notes()]).toEqual([usd(2), []]);
      expect(await withdrawLot(world.deps(), lot)).toEqual(signatures);
    });

    it('of a wallet that Postgres does not know keeps no other reservation from its end', async () => {
      const { state } = world;
      const ended: unknown[] = [];
      const { walletId } = await world.account(5);
      const notes = ['0'.repeat(32), walletId].map((id) => `reservation:${id}:0:x`);
      const own = {
        ...state,
        readNotes: async (shard: number) => (shard === 0 ? notes : []),
        book: async ({ holdIds }: Parameters<State['book']>[0]) => void ended.push(...holdIds),
      };
      await endReservations(world.deps({ state: own }));
      expect(ended).toEqual(notes.slice(1));
    });

    it('that still runs keeps its reservation, however old it is', async () => {
      const { accountId, walletId } = await world.account(5);
      const { state } = world;
      let ending: Promise<void> = Promise.resolve();
      let isEnded = false;
      const slow = {
        ...state,
        async reserve(request: Parameters<State['reserve']>[0]) {
          const reply = await state.reserve(request);
          clock.now += 60_000;
          ending = endReservations(world.deps()).then(() => {
            isEnded = true;
          });
          await until(async () => {
            const { rowCount } = await pool.query(
              "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
            );
            return rowCount === 1;
          }, 'the other process waits for the account');
          expect([isEnded, await world.available(walletId)]).toEqual([false, 0n]);
          return reply;
        },
      };
      await world.withdraw(accountId, { state: slow });
      await ending;
      expect([await world.balance(accountId), await world.available(walletId), await world.notes()]).toEqual([
        0n,
        0n,
        [],
      ]);
    });

    it('makes the rebuild of a lost shard wait, so that it writes the balance after it', async () => {
      const { accountId, walletId } = await world.account(5);
      const shard = shardOfWallet(walletId);
      const { state, projector, settler } = world;
      const ledger = postgresEpochLedger({ pool, projector, settler, accountRefKey: [keys.ref] });
      let rebuilt: Promise<void> = Promise.resolve();
      let isRecorded = false;
      const loses = {
        ...state,
        async reserve(request: Parameters<State['reserve']>[0]) {
          const reply = await state.reserve(request);
          // The shard loses all. A rebuild begins with an epoch, records it, and then writes balances.
          const at = (await state.readMembers(shard)).epoch ?? 0;
          await state.discardEpoch(shard, at);
          await state.beginEpoch(shard, at + 1);
          rebuilt = ledger.recordEpoch(shard, at + 1).then(async () => {
            isRecorded = true;
            const joined = { declaration: undefined, leaseMs: 1e9 };
            await state.join(shard, joined).catch(() => {});
            await state.join(shard, joined);
            await projector.account(accountId);
            await state.openEpoch(shard);
          });
          await until(async () => {
            const { rowCount } = await pool.query(
              "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
            );
            return rowCount === 1;
          }, 'the rebuild waits for the withdrawal');
          expect(isRecorded).toBe(false);
          return reply;
        },
      };
      await world.withdraw(accountId, { state: loses });
      await rebuilt;
      expect([await world.balance(accountId), await world.available(walletId), await world.notes()]).toEqual([
        0n,
        0n,
        [],
      ]);
    });

    it('is undone where the shard has another epoch than was recorded, or none', async () => {
      const { accountId, walletId } = await world.account(5);
      const shard = shardOfWallet(walletId);
      await pool.query('update shard_epochs set epoch = epoch + 1 where shard = $1', [shard]);
      await expect(world.withdraw(accountId)).rejects.toEqual(refused('service_unavailable'));
      await pool.query('update shard_epochs set epoch = epoch - 1 where shard = $1', [shard]);
      const { epoch: at = 0 } = await world.state.readMembers(shard);
      await world.state.discardEpoch(shard, at);
      await expect(world.withdraw(accountId)).rejects.toThrow(StateUnavailableError);
      expect(await world.balance(accountId)).toBe(usd(5));
    });
  });

  describe('a deposit', () => {
    it('makes a wallet with 5 USD, whose key opens no compatibility mode, and is accepted again', async () => {
      await world.fund();
      const tokens = credits(50);
      const wallet = await world.wallet({ tokens });
      expect(await world.available(wallet.walletId)).toBe(usd(5));
      expect(await world.hold(wallet, usd(5))).toBeDefined();
      const again = await world.wallet({ tokens: tokens.toReversed(), keyHash: wallet.keyHash, secret: wallet.secret });
      expect(again.accountId).toBe(wallet.accountId);
      const { rows } = await pool.query('select openai_compatible from api_keys where id = $1', [wallet.keyId]);
      expect(rows).toEqual([{ openai_compatible: false }]);
      await expect(world.wallet({ tokens })).rejects.toEqual(
        expect.objectContaining({ type: 'credits_spent', param: Array.from({ length: 50 }, (_, at) => at).join(',') }),
      );
      await expect(world.wallet({ keyHash: wallet.keyHash })).rejects.toEqual(refused('conflict'));
    });

    it('that is refused, or was accepted before, opens no transaction, and neither does such an order', async () => {
      await world.fund();
      const tokens = credits(50);
      const { accountId, ...own } = await world.wallet({ tokens });
      const database = withoutTransactions();
      await expect(world.wallet({ tokens, database })).rejects.toMatchObject({ type: 'credits_spent' });
      expect((await world.wallet({ tokens, ...own, database })).accountId).toBe(accountId);
      for (const taken of [{ keyHash: own.keyHash }, { secret: own.secret }]) {
        await expect(world.wallet({ ...taken, database })).rejects.toEqual(refused('conflict'));
      }
      const asked = { keyHash: own.keyHash, closeHash: hashSecret(randomUUID()), packageId: 'usd-10' };
      const ordered = orderWallet({ ...(await world.orders()), pool: database }, asked);
      await expect(ordered).rejects.toEqual(refused('conflict'));
      await expect(world.wallet({ database })).rejects.toThrow('a transaction');
    });

    it('repeated at once gets the same wallet each time', async () => {
      await world.fund();
      const own = { tokens: credits(50), keyHash: hashSecret(randomUUID()), secret: randomUUID() as string };
      const made = await Promise.all(Array.from({ length: 12 }, () => world.wallet(own)));
      expect(new Set(made.map(({ accountId }) => accountId)).size).toBe(1);
    });

    it('of credits that another deposit has, in another order and at once, succeeds for one of them', async () => {
      await world.fund(2);
      const common = credits(13);
      const tokens = [...common, ...credits(37)];
      const other = [...credits(37), ...common.toReversed()];
      const both = await Promise.allSettled([world.wallet({ tokens }), world.wallet({ tokens: other })]);
      const [lost] = both.filter((each) => each.status === 'rejected');
      expect(both.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      expect((lost as PromiseRejectedResult).reason).toMatchObject({ type: 'credits_spent' });
      expect((lost as PromiseRejectedResult).reason.param.split(',')).toHaveLength(13);
      await world.close('x').catch(() => {});
      // The refused deposit spent nothing.
      const left = (both[0]?.status === 'rejected' ? tokens : other).filter((token) => !common.includes(token));
      expect(await world.wallet({ tokens: [...left, ...credits(13)] })).toBeDefined();
    });

    it('refuses forged credits, of another issuer, repeated or of unknown keys, before it looks at any', async () => {
      const forged = credit();
      forged[353] = (forged[353] ?? 0) ^ 1;
      const unknown = credit({ key: generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey });
      const [one] = credits(1);
      for (const bad of [[forged], [credit({ issuerName: 'planted.example' })], [one, one], [unknown]]) {
        const tokens = [...bad, ...credits(50)].slice(0, 50) as Buffer[];
        await expect(world.wallet({ tokens })).rejects.toEqual(refused('invalid_request'));
      }
    });

    it('takes credits of two keys, and stops a key of which more are deposited than were signed', async () => {
      await world.fund();
      const before = await pool.query(
        'select coalesce(sum(issued - spent), 0)::int as left from credit_keys where key_id = $1',
        [keyIdOf()],
      );
      const spare = before.rows[0]?.left as number;
      // Somebody else has the key of next year, of which nothing was signed.
      await expect(world.wallet({ tokens: [...credits(25), ...credits(25, 1)] })).rejects.toEqual(refused('conflict'));
      expect(world.findings).toHaveLength(1);
      await expect(world.wallet({ tokens: credits(50, 1) })).rejects.toEqual(refused('conflict'));
      expect(world.findings).toHaveLength(1);
      expect(await auditLedger(pool)).toEqual([expect.objectContaining({ id: keyIdOf(1) })]);
      await pool.query('update credit_keys set stopped_at = null');
      // The other key goes on.
      const after = await pool.query('select (issued - spent)::int as left from credit_keys where key_id = $1', [
        keyIdOf(),
      ]);
      expect(after.rows[0]?.left).toBe(spare);
      expect(await world.wallet()).toBeDefined();
    });
  });

  describe('closing a wallet', () => {
    it('waits for requests, then turns the balance into credits with one draw, once', async () => {
      await world.fund();
      const wallet = await world.wallet();
      const held = await world.hold(wallet, usd(2));
      const lot = lotOf('close', wallet.secret);
      await expect(closeWallet(world.deps(), lot)).rejects.toEqual(refused('conflict'));
      expect(await world.hold(wallet, 1n), 'its key is revoked at once').toBeUndefined();
      await world.settle(wallet, held ?? '', { chargeNusd: usd(1.27) });
      await expect(closeWallet(world.deps(), lot)).rejects.toEqual(refused('conflict'));
      await world.book();
      // 3.73 USD are 37 credits and 3 tenths of one.
      const draws: number[] = [];
      const random = (below: number): number => {
        draws.push(below);
        return 29_999_999;
      };
      expect(await closeWallet(world.deps({ random }), lot)).toHaveLength(38);
      expect(await closeWallet(world.deps({ random: () => 99_999_999 }), lot)).toHaveLength(38);
      expect(draws).toEqual([100_000_000]);
      await expect(world.close(wallet.secret)).rejects.toEqual(refused('conflict'));
      expect([await world.balance(wallet.accountId), await world.available(wallet.walletId)]).toEqual([0n, 0n]);
      // The same lot, sent to the other route, is worth nothing.
      await expect(
        withdrawLot(world.deps(), { ...lot, paidBy: { kind: 'code', secret: wallet.secret } }),
      ).rejects.toEqual(refused('forbidden'));
      await expect(world.close('another secret')).rejects.toEqual(refused('not_found'));
    });

    it('of an account that the operator disabled is refused and changes nothing, also if that happens meanwhile', async () => {
      await world.fund();
      const wallet = await world.wallet();
      const setDisabled = async (at: Date | null): Promise<void> => {
        await pool.query('update accounts set disabled_at = $2 where id = $1', [wallet.accountId, at]);
      };
      await setDisabled(new Date());
      await expect(world.close(wallet.secret)).rejects.toEqual(refused('forbidden'));
      await setDisabled(null);
      const held = await world.hold(wallet, usd(5));
      expect(held, 'its key was not revoked').toBeDefined();
      await world.state.cancel(shardOfWallet(wallet.walletId), held ?? '');
      // Between the two transactions of a closing.
      const projector = { ...world.projector, key: () => setDisabled(new Date()) } as never;
      await expect(world.close(wallet.secret, { projector })).rejects.toEqual(refused('forbidden'));
      expect([await world.balance(wallet.accountId), await world.notes()]).toEqual([usd(5), []]);
      await setDisabled(null);
      expect(await world.close(wallet.secret)).toHaveLength(50);
    });

    it('rounds without bias: a rest of three tenths is a credit in three of ten draws', async () => {
      await world.fund();
      const wallet = await world.wallet();
      const held = await world.hold(wallet, usd(1));
      await world.settle(wallet, held ?? '', { chargeNusd: usd(0.97) });
      await world.book();
      expect(await world.close(wallet.secret, { random: () => 30_000_000 })).toHaveLength(40);
      expect(await world.balance(wallet.accountId)).toBe(0n);
    });

    it('by two lots at once signs one of them', async () => {
      await world.fund();
      const wallet = await world.wallet();
      const both = await Promise.allSettled([world.close(wallet.secret), world.close(wallet.secret)]);
      expect(both.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      const lot = lotOf('close', wallet.secret);
      await expect(closeWallet(world.deps(), lot)).rejects.toEqual(refused('conflict'));
    });

    it('survives the death of control after each step, and draws once', async () => {
      await world.fund();
      const wallet = await world.wallet();
      const lot = lotOf('close', wallet.secret);
      const { state, projector } = world;
      const failing = (own: Partial<LotDependencies>) => closeWallet(world.deps({ random: () => 0, ...own }), lot);
      await expect(failing({ projector: { ...projector, key: () => Promise.reject(died) } as never })).rejects.toBe(
        died,
      );
      const diesReserving = {
        ...state,
        reserve: (request: Parameters<State['reserve']>[0]) => state.reserve(request).then(() => Promise.reject(died)),
      };
      await expect(failing({ state: diesReserving })).rejects.toBe(died);
      await expect(failing({})).rejects.toEqual(refused('conflict'));
      clock.now += 31_000;
      await endReservations(world.deps());
      const diesTelling = { ...state, book: () => Promise.reject(new StateUnavailableError('timeout')) };
      const signatures = await failing({ state: diesTelling });
      expect(signatures).toHaveLength(50);
      expect(await failing({ random: () => 1 })).toEqual(signatures);
      clock.now += 31_000;
      await endReservations(world.deps());
      expect([await world.available(wallet.walletId), await world.notes()]).toEqual([0n, []]);
    });

    it('leaves a charge that arrives later to the operator', async () => {
      await world.fund();
      const wallet = await world.wallet();
      const held = (await world.hold(wallet, usd(1))) ?? '';
      // Its broker was taken for dead, so its hold was released.
      await world.state.cancel(shardOfWallet(wallet.walletId), held);
      expect(await world.close(wallet.secret)).toHaveLength(50);
      await world.settle(wallet, held, { chargeNusd: usd(0.5) });
      await world.book();
      expect(world.shortfalls).toEqual([usd(0.5)]);
      expect(await world.balance(wallet.accountId)).toBe(0n);
    });
  });

  describe('a wallet that crypto paid for', () => {
    it('has its hashes alone: of an order and a deposit of them at once, one succeeds and the other changes nothing', async () => {
      const orders = await world.orders();
      for (let round = 0; round < 4; round += 1) {
        await world.fund();
        const tokens = credits(50);
        const secret = randomUUID();
        const keyHash = hashSecret(randomUUID());
        // The same key, or the same secret.
        const own = round % 2 === 0 ? { keyHash } : { secret };
        const order = () => orderWallet(orders, { keyHash, closeHash: hashSecret(secret), packageId: 'usd-10' });
        const deposit = () => world.wallet({ tokens, ...own });
        const [ordered, deposited] = await Promise.allSettled([order(), deposit()]);
        const lost = [ordered, deposited].filter((each) => each.status === 'rejected');
        expect(lost).toEqual([{ status: 'rejected', reason: refused('conflict') }]);
        if (deposited.status === 'rejected') expect((await world.wallet({ tokens })).accountId).toBeDefined();
      }
    });

    it('is used like any, and turns into credits lot by lot, with one draw', async () => {
      const wallet = await world.paidWallet();
      expect(await world.available(wallet.walletId)).toBe(usd(10));
      const held = (await world.hold(wallet, usd(2))) ?? '';
      await world.settle(wallet, held, { chargeNusd: usd(1.27) });
      await world.book();
      const lots = [1, 2, 3].map(() => lotOf('close', wallet.secret));
      const draws: number[] = [];
      const random = (below: number): number => {
        draws.push(below);
        return 0;
      };
      const signed: Buffer[][] = [];
      const left: boolean[] = [];
      for (const lot of lots.slice(0, 2)) {
        signed.push(await closeWallet(world.deps({ random }), lot));
        left.push(await hasMore(pool, wallet.secret));
      }
      // 8.73 USD are 87 credits and 3 tenths of one, which was drawn.
      expect([signed.map(({ length }) => length), left]).toEqual([
        [50, 38],
        [true, false],
      ]);
      for (const [at, lot] of lots.slice(0, 2).entries())
        expect(await closeWallet(world.deps(), lot)).toEqual(signed[at]);
      await expect(closeWallet(world.deps(), lots[2] as Lot)).rejects.toEqual(refused('conflict'));
      expect([await world.balance(wallet.accountId), await world.available(wallet.walletId)]).toEqual([0n, 0n]);
    });

    it('closed by many lots at once is worth its balance', async () => {
      const wallet = await world.paidWallet('usd-25');
      const all = await Promise.allSettled(Array.from({ length: 8 }, () => world.close(wallet.secret)));
      const count = () =>
        pool.query<{ count: number }>(
          'select coalesce(sum(count), 0)::int as count from credit_issuances where account_id = $1',
          [wallet.accountId],
        );
      // 25 USD are five lots. Others find another's reservation, or nothing any more.
      for (const each of all) if (each.status === 'rejected') expect(each.reason).toEqual(refused('conflict'));
      while (await hasMore(pool, wallet.secret)) await world.close(wallet.secret);
      expect((await count()).rows[0]?.count).toBe(250);
      expect(await world.balance(wallet.accountId)).toBe(0n);
    });
  });

  it('gives wallets no waived charges, because making one costs nothing', async () => {
    await world.fund();
    const wallet = await world.wallet();
    const held = (await world.hold(wallet, usd(1))) ?? '';
    await world.settle(wallet, held, { chargeNusd: usd(0.01), waivable: true });
    await world.book();
    expect(await world.balance(wallet.accountId)).toBe(usd(4.99));
  });

  it('adds up after any mixture of steps at once', async () => {
    const people = await Promise.all([world.account(60), world.account(35)]);
    const wallets: Awaited<ReturnType<World['wallet']>>[] = [];
    let signed = 0;
    const attempt = <T>(work: Promise<T>): Promise<T | undefined> =>
      work.catch((error: unknown) => {
        if (error instanceof ServiceError) return undefined;
        throw error;
      });
    for (let round = 0; round < 12; round += 1) {
      await Promise.all(
        Array.from({ length: 5 }, async () => {
          const what = randomInt(4);
          const person = people[randomInt(2)];
          const wallet = wallets[randomInt(Math.max(1, wallets.length))];
          if (what === 0 && person !== undefined)
            signed += (await attempt(world.withdraw(person.accountId)))?.length ?? 0;
          if (what === 1 && signed >= 50) {
            signed -= 50;
            wallets.push(await world.wallet());
          }
          if (what === 2 && wallet !== undefined) {
            const held = await world.hold(wallet, usd(0.9));
            if (held !== undefined) await world.settle(wallet, held, { chargeNusd: BigInt(randomInt(900_000_000)) });
          }
          if (what === 3 && wallet !== undefined) signed += (await attempt(world.close(wallet.secret)))?.length ?? 0;
        }),
      );
      await world.book();
    }
    expect(world.shortfalls).toEqual([]);
    for (const { accountId, walletId } of [...people, ...wallets]) {
      expect(await world.available(walletId)).toBe(await world.balance(accountId));
    }
    expect(await world.notes()).toEqual([]);
  });
});

test.each([
  [{ ANONYMOUS_WALLETS: 'off', CREDIT_KEYS_FILE: '/x' }, undefined, { ok: true, settings: undefined }],
  [{ ANONYMOUS_WALLETS: 'on', CREDIT_KEYS_FILE: '/x' }, undefined, { ok: true, settings: '/x' }],
  [{ ANONYMOUS_WALLETS: 'on' }, undefined, { ok: false, message: expect.stringContaining('CREDIT_KEYS_FILE') }],
  [{ ANONYMOUS_WALLETS: 'on', CREDIT_KEYS_FILE: '/x' }, 0n, { ok: false, message: expect.stringContaining('BILLING') }],
] as const)('the settings %o with a monthly grant of %s', (env, monthlyGrantNusd, result) => {
  expect(readCreditKeysFile({ CREDIT_KEYS_FILE: undefined, ...env }, { monthlyGrantNusd })).toEqual(result);
});

/** The database for code that must only query it. A transaction needs a connection of its own. */
const withoutTransactions = (): typeof pool =>
  ({ query: pool.query.bind(pool), connect: () => Promise.reject(new Error('a transaction')) }) as never;

describe('the file of issuer keys', () => {
  const read = async (text: string) => {
    const file = join(folder, `${randomUUID()}.yaml`);
    await writeFile(file, text);
    return readIssuer(file);
  };
  const [key] = issuerKeys;
  const of = (pemOf: string, year = 2026) => ({ year, pem: pemOf });

  it('may have public keys, which only redeem', async () => {
    const result = await read(yamlOf([of(pem(key?.publicKey as KeyObject))]));
    if (!result.ok) throw new Error(result.message);
    expect(result.settings.read(credit())).toMatchObject({ keyId: keyIdOf() });
    expect(result.settings.signs(keyIdOf(), clock.now)).toBe(false);
    expect(result.settings.published.keys).toEqual([
      { year: 2026, key: spkiOf(key?.publicKey as KeyObject).toString('base64url') },
    ]);
  });

  it('is refused without quoting it', async () => {
    const weak = generateKeyPairSync('rsa', { modulusLength: 3072 }).privateKey;
    const good = pem(key?.privateKey as KeyObject);
    const bad = [
      'issuer: [',
      'issuer: UPPER\nkeys: []',
      yamlOf([of(pem(weak))]),
      yamlOf([of('SECRET WORDS')]),
      yamlOf([of(good), of(good, 2027)]),
    ];
    for (const text of [...bad, yamlOf([of(good), of(good)])]) {
      const result = await read(text);
      expect(result.ok).toBe(false);
      expect(JSON.stringify(result)).not.toMatch(/SECRET|BEGIN/);
    }
    expect((await readIssuer('/none')).ok).toBe(false);
  });

  it('signs by the key of the year, and of a day before and after', async () => {
    const at = (text: string) => issuerKeys.map((_, index) => issuer.signs(keyIdOf(index), Date.parse(text)));
    expect(at('2026-12-30T12:00:00Z')).toEqual([true, false]);
    expect(at('2026-12-31T12:00:00Z')).toEqual([true, true]);
    expect(at('2027-01-01T12:00:00Z')).toEqual([true, true]);
    expect(at('2027-01-02T12:00:00Z')).toEqual([false, true]);
  });
});

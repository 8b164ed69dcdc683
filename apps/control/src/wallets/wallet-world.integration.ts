import { constants, createHash, generateKeyPairSync, type KeyObject, randomBytes, randomUUID, sign } from 'node:crypto';
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
  sealAccountRef,
  shardOfWallet,
  shards,
  signSettlement,
} from '@sotto/state';
import { noteSkip, redisSkipReason, startTestRedis, type TestRedis, until } from '@sotto/test-servers';
import { creditChallenge, creditInput, creditSpki } from '@sotto/wire';
import type pg from 'pg';
import { afterAll, afterEach, beforeEach, describe, expect } from 'vitest';
import { createAccount } from '../accounts/ensure-account.ts';
import { parseBilling } from '../billing/billing-plan.ts';
import { builtInBilling } from '../billing/billing-settings.ts';
import { applyEvent } from '../billing/orders/apply-event.ts';
import { orderErrors } from '../billing/orders/order-errors.ts';
import { type AskedWallet, orderWallet as placeWalletOrder } from '../billing/orders/order-wallet.ts';
import type { PlaceDependencies } from '../billing/orders/place-order.ts';
import { inTransaction } from '../database/in-transaction.ts';
import { orError } from '../database/refused.ts';
import { creditWithin, ledgerAccounts } from '../ledger/post-transaction.ts';
import { postgresSettlementLedger } from '../ledger/settlement-ledger.ts';
import { auditLedger } from '../money-audit/audit-ledger.ts';
import { Projector } from '../projection/projector.ts';
import { Settler } from '../settler/settler.ts';
import { postgresEpochLedger } from '../shards/epoch-ledger.ts';
import { openTestDatabase, settledChat } from '../testing/test-database.integration.ts';
import type { Batch, CreditsDependencies } from './batch.ts';
import { closeWallet as closeOrRefuse } from './close-wallet.ts';
import { depositCredits, findWallet, readDeposit, type Wallet } from './deposit.ts';
import { type Issuer, readIssuer } from './issuer.ts';
import { walletErrors } from './wallet-errors.ts';
import { withdrawCredits as withdrawOrRefuse } from './withdraw-credits.ts';

export let pool: pg.Pool;
export let folder: string;
export let issuer: Issuer;
let redis: TestRedis | undefined;

/** A file of tests begins with this. Its database, folder and issuer end with it. */
export async function useWallets(): Promise<void> {
  redis = await startTestRedis();
  if (redis === undefined) noteSkip('anonymous wallets on a real Redis', redisSkipReason);
  ({ pool } = await openTestDatabase());
  folder = await mkdtemp(join(tmpdir(), 'sotto-wallets-'));
  issuer = await writtenIssuer();
  afterAll(async () => {
    await redis?.stop();
    await rm(folder, { recursive: true, force: true });
  });
}

export const clock = { now: Date.parse('2026-11-15T12:00:00Z') };
export const issuerKeys = [2026, 2027].map((year) => ({
  year,
  ...generateKeyPairSync('rsa', { modulusLength: 2048 }),
}));
export const pem = (key: KeyObject): string =>
  key.export({ format: 'pem', type: key.type === 'private' ? 'pkcs8' : 'spki' }).toString();
export const yamlOf = (keys: readonly { year: number; pem: string }[]): string =>
  `issuer: issuer.example\nkeys:\n${keys.map(({ year, pem: text }) => `  - year: ${year}\n    pem: |\n      ${text.trim().replaceAll('\n', '\n      ')}\n`).join('')}`;

// As the routes serve them, so that tests see the errors that clients get.
export const withdrawCredits = async (deps: CreditsDependencies, batch: Batch): Promise<Buffer[]> =>
  orError(await withdrawOrRefuse(deps, batch), walletErrors);
export const closeWallet = async (deps: CreditsDependencies, batch: Batch): Promise<Buffer[]> =>
  orError(await closeOrRefuse(deps, batch), walletErrors);
export const orderWallet = async (deps: PlaceDependencies, asked: AskedWallet) =>
  orError(await placeWalletOrder(deps, asked), orderErrors);

async function writtenIssuer(): Promise<Issuer> {
  const file = join(folder, 'keys.yaml');
  await writeFile(file, yamlOf(issuerKeys.map(({ year, privateKey }) => ({ year, pem: pem(privateKey) }))));
  const read = await readIssuer(file);
  if (!read.ok) throw new Error(read.message);
  return read.settings;
}

export const spkiOf = (key: KeyObject): Buffer => Buffer.from(creditSpki(key.export({ format: 'der', type: 'pkcs1' })));
const sha256 = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest();
export const keyIdOf = (at = 0): string => sha256(spkiOf(issuerKeys[at]?.publicKey as KeyObject)).toString('hex');

/** A credit that the issuer's key signs directly. How it came about does not matter to a deposit. */
export function credit({
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
export const credits = (count: number, at = 0): Buffer[] => Array.from({ length: count }, () => credit({ at }));

export const numbers = (): Buffer[] =>
  Array.from({ length: 50 }, () => {
    const number = randomBytes(256);
    number[0] = 0;
    return number;
  });
export const batchOf = (kind: Batch['paidBy']['kind'], secret: string, more: Partial<Batch> = {}): Batch => ({
  ...{ keyId: keyIdOf(), blinded: numbers(), paidBy: { kind, secret } },
  ...more,
});

export const keys = { mac: randomBytes(32), ref: randomBytes(32) };
const quiet = (): void => {};
let orderedAt = clock.now;
export const usd = (amount: number): bigint => BigInt(Math.round(amount * 1e9));

interface Planes {
  readonly state: State;
  readonly projector: Projector;
  readonly settler: Settler;
}

/** What happens to wallets on one driver of the state. Each test finds an empty state. Use it only within tests and hooks. */
export class World {
  readonly shortfalls: bigint[] = [];
  readonly findings: string[] = [];
  #planes: Planes | undefined;

  get #begun(): Planes {
    return this.#planes ?? expect.unreachable('a test begins a state first');
  }

  get state(): State {
    return this.#begun.state;
  }

  get projector(): Projector {
    return this.#begun.projector;
  }

  get settler(): Settler {
    return this.#begun.settler;
  }

  /** Opens an epoch of every shard in a new state. */
  async begin(state: State): Promise<void> {
    this.shortfalls.length = 0;
    this.findings.length = 0;
    const projector = new Projector({
      ...{ pool, state, accountRefKey: keys.ref, limits: { requests: 1e6, tokens: 1e6 } },
      events: { projected: quiet, unreadablePreferences: quiet },
    });
    const settler = new Settler({
      ...{ ledger: postgresSettlementLedger(pool), state, settlementMacKey: [keys.mac], accountRefKey: [keys.ref] },
      events: {
        shortfall: ({ shortfallNusd }) => void this.shortfalls.push(shortfallNusd),
        ...{ used: () => {}, waived: quiet, booked: quiet, settlementRejected: quiet },
      },
    });
    this.#planes = { state, projector, settler };
    await until(
      () =>
        state.readMembers(0).then(
          () => true,
          () => false,
        ),
      'the state is reachable',
    );
    const ledger = postgresEpochLedger({ pool, projector, settler, accountRefKey: [keys.ref] });
    for (const shard of shards) {
      const epoch = await ledger.epochOf(shard);
      const { epoch: old } = await state.readMembers(shard);
      if (old !== undefined) await state.discardEpoch(shard, old);
      await state.beginEpoch(shard, epoch + 1);
      await ledger.recordEpoch(shard, epoch + 1);
      // The first attempt learns of the epoch.
      const join = () => state.join(shard, { declaration: undefined, leaseMs: 1e9 });
      await join().catch(join);
      await state.openEpoch(shard);
    }
  }

  deps(own: Partial<CreditsDependencies> = {}): CreditsDependencies {
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

  async code(accountId: string, lots = 1): Promise<string> {
    const code = randomUUID();
    await pool.query(
      `insert into credit_codes (account_id, code_hash, expires_at, lots) values ($1, $2, $3, $4) on conflict (account_id)
       do update set code_hash = excluded.code_hash, expires_at = excluded.expires_at, lots = excluded.lots`,
      [accountId, hashSecret(code), new Date(clock.now + 600_000), lots],
    );
    return code;
  }

  async withdraw(accountId: string, own: Partial<CreditsDependencies> = {}): Promise<Buffer[]> {
    return withdrawCredits(this.deps(own), batchOf('code', await this.code(accountId)));
  }

  /** Withdraws as many batches as 50 new credits of each key need, and deposits the credits. */
  async wallet({
    tokens = credits(50),
    keyHash = hashSecret(randomUUID()),
    secret = randomUUID() as string,
    database = pool,
  } = {}) {
    const deposit = orError(readDeposit(issuer, { keyHash, closeHash: hashSecret(secret), tokens }), walletErrors);
    const made = await depositCredits(
      { pool: database, issuer, events: { auditFinding: ({ what }) => this.findings.push(what) } },
      deposit,
    );
    return this.projected(orError(made, walletErrors), { keyHash, secret });
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

  /** Signs a batch from an account that pays for it, so that 50 credits may be deposited. */
  async fund(batches = 1): Promise<void> {
    for (let batch = 0; batch < batches; batch += 1) await this.withdraw((await this.account(5)).accountId);
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

  close(secret: string, own: Partial<CreditsDependencies> = {}): Promise<Buffer[]> {
    return closeWallet(this.deps(own), batchOf('close', secret));
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

const driversOn = (url: string | undefined) => [
  {
    driver: 'memory',
    start: async () => createMemoryState({ store: new MemoryStore(() => clock.now), newClient: controlClient }),
  },
  ...(url === undefined
    ? []
    : [
        {
          driver: 'Redis',
          start: async () => createRedisState({ url, clock: () => clock.now, newClient: controlClient }),
        },
      ]),
];
export const refused = (type: string) => expect.objectContaining({ type });
export const died = new Error('control died');
/** The database for code that must only query it. A transaction needs a connection of its own. */
export const withoutTransactions = (): typeof pool =>
  ({ query: pool.query.bind(pool), connect: () => Promise.reject(new Error('a transaction')) }) as never;

/** Runs tests of anonymous wallets with the state in memory and in Redis. After each test the ledger must add up. */
export function describeWallets(name: string, tests: (world: World) => void): void {
  describe.each(driversOn(redis?.url))(`${name}, with the state in $driver`, ({ start }) => {
    const world = new World();
    beforeEach(async () => {
      clock.now = Date.parse('2026-11-15T12:00:00Z');
      await world.begin(await start());
    });
    afterEach(async () => {
      expect(await auditLedger(pool)).toEqual([]);
      await world.state.close();
    });

    tests(world);
  });
}

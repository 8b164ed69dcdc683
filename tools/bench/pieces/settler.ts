import { randomUUID } from 'node:crypto';
import { bookSettlements, createAccount, creditAccount, insertKey } from '@sotto/control';
import {
  type AccountRef,
  createRedisState,
  hashSecret,
  monthOf,
  type Settlement,
  type State,
  sealAccountRef,
  shardOfWallet,
  shards,
  signSettlement,
} from '@sotto/state';
import { startOwnRedis } from '@sotto/test-servers';
import pg from 'pg';
import { startOwnPostgres } from '../../../test/kit/postgres.ts';
import { until } from '../../../test/kit/service.ts';
import { cpuMicroseconds, familyMicroseconds } from '../cpu.ts';
import { bareControl } from '../usage/serve.ts';

/**
 * Measures how many settlements per second are booked: by `bookSettlements` in batches of 500, and by the settler from
 * Redis to Postgres and back. It uses 200 accounts, 400 keys and 50 models. Both databases write to disk at every
 * commit. `--quick` uses fewer settlements.
 */
const quick = process.argv.includes('--quick');
const count = quick ? 10_000 : 40_000;
const batchSize = 500;
const accountRefKey = Buffer.alloc(32, 1);
const settlementMacKey = Buffer.alloc(32, 2);

const postgres = await startOwnPostgres({ durability: 'full' });
const databaseUrl = await postgres.createDatabase();
const pool = new pg.Pool({ connectionString: databaseUrl, max: 10, pipeline: true });

interface Payer extends AccountRef {
  readonly walletId: string;
  readonly keyHash: string;
}

const payers: Payer[] = [];
for (let made = 0; made < 200; made += 1) {
  const {
    accountId,
    walletId,
    defaultWorkspaceId: workspaceId,
  } = await createAccount(pool, {
    userId: undefined,
    name: `bench ${made}`,
  });
  await creditAccount(pool, { accountId, amountNusd: 10n ** 13n, kind: 'top_up', reference: `bench:${accountId}` });
  for (const name of ['one', 'two']) {
    const { key } = await insertKey(pool, {
      accountId,
      workspaceId,
      kind: 'inference',
      name,
      creditLimitNusd: undefined,
      openaiCompatible: true,
    });
    const keyHash = hashSecret(key);
    const { rows } = await pool.query<{ id: string }>('select id from api_keys where hash = $1', [keyHash]);
    payers.push({ accountId, workspaceId, keyId: rows[0]?.id ?? '', walletId, keyHash });
  }
}

console.log(`${count} settlements, batches of ${batchSize}; CPU in µs a settlement.\n`);
await measure('bookSettlements', async () => {
  const batches = Array.from({ length: count / batchSize }, () =>
    Array.from({ length: batchSize }, () => {
      const owner = anyPayer();
      return { owner, settlement: settlementOf(randomUUID(), owner) };
    }),
  );
  return async () => {
    for (const batch of batches) await bookSettlements(pool, batch);
  };
});

const redis = await startOwnRedis({ appendOnly: true });
if (redis === undefined) console.log('Skipped the settler: Redis was not found. Install redis-server and run again.');
else {
  const state = createRedisState({ url: redis.url, commandTimeoutMs: 10_000 });
  const settler = await realSettler(state);
  await measure(
    'settler, Redis to Postgres and back',
    async () => {
      await inParallel(64, count, () => leaveSettlement(state, anyPayer()));
      return async () => {
        while ((await settler.settleAll()).isMore);
      };
    },
    redis.pid,
  );
  await state.close();
  await redis.stop();
}
const { rows } = await pool.query<{ booked: string; summed: string }>(
  'select (select count(*) from settlements) as booked, (select sum(requests) from usage_daily) as summed',
);
console.log(`\nbooked ${rows[0]?.booked}, in the daily sums ${rows[0]?.summed}`);
await pool.end();
await postgres.stop();
process.exit(0);

/** Control's settler, without the rest of control. */
async function realSettler(state: State): Promise<{ settleAll(): Promise<{ readonly isMore: boolean }> }> {
  const control = await bareControl(state, databaseUrl, {
    ACCOUNT_REF_KEY: accountRefKey,
    SETTLEMENT_MAC_KEY: settlementMacKey,
  });
  await until(async () => {
    await control.epochs.maintain().catch(() => {});
    return control.epochs.isSettled;
  }, 'the state is open');
  for (const shard of shards) await state.join(shard, { declaration: undefined, leaseMs: 3_600_000 });
  return control.settler;
}

/** Leaves the state that a broker leaves after a request: a hold that was placed and charged. */
async function leaveSettlement(state: State, payer: Payer): Promise<void> {
  const { walletId, keyHash } = payer;
  const shard = shardOfWallet(walletId);
  const holdId = randomUUID();
  const settlement = settlementOf(holdId, payer);
  const reply = await state.redeem({
    shard,
    right: { kind: 'key', keyHash },
    generation: (await state.lookupKey(keyHash))?.generation,
    holdId,
    amountNusd: 10_000_000n,
    estimatedTokens: 1,
  });
  if (reply.result !== 'admitted') throw new Error(reply.result);
  const entry = signSettlement(settlementMacKey, settlement);
  await state.settle({ shard, holdId, chargeNusd: BigInt(settlement.chargeNusd), usedTokens: 1, entry });
}

/** Draws keys and models as in real use: a fifth of the keys makes half of the requests, and one model gets a third. */
function anyPayer(): Payer {
  const payer = payers[Math.floor(payers.length * Math.random() ** 2)];
  if (payer === undefined) throw new Error('no payers');
  return payer;
}

function settlementOf(id: string, owner: AccountRef): Settlement {
  const model = Math.floor(50 * Math.random() ** 3);
  return {
    v: 1,
    id,
    kind: 'charge',
    accountRef: sealAccountRef(accountRefKey, owner),
    chargeNusd: String(Math.floor(Math.random() * 5_000_000)),
    at: Math.floor(Date.now() / 60_000) * 60_000,
    operation: 'chat',
    model: `creator-${model % 7}/model-${model}`,
    provider: `provider-${(model + (model % 5 === 0 ? Math.floor(Math.random() * 3) : 0)) % 9}`,
    privacyClass: 'private',
    promptTokens: Math.floor(Math.random() * 4000),
    cachedTokens: 0,
    completionTokens: Math.floor(Math.random() * 1000),
    reasoningTokens: 0,
    attempts: 1,
    fallback: false,
    status: 'completed',
    estimated: false,
    month: monthOf(Date.now()),
  };
}

async function measure(name: string, prepare: () => Promise<() => Promise<void>>, redisPid?: number): Promise<void> {
  const run = await prepare();
  const before = { node: process.cpuUsage(), postgres: familyMicroseconds(postgres.pid), redis: redisCpu(redisPid) };
  const startedAt = performance.now();
  await run();
  const ms = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(before.node);
  const per = (us: number): string => (us / count).toFixed(0);
  console.log(
    `${name}: ${((count * 1000) / ms).toFixed(0)} settlements/s; CPU: node ${per(user + system)}, ` +
      `postgres ${per(familyMicroseconds(postgres.pid) - before.postgres)}` +
      `${redisPid === undefined ? '' : `, redis ${per(redisCpu(redisPid) - before.redis)}`}`,
  );
}

function redisCpu(pid: number | undefined): number {
  return pid === undefined ? 0 : cpuMicroseconds([pid]);
}

async function inParallel(workers: number, times: number, act: () => Promise<void>): Promise<void> {
  let left = times;
  const worker = async (): Promise<void> => {
    for (; left > 0; ) {
      left -= 1;
      await act();
    }
  };
  await Promise.all(Array.from({ length: workers }, worker));
}

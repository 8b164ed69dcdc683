import { hash } from 'node:crypto';
import { budgetIdOf, hashSecret, shards, workspaceIdOf } from '@sotto/state';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bearer } from '../../kit/client.ts';
import { answerChat } from '../../kit/provider.ts';
import { lapseLeases, openHolds } from '../../kit/redis-holds.ts';
import { type RedisExchange, type RedisWire, startRedisWire } from '../../kit/redis-wire.ts';
import { post } from '../../kit/send.ts';
import { type Service, type TestAccount, until } from '../../kit/service.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';
import { oneModel } from '../../kit/stage/one-model.ts';

/** Texts that a reply must not contain. */
interface Secrets {
  /** Never allowed: wallets, and the holds of other brokers. */
  readonly never: ReadonlySet<string>;
  /** Hashes of keys and tickets: allowed only in the reply to a command that names them. */
  readonly unasked: ReadonlySet<string>;
}

/** The forbidden texts in replies, each with its command. */
const leaksIn = (exchanges: readonly RedisExchange[], { never, unasked }: Secrets): string[] =>
  exchanges.flatMap(({ words, reply }) => [
    ...[...never].filter((text) => reply.includes(text)).map((text) => `${words.slice(0, 5).join(' ')}: ${text}`),
    ...[...unasked]
      .filter((text) => reply.includes(text) && !words.some((word) => word.includes(text)))
      .map((text) => `${words.slice(0, 5).join(' ')}: ${text}`),
  ]);

/** The long words of the replies to commands that name one of these: names, hashes and digests, and field names. */
const namesIn = (exchanges: readonly RedisExchange[], asked: ReadonlySet<string>): ReadonlySet<string> =>
  new Set(
    exchanges
      .filter(({ words }) => words.some((word) => asked.has(word)))
      .flatMap(({ words, reply }) =>
        (reply.match(/[\w-]{12,}/g) ?? []).filter((name) => !words.some((word) => word.includes(name))),
      ),
  );

/** A kind of limit: how to reach it for an account and two of its keys, and the status that it causes. */
interface Limit {
  readonly what: string;
  readonly status: 402 | 429;
  readonly usd?: number;
  readonly limitUsd?: number;
  /** SQL of an account `$1`. */
  readonly sql?: string;
}
const budgetOf = (owner: string, from: string): string =>
  `insert into budgets (id, workspace_id, ${owner}, limit_nusd)
   select gen_random_uuid(), ${from} where account_id = $1`;
const limits: readonly Limit[] = [
  { what: 'the balance', status: 402, usd: 0.00000001 },
  { what: 'the limit of a key', status: 402, limitUsd: 0.00000001 },
  { what: 'the budget of a workspace', status: 402, sql: budgetOf('member_id', 'id, null, 1 from workspaces') },
  { what: 'the budget of a member', status: 402, sql: budgetOf('member_id', 'id, account_id, 1 from workspaces') },
  {
    what: 'the budget of a tag',
    status: 402,
    sql: `with tagged as (update api_keys set tag = 'R&D', generation = generation + 1 where account_id = $1)
      ${budgetOf('tag_id', `id, encode(substr(sha256(convert_to('sotto tag ' || id || ' R&D', 'UTF8')), 1, 16), 'hex')::uuid, 1 from workspaces`)}`,
  },
  { what: 'the budget of a key', status: 402, sql: budgetOf('key_id', 'workspace_id, id, 1 from api_keys') },
  { what: 'requests per minute', status: 429, sql: limited('limit_requests = 0') },
  { what: 'tokens per minute', status: 429, sql: limited('limit_tokens = 1') },
];

function limited(change: string): string {
  return `update api_keys set ${change}, generation = generation + 1 where account_id = $1`;
}

/** `shareMeasurements`: a script on an hour of measurements whose first argument is their retention. */
const isShare = ({ words: [name, , , key, kept] }: RedisExchange): boolean =>
  name?.startsWith('eval') === true && key?.startsWith('sotto:{measurements}:') === true && Number(kept) > 0;

/** `readOwnHolds`: a script whose only argument is the broker's own name. */
const isLookForStrays = ({ words: [name, , , , client, ...more] }: RedisExchange): boolean =>
  name?.startsWith('eval') === true && client?.startsWith('broker.') === true && more.length === 0;

/** The digest of the script that a command runs. */
const scriptOf = ({ words: [name, script = ''] }: RedisExchange): string[] =>
  name === 'evalsha' ? [script] : name === 'eval' ? [hash('sha1', script)] : [];

let wire: RedisWire;
const { promise: released, resolve: release } = Promise.withResolvers<void>();

await describeStage(
  'Redis tells a broker',
  async ({ redisUrl }) => {
    wire = await startRedisWire(redisUrl);
    return {
      ...oneModel,
      answers: () => async (request, response) => {
        if (request.text.includes('wait for it')) await released;
        if (request.text.includes('break')) return void response.writeHead(500).end();
        await answerChat()(request, response);
      },
      own: { broker: { environment: { REDIS_URL: wire.url } } },
      stop: async () => wire.close(),
    };
  },
  (stage) => {
    let redis: Redis;
    let other: Awaited<ReturnType<Service['addBroker']>>;
    let [mine, theirs]: TestAccount[] = [];
    const tickets: string[] = [];
    const holds = new Set<string>();
    beforeAll(async () => {
      const { service } = stage;
      redis = new Redis(service.redisUrl ?? '');
      other = await service.addBroker();
      [mine, theirs] = await Promise.all([service.createAccount(), service.createAccount()]);
    });
    afterAll(() => {
      release();
      redis.disconnect();
    });

    const account = (which: TestAccount | undefined): TestAccount => which ?? expect.fail('there is no account');
    const body = (content = 'hello') => ({ model: 'm/one', messages: [{ role: 'user', content }] });
    const buy = async (by: TestAccount | undefined): Promise<string> => {
      const { ticket } = await stage.service.mintTicket(account(by).inferenceKey, { model: 'm/one' });
      tickets.push(ticket);
      return ticket;
    };
    const askWith = (ticket: string, asked: object = body(), baseUrl = stage.service.baseUrl) =>
      post(`${baseUrl}/chat/completions`, asked, { 'x-router-ticket': ticket });
    const askByKey = (by: TestAccount | undefined, asked: object = body(), baseUrl = stage.service.baseUrl) =>
      post(`${baseUrl}/chat/completions`, asked, bearer(account(by).inferenceKey));
    const noteHolds = async (): Promise<void> => {
      for (const { holdId } of await openHolds(redis)) holds.add(holdId);
    };
    const served = async (asking: () => ReturnType<typeof askByKey>): Promise<void> =>
      until(async () => (await asking()).status === 200, 'the broker serves');

    /** What names a workspace in Redis: its record, and its budget. */
    async function workspaceNames(): Promise<string[]> {
      const { rows } = await stage.service.pool.query<{ id: string; account_id: string }>(
        'select id, account_id from workspaces',
      );
      return rows.flatMap(({ id, account_id: accountId }) => [
        workspaceIdOf(accountId, id),
        budgetIdOf('workspace', accountId, id, '').slice('workspace:'.length),
      ]);
    }

    async function secrets(): Promise<Secrets> {
      const read = async (query: string): Promise<string[]> =>
        (await stage.service.pool.query<{ id: string }>(query)).rows.map(({ id }) => id);
      const asked = new Set(wire.exchanges.flatMap(({ words }) => words));
      const foreign = [...holds, ...(await read('select id from settlements'))].filter((id) => !asked.has(id));
      expect(foreign.length).toBeGreaterThan(16);
      return {
        never: new Set([
          ...(await read('select wallet_id as id from accounts')),
          ...(await workspaceNames()),
          ...foreign,
        ]),
        unasked: new Set([...(await read('select hash as id from api_keys')), ...tickets.map(hashSecret)]),
      };
    }

    it.each(limits)('nothing that two requests of one workspace share when $what refuses them', async (limit) => {
      const { service } = stage;
      const { pool } = service;
      const isProjected = async (): Promise<boolean> => {
        const { rowCount } = await pool.query(
          `select 1 from budgets where projected_version < version
           union all select 1 from api_keys where projected_generation < generation`,
        );
        return rowCount === 0;
      };
      /** Makes requests by two keys of an account, and by a ticket of each. Returns the names in the replies to each. */
      const refusedNames = async (): Promise<readonly ReadonlySet<string>[]> => {
        const since = wire.exchanges.length;
        const account = await service.createAccount(limit.usd === undefined ? {} : { usd: limit.usd });
        const of = limit.limitUsd === undefined ? {} : { limitUsd: limit.limitUsd };
        const keys = [await service.createKey(account, of), await service.createKey(account, of)];
        if (limit.sql !== undefined) await pool.query(limit.sql, [account.accountId]);
        await until(isProjected, 'the limit is projected');
        const found: ReadonlySet<string>[] = [];
        for (const key of keys) {
          // The first request of a minute may pass, because nothing was used before it.
          await until(
            async () =>
              (await post(`${service.baseUrl}/chat/completions`, body(), bearer(key))).status === limit.status,
            'the key is refused',
          );
          const hashes = new Set<string>();
          await until(async () => {
            const { ticket } = await service.mintTicket(key, { model: 'm/one' });
            hashes.add(hashSecret(ticket));
            return (await askWith(ticket)).status === limit.status;
          }, 'the ticket is refused');
          const exchanges = wire.exchanges.slice(since);
          found.push(namesIn(exchanges, new Set([hashSecret(key)])), namesIn(exchanges, hashes));
        }
        return found;
      };
      const ours = await refusedNames();
      // Field names, and whatever else is the same for everybody.
      const common = new Set((await refusedNames()).flatMap((names) => [...names]));
      expect(ours[0]?.size).toBeGreaterThan(2);
      const own = ours.map((names) => [...names].filter((name) => !common.has(name)));
      const shared = own.flatMap((names, at) =>
        names.filter((name) => own.some((others, other) => other !== at && others.includes(name))),
      );
      expect(shared).toEqual([]);
    });

    it('nothing of wallets, of other brokers’ holds, or of keys and tickets that it did not name', async () => {
      // Plants holds of the other broker in every shard: real ones of both accounts, and copies without an amount.
      const waiting = [
        askByKey(mine, body('wait for it'), other.baseUrl),
        askWith(await buy(mine), body('wait for it'), other.baseUrl),
        askWith(await buy(theirs), body('wait for it'), other.baseUrl),
      ];
      await until(async () => (await openHolds(redis)).length === waiting.length, 'the other broker holds');
      const [model] = await openHolds(redis);
      const text = await redis.hget(`sotto:{w${model?.shard}}:holds`, model?.holdId ?? '');
      for (const shard of shards) {
        await redis.hset(`sotto:{w${shard}}:holds`, `copy-for-${shard}`, `${text}`.replace(/ \d+ /, ' 0 '));
      }
      await noteHolds();
      const planted = wire.exchanges.length;
      waiting.push(askByKey(mine, body('wait for it')), askWith(await buy(theirs), body('wait for it')));

      // Requests that are served, refused, and checked without being used.
      const ticket = await buy(mine);
      const wrong = { ...body(), provider: { sort: 'price' } };
      expect((await askWith(ticket, wrong)).text).toContain('ticket_provider_policy_mismatch');
      expect((await askWith(ticket)).status).toBe(200);
      expect((await askWith(ticket)).status).toBe(401);
      expect((await askWith(ticket, wrong)).status).toBe(401);
      expect((await askByKey(theirs)).status).toBe(200);
      await stage.service.setPreferences(account(theirs), { provider_sort: 'price' });
      expect((await askByKey(theirs)).status).toBe(200);
      const poor = await stage.service.createAccount({ usd: 0.00000001 });
      expect((await askByKey(poor)).status).toBe(402);
      expect((await askByKey(mine, body('break'))).status).toBe(502);
      await until(async () => wire.exchanges.some(isShare), 'the broker shares measurements');

      // Loses a reply: the broker undoes the redeem, and the ticket is valid again.
      const lost = await buy(mine);
      wire.loseReplyTo(hashSecret(lost));
      expect((await askWith(lost)).status).toBe(503);
      await served(() => askWith(lost));

      // Waits for the search for stray holds, in a shard in which the other broker holds something.
      await until(async () => wire.exchanges.slice(planted).some(isLookForStrays), 'the broker looks for strays');

      // Every lease lapses, the other broker's permanently. Then Redis loses everything.
      await other.process.kill9();
      await until(async () => (await lapseLeases(redis)) === 0, 'all holds are reaped');
      await served(() => askByKey(mine));
      await redis.flushdb();
      await served(() => askByKey(theirs));
      await served(async () => askWith(await buy(theirs)));
      release();
      await Promise.all(waiting);
      await stage.service.settled(account(mine));
      await stage.service.settled(account(theirs));
      await stage.service.broker.terminate();

      const scripts = new Set(wire.exchanges.flatMap(scriptOf));
      // redeem, cancel, settle, watermark; join, leave; readKey, peek, readOwnHolds; replaceField; share and read measurements.
      expect(scripts.size).toBe(12);
      expect(wire.exchanges.length).toBeGreaterThan(200);
      // What it hears without asking is that there is something to read.
      expect(new Set(wire.unasked)).toEqual(new Set(['>3\r\n$7\r\nmessage\r\n$15\r\nsotto:published\r\n$0\r\n\r\n']));
      expect(leaksIn(wire.exchanges, await secrets())).toEqual([]);
    });

    it('a planted leak is found by the search', async () => {
      const before = wire.exchanges.length;
      const [walletId] = (await stage.service.pool.query<{ id: string }>('select wallet_id as id from accounts')).rows;
      const held = `broker 0 0 0 ${walletId?.id} ${hashSecret(account(mine).inferenceKey)} ${hashSecret(tickets[0] ?? '')}`;
      await redis.hset('planted', { 'copy-for-3': held });
      const reader = new Redis(wire.url);
      await reader.hgetall('planted');
      await reader.get(hashSecret(tickets[0] ?? ''));
      reader.disconnect();
      await redis.del('planted');
      const found = leaksIn(wire.exchanges.slice(before), await secrets());
      expect(found).toHaveLength(4);
    });
  },
  { planes: ['two'] },
);

import { hash } from 'node:crypto';
import { hashSecret, shards } from '@sotto/state';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bearer, call } from '../../kit/call.ts';
import { startTestPostgres, type TestPostgres } from '../../kit/postgres.ts';
import { answerChat, type FakeProvider, startProvider } from '../../kit/provider.ts';
import { redisSkipReason, startTestRedis } from '../../kit/redis.ts';
import { lapseLeases, openHolds } from '../../kit/redis-holds.ts';
import { type RedisExchange, type RedisWire, startRedisWire } from '../../kit/redis-wire.ts';
import { type Service, startService, type TestAccount, until } from '../../kit/service.ts';
import { noteSkip } from '../../kit/skips.ts';

// Before anything is told of: whether there is a Redis decides whether there is a suite.
const server = await startTestRedis();
if (server === undefined) noteSkip('what Redis tells a broker', redisSkipReason);

/** Texts that a reply must not contain. */
interface Secrets {
  /** Never: wallets, and the holds of others. */
  readonly never: ReadonlySet<string>;
  /** Hashes of keys and tickets: only where the command itself names it. */
  readonly unasked: ReadonlySet<string>;
}

/** The texts that replies contain and must not, each with its command. */
const leaksIn = (exchanges: readonly RedisExchange[], { never, unasked }: Secrets): string[] =>
  exchanges.flatMap(({ words, reply }) => [
    ...[...never].filter((text) => reply.includes(text)).map((text) => `${words.slice(0, 5).join(' ')}: ${text}`),
    ...[...unasked]
      .filter((text) => reply.includes(text) && !words.some((word) => word.includes(text)))
      .map((text) => `${words.slice(0, 5).join(' ')}: ${text}`),
  ]);

describe.skipIf(server === undefined)('Redis tells a broker', () => {
  let postgres: TestPostgres | undefined;
  let provider: FakeProvider | undefined;
  let wire: RedisWire;
  let service: Service;
  let redis: Redis;
  let other: { readonly process: { kill9(): Promise<void> }; readonly baseUrl: string };
  let [mine, theirs]: TestAccount[] = [];
  const tickets: string[] = [];
  const holds = new Set<string>();
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });

  beforeAll(async () => {
    if (server === undefined) return;
    postgres = await startTestPostgres();
    const answers = answerChat();
    provider = await startProvider(async (request, response) => {
      if (request.text.includes('wait for it')) await released;
      if (request.text.includes('break')) return void response.writeHead(500).end();
      await answers(request, response);
    });
    wire = await startRedisWire(server.url);
    redis = new Redis(server.url);
    service = await startService({
      planes: 'two',
      databaseUrl: await postgres.createDatabase(),
      redisUrl: server.url,
      registry: JSON.stringify({
        providers: [
          { id: 'alpha', name: 'alpha', adapter: 'openai', base_url: provider.baseUrl, privacy_class: 'private' },
        ],
      }),
      catalog: JSON.stringify({
        models: [
          {
            ...{ id: 'm/one', model_type: 'text', context_length: 8000, max_output_tokens: 100 },
            routes: [
              ...['own'].map((upstream_model) => ({
                ...{ provider: 'alpha', upstream_model, privacy_class: 'private' },
                pricing: { input: 1, output: 2 },
              })),
            ],
          },
        ],
      }),
      own: { broker: { environment: { REDIS_URL: wire.url } } },
    });
    other = await service.addBroker();
    [mine, theirs] = await Promise.all([service.createAccount(), service.createAccount()]);
  });
  afterAll(async () => {
    release();
    await service?.stop();
    wire?.close();
    redis?.disconnect();
    await provider?.stop();
    await postgres?.stop();
    await server?.stop();
  });

  const account = (which: TestAccount | undefined): TestAccount => which ?? expect.fail('there is no account');
  const body = (content = 'hello') => ({ model: 'm/one', messages: [{ role: 'user', content }] });
  const buy = async (by: TestAccount | undefined): Promise<string> => {
    const { ticket } = await service.mintTicket(account(by).inferenceKey, { model: 'm/one' });
    tickets.push(ticket);
    return ticket;
  };
  const askWith = (ticket: string, asked: object = body(), baseUrl = service.baseUrl) =>
    call(`${baseUrl}/chat/completions`, { 'x-router-ticket': ticket }, asked);
  const askByKey = (by: TestAccount | undefined, asked: object = body(), baseUrl = service.baseUrl) =>
    call(`${baseUrl}/chat/completions`, bearer(account(by).inferenceKey), asked);
  const noteHolds = async (): Promise<void> => {
    for (const { holdId } of await openHolds(redis)) holds.add(holdId);
  };
  const served = async (asking: () => ReturnType<typeof askByKey>): Promise<void> =>
    until(async () => (await asking()).status === 200, 'the broker serves');

  async function secrets(): Promise<Secrets> {
    const read = async (query: string): Promise<string[]> =>
      (await service.pool.query<{ id: string }>(query)).rows.map(({ id }) => id);
    const asked = new Set(wire.exchanges.flatMap(({ words }) => words));
    const foreign = [...holds, ...(await read('select id from settlements'))].filter((id) => !asked.has(id));
    expect(foreign.length).toBeGreaterThan(16);
    return {
      never: new Set([...(await read('select wallet_id as id from accounts')), ...foreign]),
      unasked: new Set([...(await read('select hash as id from api_keys')), ...tickets.map(hashSecret)]),
    };
  }

  it('nothing of wallets, of other brokers’ holds, or of keys and tickets that it did not name', async () => {
    // Holds of the other broker, in every shard: real ones of both accounts, and copies that hold nothing.
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

    // Served, refused, and looked at without being used.
    const ticket = await buy(mine);
    const wrong = { ...body(), provider: { sort: 'price' } };
    expect((await askWith(ticket, wrong)).text).toContain('ticket_provider_policy_mismatch');
    expect((await askWith(ticket)).status).toBe(200);
    expect((await askWith(ticket)).status).toBe(401);
    expect((await askWith(ticket, wrong)).status).toBe(401);
    expect((await askByKey(theirs)).status).toBe(200);
    await service.setPreferences(account(theirs), { provider_sort: 'price' });
    expect((await askByKey(theirs)).status).toBe(200);
    const poor = await service.createAccount({ usd: 0.00000001 });
    expect((await askByKey(poor)).status).toBe(402);
    expect((await askByKey(mine, body('break'))).status).toBe(502);
    await until(async () => wire.exchanges.some(isShare), 'the broker shares measurements');

    // A lost reply: the redeem is undone, and the ticket good again.
    const lost = await buy(mine);
    wire.loseReplyTo(hashSecret(lost));
    expect((await askWith(lost)).status).toBe(503);
    await served(() => askWith(lost));

    // The look for strays, in a shard where the other broker holds something.
    await until(async () => wire.exchanges.slice(planted).some(isLookForStrays), 'the broker looks for strays');

    // Every lease lapses, the other broker's for good; then Redis loses everything.
    await other.process.kill9();
    await until(async () => (await lapseLeases(redis)) === 0, 'all holds are reaped');
    await served(() => askByKey(mine));
    await redis.flushdb();
    await served(() => askByKey(theirs));
    await served(async () => askWith(await buy(theirs)));
    release();
    await Promise.all(waiting);
    await service.settled(account(mine));
    await service.settled(account(theirs));
    await service.broker.terminate();

    const scripts = new Set(wire.exchanges.flatMap(scriptOf));
    // redeem, cancel, settle, watermark; join, leave; checkTicket, readOwnHolds; replaceField; share and read measurements.
    expect(scripts.size).toBe(11);
    expect(wire.exchanges.length).toBeGreaterThan(200);
    expect(wire.unasked).toEqual([]);
    expect(leaksIn(wire.exchanges, await secrets())).toEqual([]);
  });

  it('what a planted leak shows: the search finds it', async () => {
    const before = wire.exchanges.length;
    const [walletId] = (await service.pool.query<{ id: string }>('select wallet_id as id from accounts')).rows;
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
});

/** `shareMeasurements`: a script on an hour of measurements that begins with how long they are kept. */
const isShare = ({ words: [name, , , key, kept] }: RedisExchange): boolean =>
  name?.startsWith('eval') === true && key?.startsWith('sotto:{measurements}:') === true && Number(kept) > 0;

/** `readOwnHolds`: a script whose one argument is the broker's own name. */
const isLookForStrays = ({ words: [name, , , , client, ...more] }: RedisExchange): boolean =>
  name?.startsWith('eval') === true && client?.startsWith('broker.') === true && more.length === 0;

/** The digest of the script that a command runs. */
const scriptOf = ({ words: [name, script = ''] }: RedisExchange): string[] =>
  name === 'evalsha' ? [script] : name === 'eval' ? [hash('sha1', script)] : [];

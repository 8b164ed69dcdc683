import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brokerConnectionName, createRedisState, hashSecret, inspectRedis, type State, shards } from '@sotto/state';
import {
  noteSkip,
  type OwnRedis,
  redisSkipReason,
  startOwnRedis,
  startTestPostgres,
  type TestPostgres,
} from '@sotto/test-servers';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { oneModel } from '../../kit/catalog.ts';
import { bearer } from '../../kit/client.ts';
import { useFolder } from '../../kit/folder.ts';
import { answerChat, type FakeProvider, startProvider } from '../../kit/provider.ts';
import { post } from '../../kit/send.ts';
import { type Service, startService, type TestAccount, until } from '../../kit/service.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const line = (user: string): string =>
  execFileSync(join(root, 'deploy/redis/acl-user.sh'), [user, `password-of-${user}`], { encoding: 'utf8' });
/** The URL of a server, or of a cluster, for one of its users. */
const as = (user: string, url: string): string => url.replace('redis://', `redis://${user}:password-of-${user}@`);

const folder = useFolder('users');
const aclFile = join(folder, 'users.acl');
writeFileSync(aclFile, ['user default on nopass ~* &* +@all\n', line('control'), line('broker')].join(''));

const kinds = [
  { kind: 'one server', cluster: false },
  { kind: 'a cluster', cluster: true },
] as const;

describe.each(kinds)('the users of Redis, on $kind', ({ cluster }) => {
  let redis: OwnRedis | undefined;
  let postgres: TestPostgres | undefined;
  let provider: FakeProvider | undefined;
  let service: Service;
  let account: TestAccount;

  beforeAll(async () => {
    redis = await startOwnRedis({ cluster, aclFile });
    if (redis === undefined) return noteSkip('the users of Redis', redisSkipReason);
    postgres = await startTestPostgres();
    const answers = answerChat();
    provider = await startProvider((request, response) =>
      request.text.includes('break') ? void response.writeHead(500).end() : answers(request, response),
    );
    service = await startService({
      planes: 'two',
      databaseUrl: await postgres.createDatabase(),
      redisUrl: as('control', redis.url),
      brokerEnvironment: { REDIS_URL: as('broker', redis.url) },
      ...oneModel(provider),
    });
    account = await service.createAccount();
  });
  afterAll(async () => {
    await service?.stop();
    await provider?.stop();
    await postgres?.stop();
    await redis?.stop();
  });

  const nodes = (): readonly string[] => redis?.nodes ?? [];
  /** Runs commands on every node, as a user. */
  async function onNodes<T>(user: string | undefined, use: (node: Redis) => Promise<T>): Promise<T[]> {
    const answers: T[] = [];
    for (const url of nodes()) {
      const node = new Redis(user === undefined ? url : as(user, url), {
        disableClientInfo: true,
        retryStrategy: null,
      });
      node.on('error', () => {});
      answers.push(await use(node).finally(() => node.disconnect()));
    }
    return answers;
  }
  const body = (content = 'hello') => ({ model: 'm/one', messages: [{ role: 'user', content }] });
  const chat = (credential: Readonly<Record<string, string>>, content?: string) =>
    post(`${service.baseUrl}/chat/completions`, body(content), credential);
  const byTicket = async (content?: string) => {
    const { ticket } = await service.mintTicket(account.inferenceKey, { model: 'm/one' });
    return chat({ 'x-router-ticket': ticket }, content);
  };
  const byKey = (content?: string) => chat(bearer(account.inferenceKey), content);
  /** The commands that Redis refused to any user since the last call. */
  const denied = async (): Promise<string[]> =>
    (await onNodes(undefined, async (node) => String(await node.call('ACL', 'LOG')))).filter((log) => log !== '');

  it("serve both flows, failures and a rebuild, and Redis refuses none of the planes' commands", async (context) => {
    if (redis === undefined) return context.skip('no Redis');
    expect((await byTicket()).status).toBe(200);
    expect((await byKey()).status).toBe(200);
    const { ticket } = await service.mintTicket(account.inferenceKey, { model: 'm/one' });
    const wrong = await post(
      `${service.baseUrl}/embeddings`,
      { model: 'm/one', input: 'x' },
      { 'x-router-ticket': ticket },
    );
    expect(wrong.status).toBeLessThan(500);
    expect((await chat({ 'x-router-ticket': ticket })).status).toBe(200);
    expect((await chat({ 'x-router-ticket': ticket })).status).toBe(401);
    expect((await byKey('break')).status).toBe(502);
    await service.setPreferences(account, { provider_sort: 'price' });
    expect((await byKey()).status).toBe(200);
    await service.settled(account);

    // A second broker joins and leaves.
    const other = await service.addBroker();
    expect(await other.process.terminate()).toBe(0);

    await onNodes(undefined, (node) => node.flushall());
    await until(async () => (await byKey()).status === 200, 'the broker serves again');
    await until(async () => (await byTicket().catch(() => undefined))?.status === 200, 'tickets are minted again');
    await service.settled(account);
    expect(await denied()).toEqual([]);
    // Tries a forbidden command, to prove that the list can contain an entry.
    await onNodes('broker', (node) => node.get('control:limit:x').catch(() => {}));
    expect(await denied()).not.toEqual([]);
  });

  it('let the broker run each of its scripts and reads', async (context) => {
    if (redis === undefined) return context.skip('no Redis');
    const state = createRedisState({ url: as('broker', redis.url), onVolatile: expect.fail });
    await until(() => state.isReady(), 'the state is ready');
    const shard = shards[3] ?? 0;
    await state.join(shard, { declaration: undefined, leaseMs: 10_000 }).catch(() => {});
    await state.join(shard, { declaration: undefined, leaseMs: 10_000 });
    const redeem = { shard, generation: '1.1', amountNusd: 1n, estimatedTokens: 1 };
    expect(await state.redeem({ ...redeem, right: { kind: 'ticket', ticketHash: 'none' }, holdId: 'none' })).toEqual({
      result: 'invalid_ticket',
    });
    // A reaped hold can still be charged: the script reads and deletes its mark.
    await onNodes(undefined, (node) =>
      node.set(`sotto:{w${shard}}:reaped:gone`, 'wallet key 2026-01 ').catch(() => {}),
    );
    const settlement = { shard, chargeNusd: 5n, usedTokens: 1, entry: undefined };
    await state.settle({ ...settlement, holdId: 'gone' });
    // With an entry it also announces it.
    const entry = { payload: 'none of ours', mac: 'none' };
    expect(await state.settle({ ...settlement, holdId: 'told', entry })).toMatchObject({
      streamId: expect.any(String),
    });
    await state.cancel(shard, 'never');
    expect(await state.readOwnHolds(shard)).toEqual([]);
    expect(await state.peek({ shard, right: { kind: 'ticket', ticketHash: 'none' } })).toBeUndefined();
    expect(await state.lookupKey(hashSecret('none'))).toBeUndefined();
    await state.watermark(shard);
    await state.updatePenalty('route:x', () => ({ kind: 'timeout', strikes: 1, lastStrikeAt: 1, expiresAt: 2 }));
    expect((await state.readPenalties()).size).toBeGreaterThan(0);
    await state.shareMeasurements({ hour: 1, source: 'one', records: new Map([['m/one@alpha', '1;1;;;;']]) });
    expect((await state.readMeasurements(1, undefined)).records).toHaveLength(1);
    await state.keepReceipt('gateway', 'r'.repeat(22), '{}', 1000);
    expect(await state.readReceipt('gateway', 'r'.repeat(22))).toBe('{}');
    let registry: Awaited<ReturnType<typeof state.readRegistry>>;
    await until(async () => {
      registry = await state.readRegistry();
      return registry !== undefined;
    }, 'control has published the registry');
    await state.publishRegistry(registry ?? expect.fail('no registry'));
    await until(async () => (await state.readCatalog(0)) !== undefined, 'control has published the catalog');
    await state.leave(shard);
    await expectEpochToEnd(state);
    await state.close();
  });

  it("make a broker report once if its user can read control's keys", async (context) => {
    if (redis === undefined) return context.skip('no Redis');
    const told: string[] = [];
    for (const user of ['broker', 'control']) {
      const state = createRedisState({ url: as(user, redis.url), onExposed: () => told.push(user) });
      await until(() => state.isReady(), 'the state is ready');
      expect(await state.isReady()).toBe(true);
      await state.close();
    }
    expect(told).toEqual(['control']);
  });

  it('make a plane report once if its user lacks a needed permission', async (context) => {
    if (redis === undefined) return context.skip('no Redis');
    const rules = line('broker').replace('user broker', 'lacking').replaceAll('-of-broker', '-of-lacking');
    const lacking = rules.replace(' +hset ', ' ').trim();
    await onNodes(undefined, (node) => node.call('ACL', 'SETUSER', ...lacking.split(' ')));
    let told = 0;
    const onDenied = (): void => {
      told += 1;
    };
    const state = createRedisState({ url: as('lacking', redis.url), onDenied });
    await until(() => state.isReady(), 'the state is ready');
    expect(told).toBe(0);
    const join = () => state.join(0, { declaration: undefined, leaseMs: 10_000 });
    await expect(join()).rejects.toThrow('new epoch');
    for (let tries = 0; tries < 3; tries += 1) await expect(join()).rejects.toThrow('state unavailable');
    expect(told).toBe(1);
    await state.close();
  });

  it('show the doctor which user brokers connect as, and what that user can read', async (context) => {
    if (redis === undefined) return context.skip('no Redis');
    const url = as('control', redis.url);
    const exposedTo = async (): Promise<readonly string[] | undefined> => (await inspectRedis(url, 3000)).exposedTo;
    expect(await exposedTo()).toEqual([]);
    const careless = createRedisState({ url, name: brokerConnectionName });
    await until(() => careless.isReady(), 'the state is ready');
    expect(await exposedTo()).toEqual(['control']);
    await careless.close();
  });

  /** A broker that finds a loss in a shard ends the shard's epoch by deleting this key. */
  async function expectEpochToEnd(state: State): Promise<void> {
    const shard = shards[4] ?? 0;
    const join = () => state.join(shard, { declaration: undefined, leaseMs: 10_000 });
    await join().catch(() => {});
    await join();
    await state.cancel(shard, 'a step that is forgotten');
    const { client } = state.membership.caller(shard);
    await onNodes(undefined, (node) => node.hset(`sotto:{w${shard}}:clients`, `${client} n`, 0).catch(() => {}));
    await expect(join()).rejects.toThrow('rolled back');
  }

  it("keep the broker from control's keys, and from every command that it does not need", async (context) => {
    if (redis === undefined) return context.skip('no Redis');
    const ofOthers = ['control:limit:x', 'sotto:limits:address:127.0.0.1', 'session:x', 'anything'];
    const stored = (await onNodes(undefined, (node) => node.keys('*'))).flat();
    const foreign = stored.filter(
      (key) => !/^sotto:(\{w\d+\}|\{measurements\}|receipt|catalog|registry|penalties)/.test(key),
    );
    // Control's own limits exist, if it counts in Redis at all.
    if (!cluster) expect(foreign.length).toBeGreaterThan(0);
    for (const key of [...ofOthers, ...foreign]) {
      const evaluate = ['EVAL', `return redis.call('GET', ARGV[1])`, '1', 'sotto:{w0}:epoch', key];
      const evaluateKey = ['EVAL', `return redis.call('GET', KEYS[1])`, '1', key];
      for (const command of [['GET', key], ['HGETALL', key], ['SET', key, 'x'], ['DEL', key], evaluate, evaluateKey]) {
        await expectRefused(command);
      }
    }
    for (const command of [
      ...['KEYS *', 'SCAN 0', 'RANDOMKEY', 'DBSIZE', 'MONITOR', 'FLUSHALL', 'FLUSHDB', 'SWAPDB 0 1', 'SHUTDOWN NOSAVE'],
      ...['CONFIG GET *', 'CONFIG SET maxmemory 1', 'CONFIG REWRITE', 'CONFIG RESETSTAT', 'DEBUG SLEEP 0', 'SAVE'],
      ...[
        'ACL LIST',
        'ACL WHOAMI',
        'ACL SETUSER x',
        'ACL GETUSER broker',
        'ACL LOG',
        'CLIENT LIST',
        'CLIENT KILL ID 1',
      ],
      ...['MODULE LIST', 'REPLICAOF NO ONE', 'SLOWLOG GET', 'LATENCY DOCTOR', 'SCRIPT FLUSH', 'SCRIPT LOAD x'],
      ...[
        'FUNCTION LIST',
        'SUBSCRIBE x',
        'SUBSCRIBE sotto:settled',
        'SUBSCRIBE sotto:joined',
        'PSUBSCRIBE *',
        'PUBLISH x y',
        'DUMP sotto:catalog',
        'OBJECT FREQ sotto:catalog',
      ],
      ...['XRANGE sotto:{w0}:stream - +', 'XREAD STREAMS sotto:{w0}:stream 0', 'HGETALL sotto:{w0}:holds'],
      ...[
        'HVALS sotto:{w0}:holds',
        'HSCAN sotto:{w0}:holds 0',
        'HGETALL sotto:{w0}:declared',
        'HKEYS sotto:{w0}:declared',
      ],
      ...['SET sotto:catalog x', 'DEL sotto:{w0}:holds', 'DEL sotto:{w0}:wallet:x', 'UNLINK sotto:{w0}:stream'],
      ...[
        'CLUSTER NODES',
        'CLUSTER RESET',
        'CLUSTER FAILOVER',
        'MIGRATE h 1 k 0 1',
        'RESTORE k 0 x',
        'SORT sotto:catalog',
      ],
    ]) {
      await expectRefused(command.split(' '));
    }
  });

  async function expectRefused([name = '', ...args]: readonly string[]): Promise<void> {
    const answers = await onNodes('broker', (node) =>
      node.call(name, ...args).then(
        (value) => `answered ${String(value)}`,
        (error: Error) => error.message,
      ),
    );
    // In a cluster only the node with the key gives a meaningful answer. DEBUG is disabled by default.
    const refusals = answers.filter((answer) => !answer.startsWith('MOVED'));
    expect(refusals, `${name} ${args.join(' ')}`).not.toEqual([]);
    for (const answer of refusals) {
      expect(answer, `${name} ${args.join(' ')}`).toMatch(
        /^NOPERM|^ERR The user executing the script can't (access|run)|^ERR DEBUG command not allowed/,
      );
    }
  }
});

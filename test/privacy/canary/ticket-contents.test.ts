import { createDecipheriv, randomUUID } from 'node:crypto';
import { createRedisState, type State, shards } from '@sotto/state';
import type { Preferences } from '@sotto/wire';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call } from '../../kit/call.ts';
import { startTestPostgres, type TestPostgres } from '../../kit/postgres.ts';
import { type FakeProvider, startProvider } from '../../kit/provider.ts';
import { redisSkipReason, startTestRedis } from '../../kit/redis.ts';
import { type Service, startService, until } from '../../kit/service.ts';
import { noteSkip } from '../../kit/skips.ts';
import { joinAll, untilReachable } from '../../money/state/fixtures.ts';

// Before anything is told of: whether there is a Redis decides whether there is a suite.
const server = await startTestRedis();
if (server === undefined) noteSkip('what tickets say', redisSkipReason);

describe.skipIf(server === undefined)('a ticket', () => {
  let postgres: TestPostgres | undefined;
  let provider: FakeProvider | undefined;
  let service: Service;
  let redis: Redis;

  beforeAll(async () => {
    if (server === undefined) return;
    postgres = await startTestPostgres();
    provider = await startProvider();
    redis = new Redis(server.url);
    const ids = ['alpha', 'beta', 'gamma'];
    const text = { model_type: 'text', context_length: 8000, max_output_tokens: 100 };
    const route = (id: string, input: number): object => ({
      ...{ provider: id, upstream_model: 'own', privacy_class: id === 'gamma' ? 'anonymous' : 'private' },
      pricing: { input, output: 2 },
    });
    service = await startService({
      planes: 'two',
      databaseUrl: await postgres.createDatabase(),
      redisUrl: server.url,
      registry: JSON.stringify({
        providers: ids.map((id) => ({
          ...{ id, name: id, adapter: 'openai', base_url: provider?.baseUrl, privacy_class: 'private' },
        })),
      }),
      catalog: JSON.stringify({
        models: [
          { id: 'm/one', ...text, routes: ids.map((id, index) => route(id, index + 1)) },
          { id: 'm/two', ...text, routes: [route('beta', 1)] },
        ],
      }),
    });
  });
  afterAll(async () => {
    await service?.stop();
    redis?.disconnect();
    await provider?.stop();
    await postgres?.stop();
    await server?.stop();
  });

  /** A ticket's contents, as control wrote them and a broker reads them. */
  function inside(ticket: string): { text: string; json: Record<string, unknown> } {
    const sealed = Buffer.from(ticket.slice('sotto_tkt_'.length), 'base64url');
    const decipher = createDecipheriv(
      'aes-256-gcm',
      Buffer.from(service.secrets.TICKET_SEALING_KEY, 'base64'),
      sealed.subarray(0, 12),
    );
    decipher.setAAD(Buffer.from('sotto ticket v1')).setAuthTag(sealed.subarray(-16));
    const text = decipher.update(sealed.subarray(12, -16)).toString('utf8', 1);
    decipher.final();
    return { text, json: JSON.parse(text) as Record<string, unknown> };
  }
  /** The same without what is random or the hour's, and the shard. */
  function fixedPart(ticket: string): object {
    const { accountRef, shard, expiresAt, ...rest } = inside(ticket).json;
    expect(Number(expiresAt) % 3_600_000).toBe(0);
    expect(accountRef).toHaveLength(102);
    expect(shards).toContain(shard);
    return rest;
  }
  const ticketOf = async (preferences: Partial<Preferences>, request: object = { model: 'm/two' }): Promise<string> => {
    const account = await service.createAccount({ preferences });
    return (await service.mintTicket(account.inferenceKey, request)).ticket;
  };
  const redeem = async (ticket: string, model = 'm/two') =>
    (
      await call(
        `${service.baseUrl}/chat/completions`,
        { 'x-router-ticket': ticket },
        { model, messages: [{ role: 'user', content: 'hello' }] },
      )
    ).status;

  it('says the same for workspaces whose settings mean the same for its request, at the same length', async () => {
    const custom: Partial<Preferences> = {
      provider_ignore: ['alpha', 'gamma', 'nobody-else-ignores-this'],
      provider_sort: 'default',
      max_price: { input: 123.456, output: 77.7 },
      auto: { strategy: 'cheapest', tiers: 'Maximum', models: { mode: 'only', ids: ['m/one', 'x/of-our-own'] } },
    };
    const tickets = [
      await ticketOf(custom),
      await ticketOf({ ...custom, provider_ignore: [], max_price: { input: 1, output: 2 } }),
    ];
    const [one = '', other = ''] = tickets;
    expect(fixedPart(one)).toEqual(fixedPart(other));
    expect(one).toHaveLength(other.length);
    for (const telling of ['alpha', 'gamma', 'nobody', 'auto', 'cheapest', 'm/one', 'our-own', '123', 'generation']) {
      expect(inside(one).text).not.toContain(telling);
    }
    expect(await redeem(one)).toBe(200);
  });

  it('does not number its workspace’s history, and dies with what it was sealed by', async () => {
    const account = await service.createAccount();
    const mint = async () => (await service.mintTicket(account.inferenceKey, { model: 'm/two' })).ticket;
    const first = await mint();
    const second = await mint();
    for (let change = 0; change < 5; change += 1) await service.setPreferences(account, {});
    const later = await mint();
    expect(fixedPart(later)).toEqual(fixedPart(first));
    expect(await redeem(second)).toBe(401);
    expect(await redeem(later)).toBe(200);
  });

  it('is as long for a workspace with every setting as for one without', async () => {
    const ignored = Array.from({ length: 200 }, (_, index) => `provider-${index}`);
    const full: Partial<Preferences> = {
      ...{ provider_ignore: ignored, provider_max_attempts: 2, provider_minimum_privacy: 'private' },
      ...{ provider_sort: 'throughput', fallback_floor: 'private', max_price: { input: 2.5, output: 9.875 } },
      auto: { strategy: 'fastest', tiers: 'Private', models: { mode: 'except', ids: ignored } },
    };
    const request = { model: 'm/one', models: ['m/two'] };
    const [long, short] = [await ticketOf(full, request), await ticketOf({}, request)];
    expect(long).toHaveLength(short.length);
  });

  it('keeps its first form until every broker reads the second, and live ones of either stay good', async () => {
    const account = await service.createAccount({ preferences: { provider_ignore: ['gamma'] } });
    const mint = async () => (await service.mintTicket(account.inferenceKey, { model: 'm/two' })).ticket;
    const formOf = (ticket: string): unknown => inside(ticket).json.v;
    const untilForm = (form: number) => until(async () => formOf(await mint()) === form, `tickets have form ${form}`);
    await untilForm(2);
    const live = [await mint()];

    // A broker of the version before comes: its name says nothing of what it reads.
    const state: State = createRedisState({ url: server?.url ?? '', newClient: randomUUID });
    await untilReachable(state);
    await joinAll(state);
    await untilForm(1);
    const ticket = await mint();
    live.push(ticket);
    const { rows } = await service.pool.query<{ generation: number }>('select generation from api_keys where id = $1', [
      await keyIdOf(account.accountId),
    ]);
    expect(inside(ticket).json).toMatchObject({
      generation: Number(rows[0]?.generation),
      preferences: { provider_ignore: ['gamma'], auto: { strategy: 'balanced' } },
    });

    // It leaves, and may come back within a day: until then it must find tickets that it reads.
    for (const shard of shards) await state.leave(shard);
    await state.close();
    await service.settled(account);
    expect(formOf(await mint())).toBe(1);
    for (const shard of shards) await redis.hset(`sotto:{w${shard}}:clients`, await lapsedLongAgo(shard));
    await untilForm(2);
    for (const each of live) expect(await redeem(each)).toBe(200);
  });

  const keyIdOf = async (accountId: string): Promise<string> => {
    const { rows } = await service.pool.query<{ id: string }>(
      "select id from api_keys where account_id = $1 and kind = 'inference'",
      [accountId],
    );
    return rows[0]?.id ?? '';
  };
  const lapsedLongAgo = async (shard: number): Promise<Record<string, string>> => {
    const clients = await redis.hkeys(`sotto:{w${shard}}:clients`);
    const lapsed = clients.filter((field) => field.endsWith(' lapsed'));
    expect(lapsed).toHaveLength(1);
    return Object.fromEntries(lapsed.map((field) => [field, String(Date.now() - 25 * 3_600_000)]));
  };
});

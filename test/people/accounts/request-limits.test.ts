import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { noteSkip, redisSkipReason, startTestRedis, type TestRedis } from '@sotto/test-servers';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { password } from '../../kit/signed-up.ts';
import { type AccountsWorld, openWorld, type Person, type Visitor } from './world.ts';

const redis: TestRedis | undefined = await startTestRedis();
if (redis === undefined) noteSkip('request limits of several controls together', redisSkipReason);

const limit = 60;
type Headers = Readonly<Record<string, string>>;
/** The forwarded address, as a trusted proxy sends it. */
const from = (address: string): Headers => ({ 'x-forwarded-for': address });
const bearer = (secret: string): Headers => ({ authorization: `Bearer ${secret}` });
const session = (token: string): Headers => ({ cookie: `sotto.session_token=${token}` });

/** Sends the same request `count` times. Counts the answers by status. */
async function ask(
  visitor: Visitor,
  times: number,
  path: string,
  headers: (index: number) => Headers,
): Promise<Record<number, number>> {
  const statuses: Record<number, number> = {};
  for (let index = 0; index < times; index += 1) {
    const { status } = await visitor.get(path, headers(index));
    statuses[status] = (statuses[status] ?? 0) + 1;
  }
  return statuses;
}

/** A key of a new account. The command line makes both, because requests would count. */
async function newKey(world: AccountsWorld): Promise<string> {
  const made = await world.cli(['account', 'create', '--name', 'x']);
  const { lines } = await world.cli(['key', 'create', '--account', made.lines[0] ?? '', '--kind', 'management']);
  return lines[0] ?? '';
}

/** The cookie of a new session. Each comes from another address, because few sign-ins of one are admitted. */
async function newSession(world: AccountsWorld, { email }: Person, from: Headers): Promise<string> {
  const visitor = world.visitor();
  const answer = await visitor.post('/auth/sign-in/email', { email, password }, from);
  expect(answer.status, answer.text).toBe(200);
  return [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
}

describe('the limit of requests', () => {
  let world: AccountsWorld;
  let keys: string[];
  let cookie: string;
  beforeAll(async () => {
    world = await openWorld({ limit });
    // Of eight accounts, because the keys of one account share its limit.
    keys = await Promise.all(Array.from({ length: 8 }, () => newKey(world)));
    cookie = await newSession(world, await world.signUp(), from('10.10.0.1'));
  });
  afterAll(async () => {
    await world?.stop();
  });
  const nextKey = (): string => {
    const key = keys.pop();
    if (key === undefined) throw new Error('more keys are needed');
    return key;
  };

  it.each<[string, string, (index: number) => Headers]>([
    ['bearers', '10.0.0.1', (index) => bearer(`made-up-${index}`)],
    ['keys', '10.0.0.2', (index) => bearer(`sotto_mgt_${String(index).padStart(48, 'A')}`)],
    ['session cookies', '10.0.0.3', (index) => session(`made-up-${index}.signature`)],
    ['both', '10.0.0.4', (index) => ({ ...bearer(`made-up-${index}`), ...session(`made-up-${index}.signature`) })],
  ])('counts made-up %s at a public route by their address', async (_, address, made) => {
    const headers = (index: number) => ({ ...from(address), ...made(index) });
    expect(await ask(world.visitor(), 2 * limit, '/capabilities', headers)).toEqual({ 200: limit, 429: limit });
    // The address stays limited for requests without such credentials.
    expect(await ask(world.visitor(), 3, '/capabilities', () => from(address))).toEqual({ 429: 3 });
  });

  it('counts made-up credentials by their address on routes that need a credential', async () => {
    const headers = (index: number) => ({
      ...from('10.1.0.1'),
      ...bearer(`sotto_mgt_${String(index).padEnd(48, 'B')}`),
    });
    expect(await ask(world.visitor(), 2 * limit, '/usage', headers)).toEqual({ 401: limit, 429: limit });
    const sessions = (index: number) => ({ ...from('10.1.0.2'), ...session(`made-up-${index}.signature`) });
    expect(await ask(world.visitor(), 2 * limit, '/workspaces', sessions)).toEqual({ 401: limit, 429: limit });
    // One limit covers all routes, also those that limit valid credentials separately.
    const spread = ['/models', '/usage', '/routing/effective', '/tee/attestation', '/balance'];
    let refused = 0;
    for (let index = 0; index < 2 * limit; index += 1) {
      const made = { ...from('10.1.0.3'), ...bearer(`made-up-${index}`) };
      const { status } = await world.visitor().get(spread[index % spread.length] ?? '', made);
      if (status === 429) refused += 1;
    }
    expect(refused).toBe(limit);
  });

  it('counts requests without a credential and with made-up ones together', async () => {
    const made = (index: number) => ({ ...from('10.2.0.1'), ...bearer(`sotto_mgt_${String(index).padEnd(48, 'C')}`) });
    expect(await ask(world.visitor(), limit / 2, '/capabilities', () => from('10.2.0.1'))).toEqual({ 200: limit / 2 });
    expect(await ask(world.visitor(), limit, '/usage', made)).toEqual({ 401: limit / 2, 429: limit / 2 });
  });

  it('does not affect valid credentials, seen before or not, if others at the address show made-up ones', async () => {
    const address = from('10.3.0.1');
    const key = { ...address, ...bearer(nextKey()) };
    const signedIn = { ...address, cookie };
    const made = (index: number) => ({ ...address, ...bearer(`made-up-${index}`) });
    await ask(world.visitor(), limit + 1, '/usage', made);
    expect(await ask(world.visitor(), 2, '/usage', made)).toEqual({ 429: 2 });
    // Also on public routes.
    for (const path of ['/capabilities', '/usage']) {
      expect(await ask(world.visitor(), 5, path, () => key)).toEqual({ 200: 5 });
    }
    expect(await ask(world.visitor(), 5, '/workspaces', () => signedIn)).toEqual({ 200: 5 });
    expect(await ask(world.visitor(), 5, '/auth/get-session', () => signedIn)).toEqual({ 200: 5 });
  });

  it('admits an unseen credential although its address has sent too many requests without any', async () => {
    const address = from('10.4.0.1');
    await ask(world.visitor(), limit + 1, '/capabilities', () => address);
    expect(await ask(world.visitor(), 1, '/usage', () => address)).toEqual({ 429: 1 });
    const first = { ...address, ...bearer(nextKey()) };
    expect(await ask(world.visitor(), 3, '/usage', () => first)).toEqual({ 200: 3 });
  });

  it('counts the sessions of one account together', async () => {
    const person = await world.signUp();
    const cookies: string[] = [];
    for (let at = 1; at <= 5; at += 1) cookies.push(await newSession(world, person, from(`10.10.${at}.1`)));
    const headers = (index: number) => ({ ...from(`10.9.${index}.1`), cookie: cookies[index % 5] ?? '' });
    expect(await ask(world.visitor(), 2 * limit, '/workspaces', headers)).toEqual({ 200: limit, 429: limit });
    expect(await ask(world.visitor(), 1, '/workspaces', () => ({ ...from('10.9.0.1'), cookie }))).toEqual({ 200: 1 });
  });

  // Whoever has a key, as a thief, a member or an app, sends as many requests as it can.
  it('counts the keys of an account apart from its sessions, so that the owner can still revoke them', async () => {
    const owner = world.visitor();
    expect((await owner.post('/auth/sign-in/email', await world.signUp(), from('10.10.6.1'))).status).toBe(200);
    const made = await owner.post('/keys', { name: 'x', kind: 'management' });
    const key = { ...from('10.12.0.1'), ...bearer(made.json.key) };
    expect(await ask(world.visitor(), 2 * limit, '/usage', () => key)).toEqual({ 200: limit, 429: limit });
    expect((await owner.send('DELETE', `/keys/${made.json.id}`)).status).toBe(204);
  });

  it('counts an account separately from its first request on, from any address', async () => {
    const key = bearer(nextKey());
    const headers = (index: number) => ({ ...from(`10.5.${index}.1`), ...key });
    expect(await ask(world.visitor(), 2 * limit, '/usage', headers)).toEqual({ 200: limit, 429: limit });
    // Neither its address nor another account is limited.
    expect(await ask(world.visitor(), 1, '/capabilities', () => from('10.5.0.1'))).toEqual({ 200: 1 });
    const other = { ...from('10.5.0.1'), ...bearer(nextKey()) };
    expect(await ask(world.visitor(), 1, '/usage', () => other)).toEqual({ 200: 1 });
  });

  it('appears in the answer to a credential that reaches it', async () => {
    const key = { ...from('10.6.0.1'), ...bearer(nextKey()) };
    await world.visitor().get('/usage', key);
    const { headers } = await world.visitor().get('/usage', key);
    const said = ['limit', 'remaining', 'reset'].map((name) => Number(headers.get(`x-ratelimit-${name}`)));
    expect(said.slice(0, 2)).toEqual([limit, limit - 2]);
    expect(said[2]).toBeGreaterThan(0);
  });

  it.each<[string, string, string, string, number]>([
    ['an address that is not there', '10.7.0.1', 'GET', '/v1/nothing', 404],
    ['a method that is not there', '10.7.0.2', 'PUT', '/v1/capabilities', 405],
    ['HEAD', '10.7.0.3', 'HEAD', '/v1/capabilities', 200],
    ['OPTIONS', '10.7.0.4', 'OPTIONS', '/v1/keys', 405],
    ['a file that is not there', '10.7.0.5', 'GET', '/assets/nothing.js', 404],
    ['a page', '10.7.0.6', 'GET', '/keys', 200],
  ])('counts %s', async (_, address, method, path, status) => {
    const headers = { ...from(address), accept: status === 200 ? 'text/html' : '*/*' };
    const statuses: Record<number, number> = {};
    for (let index = 0; index < 2 * limit; index += 1) {
      const answer = await fetch(`${world.origin}${path}`, { method, headers });
      await answer.body?.cancel();
      statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
    }
    expect(statuses).toEqual({ [status]: limit, 429: limit });
  });

  it('does not count health, files of the dashboard and preflights', async () => {
    const assets = fileURLToPath(new URL('../../../apps/dashboard/built/assets', import.meta.url));
    const [file] = readdirSync(assets);
    const preflight = { origin: 'https://page.example', 'access-control-request-method': 'GET' };
    for (const [method, path, headers] of [
      ['GET', '/healthz', {}],
      ['GET', '/readyz?from=balancer', {}],
      ['GET', `/assets/${file}`, {}],
      ['OPTIONS', '/v1/capabilities', preflight],
    ] as const) {
      for (let index = 0; index < limit + 5; index += 1) {
        const answer = await fetch(`${world.origin}${path}`, { method, headers: { ...headers, ...from('10.8.0.1') } });
        await answer.body?.cancel();
        expect([path, answer.status]).not.toEqual([path, 429]);
      }
    }
    expect(await ask(world.visitor(), limit, '/capabilities', () => from('10.8.0.1'))).toEqual({ 200: limit });
  });
});

describe.skipIf(redis === undefined)('several controls on one Redis', () => {
  let limitsRedis: Redis;
  let world: AccountsWorld;
  beforeAll(async () => {
    limitsRedis = new Redis(redis?.url ?? '', {
      maxRetriesPerRequest: 0,
      enableOfflineQueue: false,
      retryStrategy: null,
    });
    world = await openWorld({ limitsRedis, limit });
  });
  afterAll(async () => {
    await world?.stop();
    limitsRedis?.disconnect();
    await redis?.stop();
  });

  it('keep no key of a made-up credential, and few for an address', async () => {
    await limitsRedis.flushdb();
    const made = (index: number) => ({
      ...from('10.0.0.1'),
      ...bearer(`sotto_mgt_${String(index).padEnd(48, 'D')}`),
      ...session(`made-up-${index}.signature`),
    });
    for (const path of ['/capabilities', '/usage', '/workspaces', '/nothing', '/auth/get-session']) {
      await ask(world.visitor(), 40, path, made);
    }
    expect(await limitsRedis.keys('*')).toHaveLength(1);
  });

  it('share the counts, and each admits valid credentials during a flood', async () => {
    const secret = await newKey(world);
    const address = from('10.1.0.1');
    const key = { ...address, ...bearer(secret) };
    expect(await ask(world.visitor(), 1, '/usage', () => key)).toEqual({ 200: 1 });
    const other = (await world.another()).visitor();
    const made = (index: number) => ({ ...address, ...bearer(`made-up-${index}`) });
    await ask(world.visitor(), limit + 1, '/usage', made);
    expect(await ask(other, 1, '/usage', made)).toEqual({ 429: 1 });
    expect(await ask(other, limit, '/usage', () => key)).toEqual({
      200: limit - 1,
      429: 1,
    });
  });

  it('limit no caller while Redis is away', async () => {
    const secret = await newKey(world);
    limitsRedis.disconnect();
    const key = { ...from('10.2.0.1'), ...bearer(secret) };
    expect(await ask(world.visitor(), limit + 5, '/capabilities', () => from('10.2.0.1'))).toEqual({ 200: limit + 5 });
    expect(await ask(world.visitor(), limit + 5, '/usage', () => key)).toEqual({ 200: limit + 5 });
    const made = (index: number) => ({ ...from('10.2.0.1'), ...bearer(`made-up-${index}`) });
    expect(await ask(world.visitor(), limit + 5, '/usage', made)).toEqual({ 401: limit + 5 });
  });
});

import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import * as oauth from 'openid-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startWorld, type World } from '../../contract/conformance/world.ts';
import { dieTogether } from '../../kit/die-together.ts';
import { freePort } from '../../kit/free-port.ts';
import { fromSource } from '../../kit/from-source.ts';
import { startTestPostgres, type TestPostgres } from '../../kit/postgres.ts';
import { answerChat } from '../../kit/provider.ts';
import { redisSkipReason, startTestRedis } from '../../kit/redis.ts';
import { type Service, startService, until } from '../../kit/service.ts';
import { noteSkip } from '../../kit/skips.ts';
import { allowed, clientOf, connect, consentTo, exchange, start } from './flow.ts';
import { newApp, newPerson } from './people.ts';

const redis = await startTestRedis();
if (redis === undefined) noteSkip('what needs the two processes on a real Redis', redisSkipReason);

describe.skipIf(redis === undefined)('connected apps across processes', () => {
  let postgres: TestPostgres;
  let world: World;
  let service: Service;
  let second: { readonly controlUrl: string; readonly child: ChildProcess };

  beforeAll(async () => {
    postgres = await startTestPostgres();
    world = await startWorld(answerChat);
    const databaseUrl = await postgres.createDatabase();
    const secrets = {
      ACCOUNT_REF_KEY: key(),
      SESSION_SECRET: key(),
      TICKET_SEALING_KEY: key(),
      SETTLEMENT_MAC_KEY: key(),
    };
    const environment = { ...secrets, ACME_API_KEY: 'x', CONNECTED_APPS: 'on' };
    service = await startService({
      planes: 'two',
      databaseUrl,
      redisUrl: redis?.url,
      registry: world.registry,
      catalog: world.catalog,
      enclaves: 'assumed',
      environment,
    });
    second = await startSecondControl({ ...environment, DATABASE_URL: databaseUrl, REDIS_URL: redis?.url ?? '' });
  });
  afterAll(async () => {
    second?.child.kill('SIGTERM');
    await service?.stop();
    await world?.stop();
    await redis?.stop();
    await postgres?.stop();
  });

  /** Another control process of the same public origin, reached at its own port. */
  async function startSecondControl(environment: Record<string, string>) {
    const port = await freePort();
    const root = fileURLToPath(new URL('../../../', import.meta.url));
    const child = spawn(process.execPath, [...fromSource, 'apps/control/src/main.ts', 'serve'], {
      cwd: root,
      stdio: 'ignore',
      env: {
        PATH: process.env.PATH ?? '',
        HOST: '127.0.0.1',
        CONTROL_PORT: String(port),
        CONTROL_ORIGIN: new URL(service.controlUrl).origin,
        ...environment,
      },
    });
    if (child.pid !== undefined) child.once('exit', dieTogether(child.pid));
    const origin = `http://127.0.0.1:${port}`;
    await until(async () => (await fetch(`${origin}/readyz`)).ok, 'the second control is ready', 60_000);
    return { controlUrl: `${origin}/v1`, child };
  }

  /** The same address, at the other process. */
  const there = (address: string): string => {
    const url = new URL(address);
    return url.origin === new URL(service.controlUrl).origin
      ? `${new URL(second.controlUrl).origin}${url.pathname}${url.search}`
      : address;
  };

  it('one process goes on where the other began: same keys, same requests, same tokens', async () => {
    const keysOf = async (controlUrl: string) =>
      (await (await fetch(`${controlUrl}/connect/jwks`)).json()) as { keys: { kty: string }[] };
    const { keys } = await keysOf(service.controlUrl);
    expect(await keysOf(second.controlUrl)).toEqual({ keys });
    expect(keys.map((each) => Object.keys(each).includes('d'))).toEqual([false]);
    const discovery = '/connect/.well-known/openid-configuration';
    const documents = await Promise.all(
      [service, second].map(async ({ controlUrl }) => (await fetch(`${controlUrl}${discovery}`)).json()),
    );
    expect(documents[1]).toEqual(documents[0]);

    const [person, app] = [await newPerson(service, 5), await newApp(service, await newPerson(service))];
    const client = await clientOf(service, app);
    const started = await start(client);
    const page = await consentTo(second, person, { ...started, url: there(started.url) });
    const answered = await page.answerRaw(person, allowed());
    const { redirect_to: next } = (await answered.json()) as { redirect_to: string };
    const callback = await person.browser.follow(next);
    const tokens = await exchange(client, started, callback);
    const asToken = { headers: { authorization: `Bearer ${tokens.access_token}` } };
    expect((await fetch(`${second.controlUrl}/models`, asToken)).status).toBe(200);
    const refreshed = await oauth.refreshTokenGrant(client, tokens.refresh_token ?? '');
    await fetch(there(`${service.controlUrl}/connect/revoke`), {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${app.client_id}:${app.client_secret}`)}` },
      body: new URLSearchParams({ token: refreshed.refresh_token ?? '' }),
    });
    expect((await fetch(`${service.controlUrl}/models`, asToken)).status).toBe(401);
  });

  it('a restart between any two steps loses nothing', async () => {
    const [person, app] = [await newPerson(service, 5), await newApp(service, await newPerson(service))];
    const client = await clientOf(service, app);
    const again = async (): Promise<void> => {
      await service.control.kill9();
      await service.control.restart();
    };
    const started = await start(client);
    const page = await consentTo(service, person, started);
    await again();
    const answered = await page.answerRaw(person, allowed());
    const { redirect_to: next } = (await answered.json()) as { redirect_to: string };
    await again();
    const callback = await person.browser.follow(next);
    await again();
    const tokens = await exchange(client, started, callback);
    await again();
    const refreshed = await oauth.refreshTokenGrant(client, tokens.refresh_token ?? '');
    const { ticket } = await service.mintTicket(refreshed.access_token, { model: 'acme/small' });
    expect(ticket).toBeDefined();
    // Signed before, checked after.
    const jwks = (await (await fetch(`${service.controlUrl}/connect/jwks`)).json()) as { keys: { kid: string }[] };
    const [header = ''] = (tokens.id_token ?? '').split('.');
    const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString()) as { kid: string };
    expect(jwks.keys.map((each) => each.kid)).toContain(kid);
  });

  it('a grant that ends in one process is dead in both, at once', async () => {
    const [person, app] = [await newPerson(service, 5), await newApp(service, await newPerson(service))];
    const { accessToken } = await connect(service, person, app);
    const { data } = (await (await person.browser.ask('GET', `${service.controlUrl}/connect/grants`)).json()) as {
      data: { id: string }[];
    };
    const { ticket } = await service.mintTicket(accessToken, { model: 'acme/small' });
    const ended = await person.browser.ask('DELETE', there(`${service.controlUrl}/connect/grants/${data[0]?.id}`));
    expect(ended.status).toBe(204);
    const asToken = { headers: { authorization: `Bearer ${accessToken}` } };
    expect((await fetch(`${service.controlUrl}/models`, asToken)).status).toBe(401);
    const redeemed = await fetch(`${service.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { 'x-router-ticket': ticket, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'acme/small', messages: [{ role: 'user', content: 'x' }] }),
    });
    expect(redeemed.status).toBe(401);
  });
});

function key(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64');
}

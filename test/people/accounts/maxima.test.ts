import { type Maxima, maxima } from '@sotto/contract';
import { whileHeld } from '@sotto/test-servers';
import { describe, expect, it } from 'vitest';
import { Authenticator } from '../../kit/authenticator.ts';
import { confirm, registration, verified } from './people.ts';
import { type Answer, useWorld, type Visitor } from './world.ts';

const most = 4;
const world = await useWorld({
  connectedApps: true,
  maxima: Object.fromEntries(Object.keys(maxima).map((name) => [name, most])) as Maxima,
});
/** A second process of the same deployment. A lock in memory would not stop it. */
const other = await world.another({ origin: world.origin });

/** The same browser at the other process. */
function twin(visitor: Visitor): Visitor {
  const copy = other.visitor();
  for (const [name, value] of visitor.cookies) copy.cookies.set(name, value);
  return copy;
}

const app = {
  name: 'Notebook',
  homepage: 'https://app.example',
  type: 'public',
  redirect_uris: ['https://app.example/callback'],
  scopes: ['openid'],
};

/**
 * Sends requests whose rows cannot be inserted until all of them wait. So each has counted by then that may count, as if they came
 * in the same moment.
 */
const together = (table: string, calls: readonly (() => Promise<Answer>)[]): Promise<Answer[]> =>
  whileHeld(world.pool, { rows: `lock table ${table} in share mode`, waiting: '' }, calls);

/** How to create each thing in a workspace, its table, where it is listed, and how many an account has from the beginning. */
const things = {
  keys: {
    table: 'api_keys',
    make: (at, visitor, place) => visitor.post('/keys', { name: `${at}`, kind: 'inference', workspace_id: place }),
    list: () => '/keys',
  },
  workspaces: {
    table: 'workspaces',
    make: (at, visitor) => visitor.post('/workspaces', { name: `${at}` }),
    list: () => '/workspaces',
    first: 1,
  },
  apps: {
    table: 'connect_apps',
    make: (_, visitor) => visitor.post('/connect/apps', app),
    list: () => '/connect/apps',
  },
  invitations: {
    table: 'workspace_invitations',
    make: (at, visitor, place) =>
      visitor.post(`/workspaces/${place}/invitations`, { email: `${at}@people.example`, role: 'viewer' }),
    list: (place) => `/workspaces/${place}/invitations`,
  },
} as const satisfies Readonly<
  Record<
    string,
    {
      readonly table: string;
      readonly make: (at: number, visitor: Visitor, place: string) => Promise<Answer>;
      readonly list: (place: string) => string;
      readonly first?: number;
    }
  >
>;

describe.each(Object.entries(things))('%s of one account', (name, thing) => {
  it('have a maximum, which simultaneous requests to two processes cannot pass, and are listed in pages', async () => {
    const { visitor } = await verified(world);
    const [{ id: place }] = (await visitor.get('/workspaces')).json.data;
    // Half of the requests are about another workspace, which has a lock of its own.
    const elsewhere =
      thing.list(place).includes(place) || name === 'workspaces'
        ? place
        : (await visitor.post('/workspaces', { name: 'x' })).json.id;
    const visitors = [visitor, twin(visitor)] as const;
    const made = await together(
      thing.table,
      Array.from(
        { length: 2 * most },
        (_, at) => () => thing.make(at, visitors[at % 2 === 0 ? 0 : 1], at < most ? place : elsewhere),
      ),
    );
    const first = 'first' in thing ? thing.first : 0;
    expect(made.map(({ status }) => status).filter((status) => status < 300)).toHaveLength(most - first);
    const refused = made.find(({ status }) => status === 409);
    expect(refused?.json.error).toMatchObject({ type: 'conflict' });
    expect(refused?.json.error.message).toContain(
      `There are ${most} ${maxima[name as keyof typeof things].what}; the most is ${most}.`,
    );

    const listed: string[] = [];
    for (let cursor = ''; ; ) {
      const page = (await visitor.get(`${thing.list(place)}?limit=3${cursor}`)).json;
      expect(page.data.length).toBeLessThanOrEqual(3);
      listed.push(...page.data.map(({ id }: { readonly id: string }) => id));
      if (page.next_cursor === null) break;
      cursor = `&cursor=${page.next_cursor}`;
    }
    expect(new Set(listed).size).toBe(most);
    expect(listed).toHaveLength(most);
  });
});

describe('a maximum', () => {
  it('also counts what was ended within a day, so that making and ending in turn comes to an end', async () => {
    const { visitor } = await verified(world);
    for (let at = 0; at < most; at += 1) {
      const { id } = (await visitor.post('/keys', { name: 'x', kind: 'inference' })).json;
      expect((await visitor.send('DELETE', `/keys/${id}`)).status).toBe(204);
    }
    expect((await visitor.post('/keys', { name: 'x', kind: 'inference' })).status).toBe(409);
    await world.pool.query("update api_keys set revoked_at = now() - interval '25 hours' where revoked_at is not null");
    expect((await visitor.post('/keys', { name: 'x', kind: 'inference' })).status).toBe(201);
  });

  it('of keys counts an expired one for a day, and again once it is prolonged', async () => {
    const { visitor } = await verified(world);
    const make = async () => (await visitor.post('/keys', { name: 'x', kind: 'inference' })).status;
    const { id } = (await visitor.post('/keys', { name: 'old', kind: 'inference' })).json;
    for (let at = 1; at < most; at += 1) expect(await make()).toBe(201);
    const expire = (ago: string) =>
      world.pool.query(`update api_keys set expires_at = now() - $2::interval where id = $1`, [id, ago]);
    await expire('23 hours');
    expect(await make()).toBe(409);
    await expire('25 hours');
    // Of the two, the later one takes the lock after the other has committed, and finds the place taken.
    const [prolonged, made] = await together('api_keys', [
      () => visitor.send('PATCH', `/keys/${id}`, { expires_at: null }),
      () => twin(visitor).post('/keys', { name: 'x', kind: 'inference' }),
    ]);
    expect([prolonged?.status === 200, made?.status === 201].filter(Boolean)).toHaveLength(1);
    expect([prolonged?.status === 409, made?.status === 409].filter(Boolean)).toHaveLength(1);
  });

  it('of keys does not count those that the policy of their workspace has ended', async () => {
    const { visitor } = await verified(world);
    const [{ id: place }] = (await visitor.get('/workspaces')).json.data;
    const make = async () => (await visitor.post('/keys', { name: 'x', kind: 'inference' })).status;
    for (let at = 0; at < most; at += 1) expect(await make()).toBe(201);
    const policy = { ...(await visitor.get(`/workspaces/${place}/policy`)).json, max_key_days: 1 };
    expect((await visitor.send('PUT', `/workspaces/${place}/policy`, policy)).status).toBe(200);
    const created = (ago: string) =>
      world.pool.query('update api_keys set created_at = now() - $2::interval where workspace_id = $1', [place, ago]);
    await created('47 hours');
    expect(await make()).toBe(409);
    await created('49 hours');
    expect(await make()).toBe(201);
  });

  it('of keys counts revoked ones against the member who created them, not against the owner', async () => {
    const [owner, guest] = [await verified(world), await verified(world)];
    const [{ id: place }] = (await owner.visitor.get('/workspaces')).json.data;
    const invitation = { email: guest.email, role: 'member' };
    const { token } = (await owner.visitor.post(`/workspaces/${place}/invitations`, invitation)).json;
    expect((await guest.visitor.post('/invitations/accept', { token })).status).toBe(200);
    const key = { name: 'x', kind: 'inference', workspace_id: place };
    for (let at = 0; at < most; at += 1) {
      const { id } = (await guest.visitor.post('/keys', key)).json;
      expect((await guest.visitor.send('DELETE', `/keys/${id}`)).status).toBe(204);
    }
    expect((await guest.visitor.post('/keys', key)).status).toBe(409);
    expect((await owner.visitor.post('/keys', key)).status).toBe(201);
  });

  it('of budgets counts those that are set, over all workspaces, and lets one be set again', async () => {
    const { visitor } = await verified(world);
    const [{ id: place }] = (await visitor.get('/workspaces')).json.data;
    const keys: string[] = [];
    for (let at = 0; at < most; at += 1)
      keys.push((await visitor.post('/keys', { name: 'x', kind: 'inference' })).json.id);
    const set = (who: Visitor, budget: object) =>
      who.send('PUT', `/workspaces/${place}/budgets`, { limit_usd: 1, ...budget });
    expect((await set(visitor, {})).status).toBe(200);
    const visitors = [visitor, twin(visitor)] as const;
    const made = await Promise.all(keys.map((key_id, at) => set(visitors[at % 2 === 0 ? 0 : 1], { key_id })));
    expect(made.map(({ status }) => status).sort()).toEqual([...Array(most - 1).fill(200), 409]);
    expect((await set(visitor, { limit_usd: 2 })).status).toBe(200);
    const page = (await visitor.get(`/workspaces/${place}/budgets?limit=2`)).json;
    expect([page.data.length, page.next_cursor === null]).toEqual([2, false]);
  });

  it('of budgets counts the budget of a member once, in whichever case its id is written', async () => {
    const { visitor } = await verified(world);
    const [{ id: place }] = (await visitor.get('/workspaces')).json.data;
    const { id: key_id, created_by: member_id } = (await visitor.post('/keys', { name: 'x', kind: 'inference' })).json;
    for (const limited of [{ member_id }, { key_id }]) {
      for (const change of [(id: string) => id, (id: string) => id.toUpperCase()]) {
        const body = Object.fromEntries(Object.entries(limited).map(([name, id]) => [name, change(id)]));
        const { status, json } = await visitor.send('PUT', `/workspaces/${place}/budgets`, { ...body, limit_usd: 1 });
        expect([status, json]).toEqual([200, expect.objectContaining(limited)]);
      }
    }
    expect((await visitor.get(`/workspaces/${place}/budgets`)).json.data).toHaveLength(2);
  });

  it('of budgets counts a removed one for a day, unless it is set again', async () => {
    const { visitor } = await verified(world);
    const [{ id: place }] = (await visitor.get('/workspaces')).json.data;
    const path = `/workspaces/${place}/budgets`;
    const set = (tag: string) => visitor.send('PUT', path, { tag, limit_usd: 1 });
    for (let at = 0; at < most; at += 1) {
      const { status, json } = await set(`tag ${at}`);
      expect([status, (await visitor.send('DELETE', `${path}/${json.id}`)).status]).toEqual([200, 204]);
    }
    expect((await visitor.get(path)).json.data).toEqual([]);
    expect((await set('another')).status).toBe(409);
    expect((await set('tag 0')).status).toBe(200);
    const pass = (ago: string) =>
      world.pool.query('update budgets set projected_at = now() - $2::interval where workspace_id = $1', [place, ago]);
    await pass('23 hours');
    expect((await set('another')).status).toBe(409);
    await pass('25 hours');
    expect((await set('another')).status).toBe(200);
  });

  it('of passkeys holds for registrations at the same time', async () => {
    const { visitor } = await verified(world);
    const bodies = [];
    for (let at = 0; at < most + 2; at += 1) {
      // Each browser has the challenge of its own registration.
      const browser = at % 2 === 0 ? world.visitor() : other.visitor();
      for (const [name, value] of visitor.cookies) browser.cookies.set(name, value);
      const confirmation = await confirm(browser);
      bodies.push({ browser, body: { ...(await registration(world, browser, new Authenticator())), confirmation } });
    }
    const made = await together(
      'auth_passkey',
      bodies.map(
        ({ browser, body }) =>
          () =>
            browser.post('/auth/passkey/verify-registration', body),
      ),
    );
    expect(made.map(({ status }) => status).sort()).toEqual([...Array(most).fill(200), 409, 409]);
    expect((await visitor.get('/auth/passkey/list-user-passkeys')).json).toHaveLength(most);
    expect(made.find(({ status }) => status === 409)?.json.error.message).toContain(`the most is ${most}`);
  });
});

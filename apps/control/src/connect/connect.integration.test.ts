import { randomUUID } from 'node:crypto';
import { usualMaxima } from '@sotto/contract';
import { whileHeld } from '@sotto/test-servers';
import type pg from 'pg';
import { describe, expect, it } from 'vitest';
import { claimAccount } from '../accounts/claim-account.ts';
import { createAccount } from '../accounts/ensure-account.ts';
import { identityProvider } from '../audit-log/record-act.ts';
import { inTransaction } from '../database/in-transaction.ts';
import { disableAccount, setDisabledWithin } from '../operator/account-store.ts';
import { applyPerson } from '../provisioning/provisioned-people.ts';
import { done, endOf } from '../testing/outcomes.integration.ts';
import { openTestDatabase } from '../testing/test-database.integration.ts';
import { claimWorkspaces } from '../workspaces/claim-workspaces.ts';
import { removeMember } from '../workspaces/member-store.ts';
import { changeApp, createApp, disableApp, disableApps, listApps, type OfApp, rotateSecret } from './apps/app-store.ts';
import { purgeConnect } from './grants/end-grants.ts';
import { createGrant, disconnect, type NewGrant } from './grants/grant-store.ts';
import { ArtifactStore } from './protocol/artifact-store.ts';
import { purgeKeys, readKeys, usedMs } from './protocol/key-store.ts';
import { subjectOf } from './protocol/people.ts';

const { pool } = await openTestDatabase();

const redirectUri = 'https://app.example/callback';
const projected: string[] = [];
const projector = { keys: async (ids: readonly string[]) => void projected.push(...ids) } as never;

async function newAccount() {
  const userId = randomUUID();
  await pool.query('insert into auth_user (id, name, email) values ($1, $1, $1)', [userId]);
  return createAccount(pool, { userId, name: 'x' });
}

async function newApp(): Promise<OfApp> {
  const { accountId } = await newAccount();
  const registered = createApp(
    pool,
    { accountId, maxima: usualMaxima },
    {
      name: 'Notebook',
      homepage: 'https://app.example',
      type: 'confidential',
      redirect_uris: [redirectUri],
      scopes: ['openid', 'inference'],
    },
  );
  const app = await done(registered);
  return { accountId, appId: app.id };
}

const grantFor = (accountId: string, { appId }: OfApp, more: Partial<NewGrant> = {}): NewGrant => ({
  accountId,
  appId,
  redirectUri,
  scopes: ['inference'],
  workspaceId: undefined,
  maxima: usualMaxima,
  creditLimitNusd: 1n,
  ...more,
});
const allow = (grant: NewGrant) => inTransaction(pool, (client) => createGrant(client, grant));

async function isActive(grantId: string): Promise<boolean> {
  const { rowCount } = await pool.query(
    'select 1 from connect_grants g join api_keys k on k.id = g.key_id where g.id = $1 and k.revoked_at is null',
    [grantId],
  );
  return rowCount === 1;
}

async function untilWaiting(count: number): Promise<void> {
  for (let waiting = 0; waiting < count; ) {
    const { rows } = await pool.query<{ count: string }>(
      "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    );
    waiting = Number(rows[0]?.count);
  }
}

/** Runs `first` in a transaction that commits only once `second` waits for it. */
async function whileOpen<T>(first: (client: pg.PoolClient) => Promise<T>, second: () => Promise<unknown>) {
  const { result, end } = await inTransaction(pool, async (client) => {
    const opened = { result: await first(client), end: endOf(second()) };
    await untilWaiting(1);
    return opened;
  });
  return { result, end: await end };
}

describe('a grant that is created while', () => {
  it.each<[string, (of: OfApp) => Promise<unknown>]>([
    ['its redirect URI is removed', (of) => changeApp(pool, of, { redirect_uris: ['https://app.example/new'] })],
    ['the secret is rotated', (of) => rotateSecret(pool, of)],
    ['the app is disabled', (of) => disableApp(pool, of)],
  ])('%s ends with the other grants', async (_, change) => {
    const [app, { accountId }] = [await newApp(), await newAccount()];
    const { result, end } = await whileOpen(
      (client) => done(createGrant(client, grantFor(accountId, app))),
      () => change(app),
    );
    expect(end).toBe('done');
    expect(await isActive(result.grantId)).toBe(false);
  });

  it('the app is being disabled is refused', async () => {
    const [app, { accountId }] = [await newApp(), await newAccount()];
    const { end } = await whileOpen(
      async (client) => {
        await client.query('select 1 from connect_apps where id = $1 for update', [app.appId]);
        await client.query('update connect_apps set disabled_at = now() where id = $1', [app.appId]);
      },
      () => allow(grantFor(accountId, app)),
    );
    expect(end).toBe('app_changed');
  });

  // The disabling comes while the grant is being stored, with a key that it does not see yet. If it did not wait, the app could mint a
  // ticket with that key before the disabling commits.
  it('its developer is disabled stops with the others', async () => {
    const [app, { accountId }] = [await newApp(), await newAccount()];
    let stopped: unknown;
    const { result } = await whileOpen(
      (client) => done(createGrant(client, grantFor(accountId, app))),
      async () => {
        stopped = await disableAccount(pool, { accountId: app.accountId, actor: identityProvider });
      },
    );
    expect(stopped).toEqual(result.keyIds);
  });

  it('its developer is being disabled is refused', async () => {
    const [{ accountId, appId }, person] = [await newApp(), await newAccount()];
    const { end } = await whileOpen(
      (client) => setDisabledWithin(client, { accountId, actor: identityProvider, isDisabled: true }),
      () => allow(grantFor(person.accountId, { accountId, appId })),
    );
    expect(end).toBe('app_changed');
  });

  // The eleventh grant for an app has been inserted, so its transaction holds the account by foreign keys. It goes on to end the oldest
  // grant. Leaving must not hold the key of that grant while it waits for the account.
  it('its person leaves does not deadlock, although it ends an older grant', async () => {
    const [app, { accountId }] = [await newApp(), await newAccount()];
    for (let made = 0; made < 10; made += 1) await allow(grantFor(accountId, app));
    let left: Promise<readonly string[]> | undefined;
    const held = {
      ...{ rows: 'lock table acts in access exclusive mode', waiting: 'insert into acts' },
      meanwhile: () => {
        left = inTransaction(pool, (client) => applyPerson(client, { accountId, active: false }, { map: [] }));
        return untilWaiting(2);
      },
    };
    const [eleventh] = await whileHeld(pool, held, [() => done(allow(grantFor(accountId, app)))]);
    expect(eleventh?.keyIds).toHaveLength(2);
    expect(await left).toHaveLength(10);
  });

  it('its creator is removed from the workspace ends too, or is refused', async () => {
    const [app, owner, member] = [await newApp(), await newAccount(), await newAccount()];
    const workspaceId = owner.defaultWorkspaceId;
    await pool.query("insert into workspace_members (workspace_id, account_id, role) values ($1, $2, 'member')", [
      workspaceId,
      member.accountId,
    ]);
    const { result, end } = await whileOpen(
      (client) => done(createGrant(client, grantFor(member.accountId, app, { workspaceId }))),
      () => removeMember(pool, { accountId: owner.accountId, workspaceId, memberId: member.accountId }),
    );
    expect(end).toBe('done');
    expect(await isActive(result.grantId)).toBe(false);
    expect(await endOf(allow(grantFor(member.accountId, app, { workspaceId })))).toBe('no_workspace');
  });
});

it('the owner who claims an account finds no app that an earlier user registered in it', async () => {
  const [app, person] = [await newApp(), await newAccount()];
  const { grantId } = await done(allow(grantFor(person.accountId, app)));
  const { rows } = await pool.query<{ user_id: string }>('select user_id from accounts where id = $1', [app.accountId]);
  const keyIds = await claimAccount(pool, rows[0]?.user_id ?? '', [claimWorkspaces, disableApps]);
  expect(keyIds).toHaveLength(1);
  expect(await isActive(grantId)).toBe(false);
  expect((await listApps(pool, app.accountId, { limit: 1 })).data).toEqual([]);
});

it('a grant that several callers end at once ends once', async () => {
  const [app, { accountId }] = [await newApp(), await newAccount()];
  const { grantId } = await done(allow(grantFor(accountId, app)));
  const ends = await Promise.all(
    [1, 2, 3].map(() => inTransaction(pool, (client) => done(disconnect(client, { accountId, grantId })))),
  );
  expect(ends.flat()).toHaveLength(1);
  const { rows } = await pool.query<{ generation: number }>(
    'select generation from api_keys k join connect_grants g on g.key_id = k.id where g.id = $1',
    [grantId],
  );
  expect(rows[0]?.generation).toBe(2);
});

it('a subject is random, and one for each app and account when several callers ask at once', async () => {
  const [one, two, { accountId }] = [await newApp(), await newApp(), await newAccount()];
  const asked = await Promise.all([1, 2, 3, 4].map(() => subjectOf(pool, { appId: one.appId, accountId })));
  expect(new Set(asked).size).toBe(1);
  expect(await subjectOf(pool, { appId: two.appId, accountId })).not.toBe(asked[0]);
});

describe('an artifact of the protocol', () => {
  const inAnHour = () => Math.floor(Date.now() / 1000) + 3600;

  it('is found by its secret, can be used once by simultaneous callers, and ends with its grant', async () => {
    const codes = new ArtifactStore(pool, 'AuthorizationCode');
    const grantId = randomUUID();
    await codes.put('secret', { exp: inAnHour(), grantId });
    expect(await codes.find('secret')).toMatchObject({ grantId });
    expect(await new ArtifactStore(pool, 'RefreshToken').find('secret')).toBeUndefined();
    const used = await Promise.all([1, 2, 3, 4, 5].map(() => codes.consume('secret')));
    expect(used.filter(Boolean)).toHaveLength(1);
    expect(await codes.find('secret')).toHaveProperty('consumed');
    await codes.removeOfGrant(grantId);
    expect(await codes.find('secret')).toBeUndefined();
  });

  it('is purged when it has expired, and a grant without artifacts ends', async () => {
    const tokens = new ArtifactStore(pool, 'RefreshToken');
    const [app, { accountId }] = [await newApp(), await newAccount()];
    const grants = await Promise.all([1, 2, 3, 4].map(() => done(allow(grantFor(accountId, app)))));
    const [idle, living, fresh, expired] = grants.map(({ grantId }) => grantId);
    await tokens.put('old', { exp: Math.floor(Date.now() / 1000) - 120, grantId: idle });
    await tokens.put('living', { exp: inAnHour(), grantId: living });
    await tokens.put('expired', { exp: inAnHour(), grantId: expired });
    const yesterday = "now() - interval '1 day'";
    await pool.query(`update connect_grants set created_at = ${yesterday} where id <> $1`, [fresh]);
    await pool.query(`update connect_grants set expires_at = ${yesterday} where id = $1`, [expired]);
    expect(await purgeConnect({ pool, projector })).toBe(false);
    const active = await Promise.all([idle, living, fresh, expired].map((id) => isActive(id ?? '')));
    expect(active).toEqual([false, true, true, false]);
    const { rowCount } = await pool.query(
      "select 1 from connect_artifacts where expires_at < now() - interval '1 minute'",
    );
    expect(rowCount).toBe(0);
    const ended = grants.filter((_, index) => !active[index]).flatMap(({ keyIds }) => keyIds[0] ?? []);
    expect(projected).toEqual(expect.arrayContaining(ended));
  });

  it('keeps its grant alive between the use of a refresh token and the writing of the next one', async () => {
    const tokens = new ArtifactStore(pool, 'RefreshToken');
    const { grantId } = await done(allow(grantFor((await newAccount()).accountId, await newApp())));
    await pool.query("update connect_grants set created_at = now() - interval '1 day' where id = $1", [grantId]);
    await tokens.put('in use', { exp: inAnHour(), grantId });
    expect(await tokens.consume('in use')).toBe(true);
    await purgeConnect({ pool, projector });
    expect(await isActive(grantId)).toBe(true);
    await pool.query(
      "update connect_artifacts set consumed_at = consumed_at - interval '10 minutes' where grant_id = $1",
      [grantId],
    );
    await purgeConnect({ pool, projector });
    expect(await isActive(grantId)).toBe(false);
  });
});

describe('the keys of the protocol', () => {
  const secret = ['s'.repeat(32)] as const;

  it('are created once when several processes start, and are stored encrypted', async () => {
    const now = Date.now();
    const read = await Promise.all([1, 2, 3, 4].map(() => readKeys(pool, secret, now)));
    expect(new Set(read.map(({ fingerprint }) => fingerprint)).size).toBe(1);
    const [keys] = read;
    expect(keys?.signing).toHaveLength(1);
    expect(keys?.signing[0]).toMatchObject({ kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig' });
    const { rows } = await pool.query('select * from connect_keys');
    expect(rows).toHaveLength(2);
    expect(JSON.stringify(rows)).not.toContain(keys?.signing[0]?.d);
    expect(JSON.stringify(rows)).not.toContain(keys?.cookies[0]);
  });

  it('stay the same during a rotation of the secret, while both secrets are accepted', async () => {
    const now = Date.now();
    const next = 'n'.repeat(32);
    const before = await readKeys(pool, secret, now);
    expect(await readKeys(pool, [secret[0], next], now)).toEqual(before);
    expect(await readKeys(pool, [next, secret[0]], now)).toEqual(before);
    await purgeKeys(pool, [next, secret[0]], now);
    expect(await readKeys(pool, [next], now)).toEqual(before);
    await purgeKeys(pool, [secret[0], next], now);
  });

  it('change with time, and with the secret that encrypts them', async () => {
    const now = Date.now();
    const before = await readKeys(pool, secret, now);
    const later = now + usedMs + 1000;
    const announced = await readKeys(pool, secret, later);
    expect(announced.signing.map(({ kid }) => kid)).toHaveLength(2);
    expect(announced.signing[0]).toEqual(before.signing[0]);
    const muchLater = later + usedMs - 1000;
    await purgeKeys(pool, secret, muchLater);
    const after = await readKeys(pool, secret, muchLater);
    expect(after.signing).toEqual([announced.signing[1]]);
    const other = await readKeys(pool, ['o'.repeat(32)], muchLater);
    expect(other.signing[0]).not.toEqual(after.signing[0]);
    // The first secret cannot decrypt these keys. They are deleted when they are old.
    await purgeKeys(pool, secret, muchLater + usedMs + 1000);
    await expect(pool.query('select 1 from connect_keys')).resolves.toMatchObject({ rowCount: 2 });
  });
});

import { randomUUID } from 'node:crypto';
import { usualMaxima } from '@sotto/contract';
import type { CreateApp } from '@sotto/contract/control/connect';
import { until, whileHeld } from '@sotto/test-servers';
import type pg from 'pg';
import { describe, expect, it } from 'vitest';
import { createAccount } from '../accounts/ensure-account.ts';
import { writeSettings } from '../billing/account-settings.ts';
import { createApp } from '../connect/apps/app-store.ts';
import { DueWork } from '../database/due-work.ts';
import { inTransaction } from '../database/in-transaction.ts';
import { insertKey } from '../keys/key-store.ts';
import { done, endOf } from '../testing/outcomes.integration.ts';
import { openTestDatabase } from '../testing/test-database.integration.ts';
import { createPermission } from '../wallets/standing-permission.ts';
import { setBudget } from '../workspaces/budget-store.ts';
import { lockWorkspace } from '../workspaces/workspace-access.ts';
import { buildAccountDeletion, removeAccount } from './account-deletion.ts';
import { deleteAccount } from './delete-account.ts';
import { deletePerson } from './delete-person.ts';
import { endAccount } from './end-account.ts';

const { pool } = await openTestDatabase();

async function person() {
  const userId = randomUUID();
  await pool.query('insert into auth_user (id, name, email) values ($1, $1, $1)', [userId]);
  return { userId, ...(await createAccount(pool, { userId, name: 'x' })) };
}

const someApp: CreateApp = {
  name: 'x',
  homepage: 'https://x.example',
  type: 'public',
  redirect_uris: ['https://x.example/callback'],
  scopes: ['openid'],
};

/** Gives an account this many keys, faster than one by one. */
const makeKeys = (owner: { readonly accountId: string; readonly defaultWorkspaceId: string }, count: number) =>
  pool.query(
    `insert into api_keys (id, account_id, workspace_id, created_by, kind, name, hash, preview, projected_generation)
     select gen_random_uuid(), $1, $2, $1, 'inference', 'mine', gen_random_uuid()::text, 'x', 1 from generate_series(1, $3)`,
    [owner.accountId, owner.defaultWorkspaceId, count],
  );

const left = async (accountId: string) => {
  const { rows } = await pool.query<{ active: string; named: string }>(
    `select count(*) filter (where revoked_at is null) as active, count(*) filter (where name = 'mine') as named
     from api_keys where account_id = $1 or created_by = $1`,
    [accountId],
  );
  return { active: Number(rows[0]?.active), named: Number(rows[0]?.named) };
};

/** A projector that notes what brokers are told. It fails while `isAway`. */
function brokers() {
  const told = { keys: [] as string[], wallets: [] as string[], isAway: false };
  const projector = {
    keys: async (ids: readonly string[]) => {
      if (told.isAway) throw new Error('the process ends here');
      told.keys.push(...ids);
    },
    account: async (id: string) => void told.wallets.push(id),
  };
  return { told, projector };
}

describe('an account with many keys', () => {
  it('is deleted in steps of a bounded size, and the answer comes when every broker knows', async () => {
    const ann = await person();
    await makeKeys(ann, 1_300);
    const { told, projector } = brokers();
    const sizes: number[] = [];
    const counting = {
      ...projector,
      keys: async (ids: readonly string[]) => {
        sizes.push(ids.length);
        return projector.keys(ids);
      },
    };
    expect(
      await removeAccount({ pool, projector: counting, now: Date.now, onFailed: () => {} }, ann.userId),
    ).toBeUndefined();
    expect(await left(ann.accountId)).toEqual({ active: 0, named: 0 });
    expect(Math.max(...sizes)).toBe(500);
    expect(new Set(told.keys).size).toBe(1_300);
    // Brokers learn first that the wallet has nothing to spend.
    expect(told.wallets).toEqual([ann.accountId]);
  });

  it('goes on where a process stopped in the middle, and is unusable meanwhile', async () => {
    const ann = await person();
    await makeKeys(ann, 1_100);
    const { told, projector } = brokers();
    const deletion = await deleteAccount(pool, ann.userId, { month: '2026-01' });
    expect(deletion).toEqual({ accountId: ann.accountId });
    // The first step commits, and the process ends before it tells the brokers.
    told.isAway = true;
    await expect(endAccount({ pool, projector }, ann.accountId)).rejects.toThrow('ends here');
    expect((await left(ann.accountId)).active).toBe(600);

    // No session, and nothing that a key could spend or be made in.
    const { rows } = await pool.query(
      `select a.user_id, a.disabled_at is not null as disabled, a.projected_version < a.version as is_due, w.deleted_at is not null as gone
       from accounts a join workspaces w on w.account_id = a.id where a.id = $1`,
      [ann.accountId],
    );
    expect(rows).toEqual([{ user_id: null, disabled: true, is_due: true, gone: true }]);
    const locking = inTransaction(pool, (client) =>
      lockWorkspace(client, { accountId: ann.accountId, workspaceId: ann.defaultWorkspaceId, action: 'useOwnKeys' }),
    );
    expect(await endOf(locking)).toBe('no_workspace');

    // Another process finds it by its rows. It closes the account only after brokers know of every key.
    told.isAway = false;
    const closed: string[] = [];
    const domain = buildAccountDeletion({
      pool,
      projector,
      state: { isOpen: async () => true, readWallet: async () => ({ heldNusd: 0n, unbookedNusd: 0n }) as never },
      project: async (id) => void closed.push(id),
    });
    const failures: unknown[] = [];
    const fail = (error: unknown): void => void failures.push(error);
    const due = new DueWork(pool, Date.now, fail);
    const tasks = [...(domain.tasks?.(() => fail, due) ?? []), due];
    for (const task of tasks) task.start();
    await expect.poll(async () => (await left(ann.accountId)).active).toBe(0);
    expect(closed).toEqual([]);
    // The projector's own catching up tells them of the keys of the first step.
    await pool.query('update api_keys set projected_generation = generation where account_id = $1', [ann.accountId]);
    await expect.poll(() => closed, { timeout: 20_000 }).toEqual([ann.accountId]);
    for (const task of tasks) await task.stop();
    expect([failures, await left(ann.accountId)]).toEqual([[], { active: 0, named: 0 }]);
  });

  it('and a key that a member is creating in a workspace that the operator deletes, too: refused, or revoked', async () => {
    // The member's transaction may lock the workspace before the deletion or after it. Before it, the key is committed when `endAccount`
    // looks. After it, the workspace is deleted and the membership is gone.
    const [ann, ben] = [await person(), await person()];
    await pool.query('update auth_user set email = $2 where id = $1', [ann.userId, 'ann@people.example']);
    await pool.query("insert into workspace_members (workspace_id, account_id, role) values ($1, $2, 'member')", [
      ann.defaultWorkspaceId,
      ben.accountId,
    ]);
    const create = () =>
      inTransaction(pool, async (client) => {
        const { accountId, defaultWorkspaceId: workspaceId } = ann;
        await done(lockWorkspace(client, { accountId: ben.accountId, workspaceId, action: 'useOwnKeys' }));
        const key = { accountId, workspaceId, createdBy: ben.accountId, kind: 'inference', name: 'mine' } as const;
        return insertKey(client, { ...key, openaiCompatible: true, creditLimitNusd: undefined });
      }).catch(() => undefined);
    const remove = async () => {
      const request = { accountId: ann.accountId, email: 'ann@people.example', withWorkspaces: true };
      expect(await deletePerson(pool, { ...request, actor: { kind: 'command_line' } }, Date.now())).toBeUndefined();
      while (await endAccount({ pool, projector: brokers().projector }, ann.accountId));
    };
    await whileHeld<unknown>(
      pool,
      {
        rows: 'select 1 from workspaces where id = $1 for update',
        values: [ann.defaultWorkspaceId],
        waiting: 'select 1 from workspaces',
      },
      [create, remove, create],
    );
    expect((await left(ann.accountId)).active).toBe(0);
  });

  it('and a key that is being created in the same moment: it is refused, or revoked with the others', async () => {
    const ann = await person();
    const create = () =>
      inTransaction(pool, async (client) => {
        const { accountId, defaultWorkspaceId: workspaceId } = ann;
        await done(lockWorkspace(client, { accountId, workspaceId, action: 'useOwnKeys' }));
        const key = { accountId, workspaceId, kind: 'inference', name: 'mine', openaiCompatible: true } as const;
        return insertKey(client, { ...key, creditLimitNusd: undefined });
      }).catch(() => undefined);
    const { projector } = brokers();
    await whileHeld<unknown>(
      pool,
      {
        rows: 'select 1 from workspaces where id = $1 for update',
        values: [ann.defaultWorkspaceId],
        waiting: 'select 1 from workspaces',
      },
      [create, () => removeAccount({ pool, projector, now: Date.now, onFailed: () => {} }, ann.userId), create],
    );
    expect((await left(ann.accountId)).active).toBe(0);
  });

  // The deletion has disabled the apps and removed the settings and the code that it saw, and has not committed. A request whose session
  // was read before stores another one. The foreign key does not make it wait, so it must lock the account itself.
  it('and what its owner stores in the same moment: an app, settings and a permission to withdraw', async () => {
    const ann = await person();
    const { accountId } = ann;
    const sessionId = randomUUID();
    await pool.query(
      "insert into auth_session (id, token, user_id, expires_at) values ($1, $1, $2, now() + interval '1 day')",
      [sessionId, ann.userId],
    );
    const store = () => [
      createApp(pool, { accountId, maxima: usualMaxima }, someApp),
      writeSettings(pool, accountId, { lowBalanceNusd: 1n, receiptDetails: undefined, auto: undefined }),
      createPermission(pool, { accountId, sessionId, lots: 1, expiresAt: new Date(Date.now() + 60_000) }),
    ];
    let stored: readonly Promise<unknown>[] = [];
    const isWaiting = async () => {
      const { rows } = await pool.query<{ count: number }>(
        `select count(*)::int from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
           and query like 'select from accounts%'`,
      );
      return rows[0]?.count === stored.length;
    };
    const [deletion] = await whileHeld<unknown>(
      pool,
      {
        ...{ rows: 'select from auth_user where id = $1 for update', values: [ann.userId] },
        waiting: 'delete from auth_user',
        meanwhile: async () => {
          stored = store();
          await Promise.race([Promise.all(stored), until(isWaiting, 'all wait for the deletion')]);
        },
      },
      [() => deleteAccount(pool, ann.userId, { month: '2026-01' })],
    );
    expect(deletion).toEqual({ accountId });
    expect(await Promise.all(stored.map(endOf))).toEqual(['no_account', 'no_account', 'disabled']);
    for (const table of ['connect_apps', 'billing_settings', 'credit_codes'])
      expect((await pool.query(`select from ${table} where account_id = $1`, [accountId])).rowCount, table).toBe(0);
  });

  // A withdrawal has locked the permission and now needs the account. The deletion removes both. If it held the account while it waits for
  // the permission, Postgres would end one of the two.
  it('and a withdrawal of its credits: neither waits for the other', async () => {
    const { userId, accountId } = await person();
    await pool.query(
      "insert into credit_codes (account_id, code_hash, expires_at, lots) values ($1, $2, now() + interval '1 day', 5)",
      [accountId, randomUUID()],
    );
    const held = {
      ...{ rows: 'select from credit_codes where account_id = $1 for update', values: [accountId], waiting: '' },
      meanwhile: (withdrawal: pg.PoolClient) =>
        withdrawal.query('select from accounts where id = $1 for update', [accountId]),
    };
    const remove = () => deleteAccount(pool, userId, { month: '2026-01' });
    expect(await whileHeld<unknown>(pool, held, [remove])).toEqual([{ accountId }]);
    expect((await pool.query('select from credit_codes where account_id = $1', [accountId])).rowCount).toBe(0);
  });

  // Disabling an app has locked it, and now needs the budgets of its keys. The deletion needs both, too.
  it('and an app that its owner is disabling in the same moment: neither waits for the other', async () => {
    const { userId, accountId, defaultWorkspaceId: workspaceId } = await person();
    const place = { accountId, workspaceId, maxima: usualMaxima };
    const { id: budgetId } = await done(setBudget(pool, place, { limitNusd: 1n }, Date.now()));
    const { id: appId } = await done(createApp(pool, place, someApp));
    const held = {
      ...{ rows: 'select from connect_apps where id = $1 for update', values: [appId], waiting: '' },
      meanwhile: (disabling: pg.PoolClient) =>
        disabling.query('select from budgets where id = $1 for update', [budgetId]),
    };
    const remove = () => deleteAccount(pool, userId, { month: '2026-01' });
    expect(await whileHeld<unknown>(pool, held, [remove])).toEqual([{ accountId }]);
  });

  it('and a budget that its owner is setting in the same moment: neither waits for the other', async () => {
    // Setting a budget locks the workspace, and then the account that pays. A deletion that locked the account first would wait for the
    // workspace while it holds what the other needs. Either may come first.
    const ann = await person();
    const set = () =>
      endOf(
        setBudget(
          pool,
          { accountId: ann.accountId, workspaceId: ann.defaultWorkspaceId, maxima: usualMaxima },
          { limitNusd: 1n },
          Date.now(),
        ),
      );
    const remove = () => deleteAccount(pool, ann.userId, { month: '2026-01' });
    const [budget, deletion] = await whileHeld<unknown>(
      pool,
      {
        rows: 'select 1 from workspaces where id = $1 for update',
        values: [ann.defaultWorkspaceId],
        waiting: 'select 1 from workspaces',
      },
      [set, remove],
    );
    expect(['done', 'no_workspace']).toContain(budget);
    expect(deletion).toEqual({ accountId: ann.accountId });
  });
});

it('the keys of a deleted account and those of its apps are locked in one order, as bookings lock them', async () => {
  // A booking of both keys locks the one with the lower id first. A deletion that held the other one meanwhile would deadlock with it.
  const [ann, ben] = [await person(), await person()];
  const [low, high] = ['00000000-0000-4000-8000-000000000000', 'ffffffff-ffff-4fff-bfff-ffffffffffff'];
  for (const [id, { accountId, defaultWorkspaceId }] of [
    [low, ben],
    [high, ann],
  ] as const)
    await pool.query(
      `insert into api_keys (id, account_id, workspace_id, created_by, kind, name, hash, preview, projected_generation)
       values ($1, $2, $3, $2, 'inference', 'mine', gen_random_uuid()::text, 'x', 1)`,
      [id, accountId, defaultWorkspaceId],
    );
  const appId = randomUUID();
  await pool.query(
    `insert into connect_apps (id, account_id, name, homepage, type, redirect_uris, post_logout_redirect_uris, scopes)
     values ($1, $2, 'App of Ann', 'https://ann.example', 'public', '[]', '[]', '[]')`,
    [appId, ann.accountId],
  );
  await pool.query(
    `insert into connect_grants (id, app_id, account_id, key_id, scopes, expires_at)
     values ($1, $1, $2, $3, '[]', now() + interval '1 day')`,
    [appId, ben.accountId, low],
  );
  await deleteAccount(pool, ann.userId, { month: '2026-01' });
  const lock = 'select 1 from api_keys where id = $1 for update';
  await whileHeld(
    pool,
    { rows: lock, values: [low], waiting: '', meanwhile: (holder) => holder.query(`${lock} nowait`, [high]) },
    [() => endAccount({ pool, projector: brokers().projector }, ann.accountId)],
  );
  const { rows } = await pool.query(
    'select distinct name, revoked_at is not null as ended from api_keys where id = any($1::uuid[])',
    [[low, high]],
  );
  expect(rows).toEqual([{ name: 'Deleted key', ended: true }]);
});

// A permission to withdraw credits needs neither a session nor a key.
it('a deleted account has no permission to withdraw credits', async () => {
  const ann = await person();
  await pool.query(
    "insert into credit_codes (account_id, code_hash, expires_at, lots) values ($1, 'x', now() + interval '1 day', 5)",
    [ann.accountId],
  );
  await deleteAccount(pool, ann.userId, { month: '2026-01' });
  expect((await pool.query('select from credit_codes')).rowCount).toBe(0);
});

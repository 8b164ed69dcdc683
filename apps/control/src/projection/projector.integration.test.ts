import { randomBytes, randomUUID } from 'node:crypto';
import { usualMaxima } from '@sotto/contract';
import { createMemoryState, MemoryStore, monthOf, type State, shards } from '@sotto/state';
import { initialPreferences } from '@sotto/wire';
import { beforeEach, describe, expect, it } from 'vitest';
import { deleteAccount } from '../account-deletion/delete-account.ts';
import { endAccount } from '../account-deletion/end-account.ts';
import { createAccount } from '../accounts/ensure-account.ts';
import { inTransaction } from '../database/in-transaction.ts';
import { insertKey, revokeKey } from '../keys/key-store.ts';
import { putWorkspacePreferences } from '../routing/routing.ts';
import { done } from '../testing/outcomes.integration.ts';
import { openTestDatabase } from '../testing/test-database.integration.ts';
import { acceptInvitation } from '../workspaces/answer-invitation.ts';
import { removeBudget, setBudget } from '../workspaces/budget-store.ts';
import { inviteAddress } from '../workspaces/invitation-store.ts';
import { createWorkspace, deleteWorkspace } from '../workspaces/workspace-store.ts';
import { Projector } from './projector.ts';

const { pool } = await openTestDatabase();
const leaseMs = 3_600_000;

let store: MemoryStore;
let state: State;
let projector: Projector;
/** Begins with an empty state. */
async function beginEmpty(): Promise<void> {
  store = new MemoryStore(Date.now);
  state = createMemoryState({ store });
  for (const shard of shards) {
    await state.beginEpoch(shard, 1);
    const join = () => state.join(shard, { declaration: undefined, leaseMs });
    await join().catch(join);
    await state.openEpoch(shard);
  }
  projector = new Projector({
    ...{ pool, state, accountRefKey: randomBytes(32), limits: { requests: 60, tokens: 60 } },
    events: { projected: () => {}, unreadablePreferences: () => {} },
  });
}
beforeEach(beginEmpty);

async function hashesIn(workspaceId: string): Promise<string[]> {
  const { rows } = await pool.query<{ hash: string }>('select hash from api_keys where workspace_id = $1', [
    workspaceId,
  ]);
  return rows.map(({ hash }) => hash);
}

/** A user with a workspace that has two keys, and budgets of the workspace and of a key. All is projected. */
async function owner() {
  const [userId, email] = [randomUUID(), `${randomUUID()}@people.example`];
  await pool.query('insert into auth_user (id, name, email) values ($1, $2, $3)', [userId, 'x', email]);
  const { accountId } = await createAccount(pool, { userId, name: email });
  const { id: workspaceId } = await done(createWorkspace(pool, { accountId, maxima: usualMaxima }, 'Team'));
  const key = { accountId, workspaceId, kind: 'inference', name: 'x', openaiCompatible: true } as const;
  const [first, second] = [
    await insertKey(pool, { ...key, creditLimitNusd: undefined }),
    await insertKey(pool, { ...key, creditLimitNusd: undefined }),
  ];
  const place = { accountId, workspaceId, maxima: usualMaxima };
  const limitNusd = 5_000_000_000n;
  await done(setBudget(pool, place, { limitNusd }, Date.now()));
  await done(setBudget(pool, place, { limitNusd, keyId: first.id }, Date.now()));
  await catchUp();
  expect(recordsNow()).toEqual({ keys: 2, preferences: 1, budgets: 2 });
  return { ...place, userId, email, keyIds: [first.id, second.id] as const };
}

async function catchUp(): Promise<void> {
  while (await projector.catchUp());
}

/** Counts what requests could use. It leaves out what only refuses older projections. */
function recordsNow() {
  const all = store.shards.map(({ contents }) => contents);
  return {
    keys: all.flatMap(({ keys }) => [...keys.values()]).filter(({ projection }) => projection !== undefined).length,
    preferences: all
      .flatMap(({ workspaces }) => [...workspaces.values()])
      .filter(({ preferences }) => preferences !== undefined).length,
    budgets: all.flatMap(({ budgets }) => [...budgets.values()]).filter(({ limitNusd }) => limitNusd !== undefined)
      .length,
  };
}
const nothing = { keys: 0, preferences: 0, budgets: 0 };

describe('the shared state is freed', () => {
  it('of a revoked key and its budget, and of the preferences with the last key', async () => {
    const { keyIds } = await owner();
    await inTransaction(pool, (client) => revokeKey(client, keyIds[0]));
    await catchUp();
    expect(recordsNow()).toEqual({ keys: 1, preferences: 1, budgets: 1 });
    await inTransaction(pool, (client) => revokeKey(client, keyIds[1]));
    await projector.key(keyIds[1]);
    expect(recordsNow()).toEqual({ keys: 0, preferences: 0, budgets: 1 });
  });

  it('of a key that has expired, once the projector comes by', async () => {
    const { keyIds } = await owner();
    await pool.query("update api_keys set expires_at = now() - interval '1 minute' where id = $1", [keyIds[0]]);
    await projector.refresh();
    // Redis' clock decides in the first minutes.
    expect(recordsNow()).toMatchObject({ keys: 2 });
    await pool.query("update api_keys set expires_at = now() - interval '1 hour' where id = $1", [keyIds[0]]);
    await projector.refresh();
    expect(recordsNow()).toMatchObject({ keys: 1 });
    await pool.query('update api_keys set expires_at = null, generation = generation + 1 where id = $1', [keyIds[0]]);
    await catchUp();
    expect(recordsNow()).toMatchObject({ keys: 2 });
  });

  it('of a deleted workspace', async () => {
    const place = await owner();
    await done(deleteWorkspace(pool, place));
    await catchUp();
    expect(recordsNow()).toEqual(nothing);
  });

  it('of a deleted account, and a rebuild writes nothing of its keys', async () => {
    const { userId, workspaceId } = await owner();
    const deleted = await deleteAccount(pool, userId, { month: monthOf(Date.now()) });
    if ('obstacle' in deleted) throw new Error(deleted.obstacle.kind);
    while (await endAccount({ pool, projector }, deleted.accountId));
    await catchUp();
    expect(recordsNow()).toEqual(nothing);
    const hashes = await hashesIn(workspaceId);
    await beginEmpty();
    await projector.project(new Set(shards));
    expect(store.shards.filter(({ contents }) => hashes.some((hash) => contents.keys.has(hash)))).toEqual([]);
  });

  it('of what a workspace had at its former owner', async () => {
    const place = await owner();
    const [userId, email] = [randomUUID(), `${randomUUID()}@people.example`];
    await pool.query('insert into auth_user (id, name, email) values ($1, $2, $3)', [userId, 'x', email]);
    const next = { ...(await createAccount(pool, { userId, name: email })), email };
    for (const role of ['member', 'owner'] as const) {
      const inviting = { ...place, mayInvite: async () => true };
      const { invitation } = await done(inviteAddress(pool, inviting, { email, role }, Date.now()));
      const by = { token: invitation.token };
      const accepted = acceptInvitation(pool, { ...next, by }, { maxima: usualMaxima, now: Date.now() });
      const { formerPayerId } = await done(accepted);
      if (role === 'member') continue;
      // The projector may come first. It removes the budgets of the revoked keys at the new owner.
      await catchUp();
      await projector.forgetBudgets(place.workspaceId, formerPayerId);
    }
    await catchUp();
    // The budget of the workspace, for its new owner.
    expect(recordsNow()).toEqual({ keys: 0, preferences: 0, budgets: 1 });
  });
});

it('the time when brokers learned a budget is that of its last change, not of a refresh', async () => {
  // `noteRefusals` trusts that what brokers refuse after this time, they refuse by this limit.
  const { keyIds, ...place } = await owner();
  const changed = async () => {
    const { rows } = await pool.query<{ id: string }>(
      "select id from budgets where workspace_id = $1 and projected_at > now() - interval '30 minutes'",
      [place.workspaceId],
    );
    return rows.map(({ id }) => id);
  };
  await pool.query("update budgets set projected_at = now() - interval '1 hour' where workspace_id = $1", [
    place.workspaceId,
  ]);
  await projector.refresh();
  expect(await changed()).toEqual([]);
  const { id } = await done(setBudget(pool, place, { limitNusd: 6_000_000_000n, keyId: keyIds[0] }, Date.now()));
  expect(await changed()).toEqual([]);
  await catchUp();
  expect(await changed()).toEqual([id]);
});

it('a change of preferences is one write, and reaches every key', async () => {
  const place = await owner();
  let written = 0;
  const counting: State = {
    ...state,
    putKey: (key) => {
      written += 1;
      return state.putKey(key);
    },
    putWorkspace: (workspace) => {
      written += 1;
      return state.putWorkspace(workspace);
    },
  };
  const counted = new Projector({
    ...{ pool, state: counting, accountRefKey: randomBytes(32), limits: { requests: 60, tokens: 60 } },
    events: { projected: () => {}, unreadablePreferences: () => {} },
  });
  const sent = { ...initialPreferences, provider_minimum_privacy: 'tee' };
  const { workspaceId } = await done(putWorkspacePreferences(pool, { ...place, sent }));
  await counted.preferences(workspaceId);
  expect(written).toBe(1);
  for (const hash of await hashesIn(place.workspaceId)) {
    expect(await state.lookupKey(hash)).toMatchObject({
      record: { preferences: { provider_minimum_privacy: 'tee' } },
    });
  }
  await counted.catchUp();
  expect(written).toBe(1);
});

it('a change of a budget is one write, however many others its workspace has and had', async () => {
  const place = await owner();
  for (let at = 0; at < 5; at += 1) {
    const { id } = await done(setBudget(pool, place, { limitNusd: 1n, tag: `tag ${at}` }, Date.now()));
    await projector.budgets(place.workspaceId);
    await done(removeBudget(pool, place, id, Date.now()));
    await projector.budgets(place.workspaceId);
  }
  expect(recordsNow().budgets).toBe(2);
  let written = 0;
  const counted = new Projector({
    ...{ pool, accountRefKey: randomBytes(32), limits: { requests: 60, tokens: 60 } },
    state: {
      ...state,
      putBudget: (budget) => {
        written += 1;
        return state.putBudget(budget);
      },
      removeBudget: (budget) => {
        written += 1;
        return state.removeBudget(budget);
      },
    },
    events: { projected: () => {}, unreadablePreferences: () => {} },
  });
  await done(setBudget(pool, place, { limitNusd: 1n, tag: 'R&D' }, Date.now()));
  await counted.budgets(place.workspaceId);
  expect(written).toBe(1);
  expect(recordsNow().budgets).toBe(3);
});

it('preferences that change while a rebuild writes the keys are the newest afterwards', async () => {
  const place = await owner();
  const hashes = await hashesIn(place.workspaceId);
  await beginEmpty();
  let isChanged = false;
  const changing: State = {
    ...state,
    putKey: async (key) => {
      if (!isChanged && hashes.includes(key.keyHash)) {
        isChanged = true;
        await done(
          putWorkspacePreferences(pool, { ...place, sent: { ...initialPreferences, provider_sort: 'price' } }),
        );
        await projector.preferences(place.workspaceId);
      }
      return state.putKey(key);
    },
  };
  const rebuilding = new Projector({
    ...{ pool, state: changing, accountRefKey: randomBytes(32), limits: { requests: 60, tokens: 60 } },
    events: { projected: () => {}, unreadablePreferences: () => {} },
  });
  expect((await rebuilding.project(new Set(shards))).size).toBe(0);
  expect(isChanged).toBe(true);
  for (const hash of hashes) {
    expect(await state.lookupKey(hash)).toMatchObject({ record: { preferences: { provider_sort: 'price' } } });
  }
});

it('preferences that cannot be read permit nothing, and other workspaces go on', async () => {
  const place = await owner();
  const reported: string[] = [];
  const reporting = new Projector({
    ...{ pool, state, accountRefKey: randomBytes(32), limits: { requests: 60, tokens: 60 } },
    events: { projected: () => {}, unreadablePreferences: ({ workspaceId }) => void reported.push(workspaceId) },
  });
  await pool.query("update workspaces set preferences = '{}', version = version + 1 where id = $1", [
    place.workspaceId,
  ]);
  await reporting.catchUp();
  expect(reported).toEqual([place.workspaceId]);
  expect(recordsNow()).toMatchObject({ keys: 2, preferences: 0 });
  for (const hash of await hashesIn(place.workspaceId)) expect(await state.lookupKey(hash)).toBeUndefined();
});

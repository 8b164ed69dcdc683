import { type WorkspaceRole, workspaceRoles } from '@sotto/contract/control/workspace-role';
import type { MemberRole } from '@sotto/contract/control/workspaces';
import type pg from 'pg';
import { identityProvider, recordAct } from '../audit-log/record-act.ts';
import { Refused } from '../database/refused.ts';
import { stopsWithAccount } from '../operator/account-store.ts';
import type { GroupRole } from '../sessions/sign-in-settings.ts';
import { endMembership, revokeRights } from '../workspaces/member-store.ts';

/** Returns the strongest role that groups give in each workspace. */
export function rolesOf(groups: ReadonlySet<string>, map: readonly GroupRole[]): ReadonlyMap<string, MemberRole> {
  const given = new Map<string, MemberRole>();
  for (const { workspaceId, role, group } of map) {
    const present = given.get(workspaceId);
    const isStronger = present === undefined || workspaceRoles.indexOf(role) > workspaceRoles.indexOf(present);
    if (groups.has(group) && isStronger) given.set(workspaceId, role);
  }
  return given;
}

interface GroupChange {
  readonly accountId: string;
  readonly map: readonly GroupRole[];
  /** Whether the caller disables or enables the account afterwards, which changes all its keys. Undefined: neither. */
  readonly isLeaving?: boolean;
}

/**
 * Gives an account the roles of its groups: those of the last ID token, and those of SCIM. Adds, changes and removes only what groups
 * have given. Returns the ids of revoked keys, for the projector.
 *
 * Interleavings: two calls for one account wait for each other at its row, and each reads the groups after it. A change of members by a
 * person waits at the workspace's row, and is read after it. All workspaces are locked before the account, as changes of budgets do, and
 * in the order of their ids, so that no two calls can deadlock. A booking locks accounts and then keys by their ids. So all keys that may
 * change are locked after the account, in one statement and in this order, before the first one changes. A key that is created meanwhile
 * refers to the account, and waits at the workspace's row. If the caller then disables or enables the account, the first lock of the account
 * is as strong as that needs. A stronger one later would wait for a creation that holds the account and waits for one of these keys.
 */
export async function applyGroupRoles(
  client: pg.PoolClient,
  { accountId, map, isLeaving }: GroupChange,
): Promise<readonly string[]> {
  const workspaces = await lockGroupWorkspaces(client, { accountId, map });
  const { rows } = await client.query<{ is_disabled: boolean }>(
    `select disabled_at is not null as is_disabled from accounts where id = $1 and deleted_at is null
     for ${isLeaving === undefined ? 'no key update' : 'update'}`,
    [accountId],
  );
  const [account] = rows;
  if (account === undefined) return [];
  const ids = workspaces.map(({ id }) => id);
  const [changing, values] =
    isLeaving === undefined || isLeaving === account.is_disabled
      ? ['k.created_by = $1 and k.workspace_id = any($2::uuid[])', [accountId, ids]]
      : [stopsWithAccount, [accountId]];
  await client.query(
    `select from api_keys k where ${changing} and k.revoked_at is null order by k.id for update`,
    values,
  );
  const given = rolesOf(await groupsOf(client, accountId), map);
  const keyIds: string[] = [];
  for (const { id, account_id: ownerId } of workspaces) {
    const role = ownerId === accountId ? undefined : given.get(id);
    keyIds.push(...(await giveRole(client, { workspaceId: id, accountId, role })));
  }
  return keyIds;
}

/** Locks every workspace in which groups give an account a role, or gave one. Whoever also locks an account calls this before. */
export async function lockGroupWorkspaces(
  client: pg.PoolClient,
  { accountId, map }: Pick<GroupChange, 'accountId' | 'map'>,
): Promise<readonly { readonly id: string; readonly account_id: string }[]> {
  const { rows } = await client.query<{ id: string; account_id: string }>(
    `select id, account_id from workspaces where deleted_at is null and (id = any($1::uuid[])
       or id in (select workspace_id from workspace_members where account_id = $2 and by_group))
     order by id for update`,
    [map.map(({ workspaceId }) => workspaceId), accountId],
  );
  return rows;
}

/** Returns the groups of an account. A person who has left has none. */
async function groupsOf(client: pg.PoolClient, accountId: string): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ names: string[] }>(
    `select case when exists (select from scim_users u where u.account_id = a.id and not u.active) then '{}'
       else coalesce(a.openid_groups, '{}') || array(
         select g.display_name from scim_users u join scim_group_members m on m.user_id = u.id
           join scim_groups g on g.id = m.group_id where u.account_id = a.id) end as names
     from accounts a where a.id = $1`,
    [accountId],
  );
  return new Set(rows[0]?.names);
}

async function giveRole(
  client: pg.PoolClient,
  { workspaceId, accountId, role }: { workspaceId: string; accountId: string; role: MemberRole | undefined },
): Promise<readonly string[]> {
  const place = [workspaceId, accountId];
  const { rows } = await client.query<{ role: WorkspaceRole; by_group: boolean }>(
    'select role, by_group from workspace_members where workspace_id = $1 and account_id = $2',
    place,
  );
  const [member] = rows;
  if (member?.role === role || member?.by_group === false) return [];
  const act = { actor: identityProvider, accountId, workspaceId };
  if (role === undefined) {
    const keyIds = await endMembership(client, { workspaceId, memberId: accountId }, identityProvider);
    return keyIds instanceof Refused ? [] : keyIds;
  }
  await client.query(
    `insert into workspace_members (workspace_id, account_id, role, by_group) values ($1, $2, $3, true)
     on conflict (workspace_id, account_id) do update set role = excluded.role`,
    [...place, role],
  );
  await recordAct(client, { ...act, act: member ? 'member_role_changed' : 'member_joined', details: { role } });
  return revokeRights(client, { workspaceId, memberId: accountId, role });
}

import type { WorkspaceRole } from '@sotto/contract/control/workspace-role';
import type pg from 'pg';
import type { SqlRow } from '../database/columns.ts';
import { inTransaction } from '../database/in-transaction.ts';
import { Refused, refused } from '../database/refused.ts';
import type { workspaces } from '../database/schema.ts';
import { type WeakRole, type WorkspaceAction, weakRole } from './permissions.ts';
import { policyOf, type WorkspacePolicy } from './policy.ts';

/** An existing workspace, with the caller's role in it. */
export interface WorkspaceAccess {
  readonly id: string;
  /** Account of the owner, which pays. */
  readonly accountId: string;
  readonly ownerEmail: string | null;
  readonly name: string;
  /** Whether it is the caller's default workspace. */
  readonly isDefault: boolean;
  readonly createdAt: Date;
  readonly preferences: unknown;
  readonly policy: WorkspacePolicy;
  readonly role: WorkspaceRole;
}

/** The caller, the action and the workspace. Without a workspace, the default one of the account. */
export interface WorkspaceQuestion {
  readonly accountId: string;
  readonly workspaceId: string | undefined;
  readonly action: WorkspaceAction;
}

type Row = Omit<SqlRow<typeof workspaces>, 'deleted_at'> & { role: WorkspaceRole; owner_email: string | null };

/** SQL of the owner's address of a workspace `w`. Every member may read it. */
export const ownerEmail =
  '(select u.email from accounts a join auth_user u on u.id = a.user_id where a.id = w.account_id) as owner_email';

/** Callers outside a workspace cannot tell it from one that does not exist, so that ids reveal nothing. */
export type NoAccess = { readonly why: 'no_workspace' } | WeakRole;

/** Returns the workspace if the caller may do the action in it. */
export async function accessWorkspace(
  client: pg.Pool | pg.PoolClient,
  { accountId, workspaceId, action }: WorkspaceQuestion,
): Promise<WorkspaceAccess | Refused<NoAccess>> {
  const found = await findWorkspace(client, accountId, workspaceId);
  return found === undefined ? refused('no_workspace') : (weakRole(found.role, action) ?? found);
}

/**
 * Does the same within a transaction, and locks the workspace until it ends. Every change of the workspace, its members
 * or its keys takes this lock first. So a role that was strong enough at the check still is when the change is written.
 */
export async function lockWorkspace(
  client: pg.PoolClient,
  question: WorkspaceQuestion,
): Promise<WorkspaceAccess | Refused<NoAccess>> {
  const { accountId, workspaceId } = question;
  await client.query(
    'select 1 from workspaces where id = $2::uuid or ($2::uuid is null and account_id = $1 and is_default) for update',
    [accountId, workspaceId ?? null],
  );
  // Use a separate statement: one that waits for a lock sees other tables as they were before it waited.
  return accessWorkspace(client, question);
}

/** Does work in a transaction that begins with `lockWorkspace`. Does nothing if the caller may not do the action. */
export const inWorkspace = <T>(
  pool: pg.Pool,
  question: WorkspaceQuestion,
  work: (client: pg.PoolClient, workspace: WorkspaceAccess) => Promise<T>,
): Promise<T | Refused<NoAccess>> =>
  inTransaction(pool, async (client) => {
    const workspace = await lockWorkspace(client, question);
    return workspace instanceof Refused ? workspace : work(client, workspace);
  });

/** Returns a workspace that the account owns or is a member of, with its role. */
export async function findWorkspace(
  client: pg.Pool | pg.PoolClient,
  accountId: string,
  workspaceId: string | undefined,
): Promise<WorkspaceAccess | undefined> {
  const { rows } = await client.query<Row>(
    `select w.id, w.account_id, w.name, w.is_default and w.account_id = $1 as is_default, w.created_at, w.preferences,
       w.policy_models, w.policy_key_limit_nusd, w.policy_key_days, w.policy_compatible,
       case when w.account_id = $1 then 'owner' else m.role end as role, ${ownerEmail}
     from workspaces w left join workspace_members m on m.workspace_id = w.id and m.account_id = $1
     where w.deleted_at is null and (w.account_id = $1 or m.account_id = $1)
       and (w.id = $2::uuid or ($2::uuid is null and w.account_id = $1 and w.is_default))`,
    [accountId, workspaceId ?? null],
  );
  const [row] = rows;
  return (
    row && {
      id: row.id,
      accountId: row.account_id,
      ownerEmail: row.owner_email,
      name: row.name,
      isDefault: row.is_default,
      createdAt: row.created_at,
      preferences: row.preferences,
      policy: policyOf(row),
      role: row.role,
    }
  );
}

import type { WorkspaceRole } from '@sotto/wire';
import type pg from 'pg';
import { unknown } from '../serve/unknown.ts';
import { assertMay, type WorkspaceAction } from './permissions.ts';

/** A workspace that is there, as somebody in it finds it. */
export interface WorkspaceAccess {
  readonly id: string;
  /** The owner's account, which pays. */
  readonly accountId: string;
  readonly name: string;
  /** Whether it is the caller's default one. */
  readonly isDefault: boolean;
  readonly createdAt: Date;
  readonly preferences: unknown;
  /** The caller's. */
  readonly role: WorkspaceRole;
}

/** Who asks for what in which workspace; without one, in the default one of their account. */
export interface WorkspaceQuestion {
  readonly accountId: string;
  readonly workspaceId: string | undefined;
  readonly action: WorkspaceAction;
}

interface Row {
  id: string;
  account_id: string;
  name: string;
  is_default: boolean;
  created_at: Date;
  preferences: unknown;
  role: WorkspaceRole;
}

/**
 * The workspace, where the caller may do that in it. Throws `not_found` to whoever is not in it, so that ids tell
 * nothing, and `forbidden` to whoever is, with a role too weak.
 */
export async function requireWorkspace(
  client: pg.Pool | pg.PoolClient,
  { accountId, workspaceId, action }: WorkspaceQuestion,
): Promise<WorkspaceAccess> {
  const found = await findWorkspace(client, accountId, workspaceId);
  if (found === undefined) throw unknown('workspace');
  assertMay(found.role, action);
  return found;
}

/**
 * The same within a transaction, and nobody changes the workspace, its members or its keys until this one ends: every
 * change takes this lock first. So a role that was found strong enough still is when the change is written.
 */
export async function lockWorkspace(client: pg.PoolClient, question: WorkspaceQuestion): Promise<WorkspaceAccess> {
  const { accountId, workspaceId } = question;
  await client.query(
    'select 1 from workspaces where id = $2::uuid or ($2::uuid is null and account_id = $1 and is_default) for update',
    [accountId, workspaceId ?? null],
  );
  // In a statement of its own: one that waits for a lock sees other tables as they were before it waited.
  return requireWorkspace(client, question);
}

/** A workspace of which an account is the owner or a member, with its role. */
export async function findWorkspace(
  client: pg.Pool | pg.PoolClient,
  accountId: string,
  workspaceId: string | undefined,
): Promise<WorkspaceAccess | undefined> {
  const { rows } = await client.query<Row>(
    `select w.id, w.account_id, w.name, w.is_default and w.account_id = $1 as is_default, w.created_at, w.preferences,
       case when w.account_id = $1 then 'owner' else m.role end as role
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
      name: row.name,
      isDefault: row.is_default,
      createdAt: row.created_at,
      preferences: row.preferences,
      role: row.role,
    }
  );
}

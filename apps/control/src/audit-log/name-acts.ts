import type pg from 'pg';
import { isUuid } from '../database/is-uuid.ts';

/** Whose log is read: that of a workspace by its admins, that of an account by its person, or all by operators. */
export type ActReader =
  | { readonly kind: 'admin'; readonly workspaceId: string }
  | { readonly kind: 'person'; readonly accountId: string }
  | { readonly kind: 'operator' };

/** What acts name by id, with what it is called now. What was deleted is not in it. */
export type ActNames = ReadonlyMap<unknown, string>;

const accounts = 'select a.id, u.email as name from accounts a join auth_user u on u.id = a.user_id';
const mine = `select w.id from workspaces w where w.account_id = $2
  union all select m.workspace_id from workspace_members m where m.account_id = $2`;

/**
 * SQL of `id` and `name` over the ids `$1`. `$2` is the workspace or account. The log itself holds no names, so they are looked up
 * among what the reader may see. Admins also learn the addresses of people who left. A person learns those of people who
 * still are in a workspace with them. Operators learn no names of keys.
 */
const selects: Readonly<Record<ActReader['kind'], readonly string[]>> = {
  admin: [
    `${accounts} where a.id = any($1::uuid[])`,
    'select id, name from workspaces where id = any($1::uuid[]) and id = $2',
    'select id, name from api_keys where id = any($1::uuid[]) and workspace_id = $2',
    'select id, tag from budgets where id = any($1::uuid[]) and workspace_id = $2 and tag is not null',
    'select id, email from workspace_invitations where id = any($1::uuid[]) and workspace_id = $2',
  ],
  person: [
    `${accounts} where a.id = any($1::uuid[]) and (a.id = $2
       or exists (select from workspaces o where o.account_id = a.id and o.id in (${mine}))
       or exists (select from workspace_members o where o.account_id = a.id and o.workspace_id in (${mine})))`,
    `select id, name from workspaces where id = any($1::uuid[]) and id in (${mine})`,
    'select id, name from api_keys where id = any($1::uuid[]) and created_by = $2',
  ],
  operator: [
    `${accounts} where a.id = any($1::uuid[])`,
    'select id, name from workspaces where id = any($1::uuid[])',
    'select id, email from sign_up_invitations where id = any($1::uuid[])',
  ],
};

/** Returns the names of ids that stand in acts. Texts that are no ids have none. */
export async function readNames(pool: pg.Pool, reader: ActReader, ids: readonly unknown[]): Promise<ActNames> {
  const asked = [...new Set(ids)].filter((id) => typeof id === 'string' && isUuid(id));
  if (asked.length === 0) return new Map();
  const of = reader.kind === 'admin' ? [reader.workspaceId] : reader.kind === 'person' ? [reader.accountId] : [];
  const { rows } = await pool.query<{ id: string; name: string }>(selects[reader.kind].join(' union all '), [
    asked,
    ...of,
  ]);
  return new Map(rows.map(({ id, name }) => [id, name]));
}

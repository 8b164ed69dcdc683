import { randomUUID } from 'node:crypto';
import { type ScimGroup, type ScimGroupBody, type ScimListQuery, scimUrns } from '@sotto/contract/control/scim';
import type pg from 'pg';
import { inTransaction } from '../../database/in-transaction.ts';
import { Refused, refused } from '../../database/refused.ts';
import { giveDueRoles } from '../due-roles.ts';
import type { Attributes } from './apply-patch.ts';
import { readPage } from './scim-page.ts';
import { type NoResource, orTaken, type ScimStore, type Taken, type Written } from './scim-users.ts';

interface Row {
  readonly id: string;
  readonly displayName: string;
  readonly externalId: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly members: readonly { readonly value: string; readonly display: string }[];
}

const select = `select g.id, g.display_name as "displayName", g.external_id as "externalId", g.created_at as "createdAt",
    g.updated_at as "updatedAt", array(
      select json_build_object('value', u.id, 'display', u.user_name) from scim_group_members m
      join scim_users u on u.id = m.user_id where m.group_id = g.id order by u.id) as members
  from scim_groups g`;

const comparisons = {
  displayname: 'lower(g.display_name) = lower($1)',
  externalid: 'g.external_id = $1',
  id: 'g.id::text = $1',
};

/** Whether the question leaves out the members, of which there may be thousands. */
const isShortFor = ({ excludedAttributes = '' }: Pick<ScimListQuery, 'excludedAttributes'>): boolean =>
  excludedAttributes.split(',').some((name) => name.trim().toLowerCase() === 'members');

const selectShort = select.replace(/array\([\s\S]*\) as members/, "'{}'::json[] as members");

export const listGroups = (store: ScimStore, query: ScimListQuery) =>
  readPage<Row, ScimGroup>(store.pool, query, {
    ...{ select: isShortFor(query) ? selectShort : select, from: 'scim_groups g', alias: 'g', comparisons },
    toResource: (row) => toGroup(row, store, isShortFor(query)),
  });

export async function readGroup(
  store: ScimStore,
  id: string,
  query: Pick<ScimListQuery, 'excludedAttributes'>,
): Promise<ScimGroup | Refused<NoResource>> {
  const row = await readRow(store.pool, id);
  return row === undefined ? refused('no_resource') : toGroup(row, store, isShortFor(query));
}

async function readRow(client: pg.Pool | pg.PoolClient, id: string): Promise<Row | undefined> {
  const { rows } = await client.query<Row>(`${select} where g.id = $1`, [id]);
  return rows[0];
}

async function lockGroup(client: pg.PoolClient, id: string): Promise<Row | undefined> {
  await client.query('select from scim_groups where id = $1 for update', [id]);
  return readRow(client, id);
}

/** A member whom the provider did not create. */
export type NoPerson = { readonly why: 'no_person'; readonly id: string };

/** Creates a group, and gives its people the roles of its name. */
export const createGroup = (
  store: ScimStore,
  body: ScimGroupBody,
): Promise<Written<ScimGroup> | Refused<Taken | NoPerson>> =>
  withRoles<Taken | NoPerson>(store, async (client) => {
    const id = randomUUID();
    const inserted = await orTaken(body.displayName, () =>
      client.query('insert into scim_groups (id, display_name, external_id) values ($1, $2, $3)', [
        id,
        body.displayName,
        body.externalId ?? null,
      ]),
    );
    if (inserted instanceof Refused) return inserted;
    return settle(store, client, { id, present: [], body, before: body.displayName });
  });

/** Changes a group to what `change` makes of the present resource. */
export const changeGroup = (
  store: ScimStore,
  id: string,
  change: (present: Attributes) => ScimGroupBody,
): Promise<Written<ScimGroup> | Refused<NoResource | Taken | NoPerson>> =>
  withRoles<NoResource | Taken | NoPerson>(store, async (client) => {
    const before = await lockGroup(client, id);
    if (before === undefined) return refused('no_resource');
    const { meta, ...present } = toGroup(before, store, false);
    const body = change(present);
    const updated = await orTaken(body.displayName, () =>
      client.query('update scim_groups set display_name = $2, external_id = $3, updated_at = now() where id = $1', [
        id,
        body.displayName,
        body.externalId ?? null,
      ]),
    );
    if (updated instanceof Refused) return updated;
    const members = before.members.map(({ value }) => value);
    return settle(store, client, { id, present: members, body, before: before.displayName });
  });

/** Deletes a group, and ends the roles that it gave. Returns the changed keys. */
export async function deleteGroup(
  store: ScimStore,
  id: string,
): Promise<readonly string[] | Refused<NoResource | NoPerson>> {
  const deleted = await withRoles<NoResource | NoPerson>(store, async (client) => {
    const row = await lockGroup(client, id);
    if (row === undefined) return refused('no_resource');
    const present = row.members.map(({ value }) => value);
    const body = { displayName: row.displayName, members: [] };
    const settled = await settle(store, client, { id, present, body, before: row.displayName });
    await client.query('delete from scim_groups where id = $1', [id]);
    return settled;
  });
  return deleted instanceof Refused ? deleted : deleted.keyIds;
}

/** A stored group, and the people whose roles are left to give. */
interface Stored {
  readonly resource: ScimGroup;
  readonly due: readonly string[];
}

/**
 * Stores a change of a group in one transaction, which takes no lock of an account (RFC 7644, 3.5.2: a PATCH changes all of a resource or
 * nothing). Then gives the roles. Those that fail are marked, and the task of `scim.ts` gives them, so the answer is right either way.
 */
async function withRoles<R extends NoResource | Taken | NoPerson>(
  store: ScimStore,
  change: (client: pg.PoolClient) => Promise<Stored | Refused<R>>,
): Promise<Written<ScimGroup> | Refused<R>> {
  const stored = await inTransaction(store.pool, change);
  if (stored instanceof Refused) return stored;
  const { keyIds } = await giveDueRoles(store, stored.due);
  return { resource: stored.resource, keyIds };
}

interface Change {
  readonly id: string;
  /** The ids of the people before. */
  readonly present: readonly string[];
  readonly body: ScimGroupBody;
  /** The name of before. */
  readonly before: string;
}

/**
 * Stores who is in a group, and marks those whose roles that may change. A group that gives no roles marks no person.
 *
 * Interleaving: a sign-in may find the account of a person at the same moment. Both lock the person first, so the second of the two
 * sees the account and the group as the first has left them.
 */
async function settle(
  { map, base }: Pick<ScimStore, 'map' | 'base'>,
  client: pg.PoolClient,
  { id, present, body, before }: Change,
): Promise<Stored | Refused<NoPerson>> {
  const wanted = new Set(body.members?.map(({ value }) => value));
  const members = new Set(present);
  const joined = [...wanted].filter((person) => !members.has(person));
  const left = present.filter((person) => !wanted.has(person));
  const isRenamed = before !== body.displayName;
  const affected = isRenamed ? [...new Set([...wanted, ...present])] : [...joined, ...left];
  const { rows } = await client.query<{ id: string; account_id: string | null }>(
    'select id, account_id from scim_users where id = any($1::uuid[]) order by id for no key update',
    [affected],
  );
  const known = new Set(rows.map((row) => row.id));
  const stranger = joined.find((person) => !known.has(person));
  if (stranger !== undefined) return new Refused({ why: 'no_person', id: stranger });
  await client.query(
    'insert into scim_group_members (group_id, user_id) select $1, unnest($2::uuid[]) on conflict do nothing',
    [id, joined],
  );
  await client.query('delete from scim_group_members where group_id = $1 and user_id = any($2::uuid[])', [id, left]);
  const givesRoles = map.some(({ group }) => group === before || group === body.displayName);
  const due = givesRoles ? rows.flatMap((row) => (row.account_id === null ? [] : row.id)) : [];
  await client.query('update scim_users set roles_due = true where id = any($1::uuid[])', [due]);
  const row = await readRow(client, id);
  if (row === undefined) throw new Error('the group is not there');
  return { resource: toGroup(row, { base }, false), due };
}

function toGroup(row: Row, { base }: Pick<ScimStore, 'base'>, isShort: boolean): ScimGroup {
  return {
    schemas: [scimUrns.group],
    id: row.id,
    ...(row.externalId === null ? {} : { externalId: row.externalId }),
    displayName: row.displayName,
    ...(isShort
      ? {}
      : { members: row.members.map((member) => ({ ...member, $ref: `${base}/Users/${member.value}`, type: 'User' })) }),
    meta: {
      resourceType: 'Group',
      created: row.createdAt.toISOString(),
      lastModified: row.updatedAt.toISOString(),
      location: `${base}/Groups/${row.id}`,
    },
  };
}

import { randomUUID } from 'node:crypto';
import {
  type ScimAttributes,
  type ScimListQuery,
  type ScimUser,
  type ScimUserBody,
  scimUrns,
} from '@sotto/contract/control/scim';
import type pg from 'pg';
import { isUniqueViolation } from '../../database/failures.ts';
import { inTransaction } from '../../database/in-transaction.ts';
import { Refused, refused } from '../../database/refused.ts';
import type { GroupRole } from '../../sessions/sign-in-settings.ts';
import { applyPerson, findSignedIn, isSubject, type ProvisionedPerson } from '../provisioned-people.ts';
import type { Attributes } from './apply-patch.ts';
import { readPage } from './scim-page.ts';

/** What the code of people and groups needs. */
export interface ScimStore {
  readonly pool: pg.Pool;
  readonly map: readonly GroupRole[];
  /** The address of the SCIM service, without a slash at its end. */
  readonly base: string;
}

/** Why nothing is read or written. `taken`: another resource has this name. */
export type NoResource = { readonly why: 'no_resource' };
export type Taken = { readonly why: 'taken'; readonly name: string };

/** A written resource, and the keys that changed, for the projector. */
export interface Written<Resource> {
  readonly resource: Resource;
  readonly keyIds: readonly string[];
}

interface Row extends ProvisionedPerson {
  readonly userName: string;
  readonly attributes: ScimAttributes;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly groups: readonly { readonly value: string; readonly display: string }[];
}

const select = `select s.id, s.user_name as "userName", s.external_id as "externalId", s.addresses, s.attributes, s.active,
    s.account_id as "accountId", s.created_at as "createdAt", s.updated_at as "updatedAt", array(
      select json_build_object('value', g.id, 'display', g.display_name) from scim_group_members m
      join scim_groups g on g.id = m.group_id where m.user_id = s.id order by g.id) as groups
  from scim_users s`;

/** Filters find every address. People are matched only by those in `addresses`. */
const hasEmail = `exists (select from jsonb_array_elements(s.attributes -> 'emails') e where lower(e ->> 'value') = lower($1))`;

const comparisons = {
  username: 'lower(s.user_name) = lower($1)',
  externalid: 's.external_id = $1',
  id: 's.id::text = $1',
  emails: hasEmail,
  'emails.value': hasEmail,
};

export const listUsers = (store: ScimStore, query: ScimListQuery) =>
  readPage<Row, ScimUser>(store.pool, query, {
    ...{ select, from: 'scim_users s', alias: 's', comparisons },
    toResource: (row) => toUser(row, store),
  });

export async function readUser(store: ScimStore, id: string): Promise<ScimUser | Refused<NoResource>> {
  const row = await readRow(store.pool, id);
  return row === undefined ? refused('no_resource') : toUser(row, store);
}

const readRow = async (client: pg.Pool | pg.PoolClient, id: string): Promise<Row | undefined> =>
  (await client.query<Row>(`${select} where s.id = $1`, [id])).rows[0];

/** Creates a person. If the provider has signed one in before, the account is found. */
export const createUser = (store: ScimStore, body: ScimUserBody): Promise<Written<ScimUser> | Refused<Taken>> =>
  orTaken(body.userName, () =>
    inTransaction(store.pool, async (client) => {
      const id = randomUUID();
      await client.query(
        'insert into scim_users (id, user_name, external_id, addresses, attributes, active) values ($1, $2, $3, $4, $5, $6)',
        [id, ...columnsOf(body, { active: true, addresses: [] })],
      );
      return settle(store, client, id);
    }),
  );

/**
 * Changes a person to what `change` makes of the present resource. A request without `active` leaves it as it is: otherwise one that
 * changes a name would let a person who left come back.
 */
export async function changeUser(
  store: ScimStore,
  id: string,
  change: (present: Attributes) => ScimUserBody,
): Promise<Written<ScimUser> | Refused<NoResource | Taken>> {
  return inTransaction(store.pool, async (client) => {
    const row = await lockUser(client, id);
    if (row === undefined) return refused('no_resource');
    const { groups: _, meta, ...present } = toUser(row, store);
    const body = change(present);
    const updated = await orTaken(body.userName, () =>
      client.query(
        `update scim_users set user_name = $2, external_id = $3, addresses = $4, attributes = $5, active = $6, updated_at = now()
         where id = $1`,
        [id, ...columnsOf(body, row)],
      ),
    );
    return updated instanceof Refused ? updated : settle(store, client, id);
  });
}

/** Deletes a person, who leaves. Returns the changed keys. */
export const deleteUser = (store: ScimStore, id: string): Promise<readonly string[] | Refused<NoResource>> =>
  inTransaction(store.pool, async (client) => {
    if ((await lockUser(client, id)) === undefined) return refused('no_resource');
    await client.query('update scim_users set active = false where id = $1', [id]);
    const { keyIds } = await settle(store, client, id);
    await client.query('delete from scim_users where id = $1', [id]);
    return keyIds;
  });

/** Every change of a person takes this lock first, and then that of the account. */
async function lockUser(client: pg.PoolClient, id: string): Promise<Row | undefined> {
  await client.query('select from scim_users where id = $1 for update', [id]);
  // A statement of its own: one that waits for a lock sees other tables as they were before.
  return readRow(client, id);
}

/** Makes the account of a person, if there is one, what the person's row says. */
async function settle(store: ScimStore, client: pg.PoolClient, id: string): Promise<Written<ScimUser>> {
  const row = await readRow(client, id);
  if (row === undefined) throw new Error('the person is not there');
  const accountId = row.accountId ?? (await findSignedIn(client, row)) ?? null;
  if (accountId !== row.accountId)
    await client.query('update scim_users set account_id = $2 where id = $1', [id, accountId]);
  return { resource: toUser(row, store), keyIds: await applyPerson(client, { ...row, accountId }, store) };
}

/**
 * Returns the columns of a person. The provider vouches for the user name and the primary address. People may write other addresses
 * themselves, in some providers, so they match nobody.
 */
function columnsOf(
  { userName, externalId, active, displayName, name, emails }: ScimUserBody,
  present: Pick<ProvisionedPerson, 'active' | 'addresses'>,
): unknown[] {
  const addresses = [userName, emails?.find(({ primary }) => primary)?.value ?? '']
    .filter((address) => address.includes('@'))
    .map((address) => address.toLowerCase());
  const all = new Set([...addresses, ...present.addresses.filter(isSubject)]);
  const attributes = JSON.stringify({ displayName, name, emails });
  return [userName, externalId ?? null, [...all], attributes, active ?? present.active];
}

/** Returns a refusal if another resource has the name. */
export const orTaken = <T>(name: string, write: () => Promise<T>): Promise<T | Refused<Taken>> =>
  write().catch((error: unknown) => {
    if (isUniqueViolation(error)) return new Refused({ why: 'taken', name });
    throw error;
  });

function toUser(row: Row, { base }: Pick<ScimStore, 'base'>): ScimUser {
  return {
    schemas: [scimUrns.user],
    id: row.id,
    ...(row.externalId === null ? {} : { externalId: row.externalId }),
    userName: row.userName,
    active: row.active,
    ...row.attributes,
    groups: row.groups.map((group) => ({ ...group, $ref: `${base}/Groups/${group.value}`, type: 'Group' })),
    meta: {
      resourceType: 'User',
      created: row.createdAt.toISOString(),
      lastModified: row.updatedAt.toISOString(),
      location: `${base}/Users/${row.id}`,
    },
  };
}

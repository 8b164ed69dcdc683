import type pg from 'pg';
import { identityProvider, recordAct } from '../audit-log/record-act.ts';
import { Refused } from '../database/refused.ts';
import { setDisabledWithin } from '../operator/account-store.ts';
import type { OpenidClaims } from '../sessions/openid-sessions.ts';
import type { GroupRole } from '../sessions/sign-in-settings.ts';
import { applyGroupRoles, lockGroupWorkspaces } from './group-roles.ts';

export interface ProvisioningOptions {
  /** Which groups give a role in which workspace. */
  readonly map: readonly GroupRole[];
}

/** A person of SCIM, whose row the caller has locked. */
export interface ProvisionedPerson {
  readonly id: string;
  readonly externalId: string | null;
  /** In lower case. Of a person whose account was deleted, also `openid:` with the subject, which is no address. */
  readonly addresses: readonly string[];
  readonly active: boolean;
  readonly accountId: string | null;
}

/**
 * Completes a sign-in with the OpenID provider, in one transaction: keeps the groups of the ID token, finds the person of SCIM, and
 * gives the roles of the groups. Returns the ids of changed keys, for the projector.
 *
 * Interleavings: of two sign-ins of one account, the one with the newer ID token decides, in either order. A person who leaves at the
 * same moment is locked by one of the two first. If the sign-in is first, leaving disables the account. If leaving is first, the
 * sign-in finds an inactive person, and disables the account itself.
 */
export async function signedInByProvider(
  client: pg.PoolClient,
  { accountId, claims }: { readonly accountId: string; readonly claims: OpenidClaims },
  { map }: ProvisioningOptions,
): Promise<readonly string[]> {
  const person = await findPerson(client, accountId, claims);
  await lockGroupWorkspaces(client, { accountId, map });
  // As strong as `applyPerson` needs it.
  await client.query(`select from accounts where id = $1 for ${person === undefined ? 'no key update' : 'update'}`, [
    accountId,
  ]);
  const named = new Set(map.map(({ group }) => group));
  await client.query(
    `update accounts set openid_groups = $2, openid_groups_at = $3
     where id = $1 and (openid_groups_at is null or openid_groups_at <= $3)`,
    [accountId, claims.groups.filter((group) => named.has(group)), claims.issuedAt],
  );
  if (person === undefined) return applyGroupRoles(client, { accountId, map });
  await client.query('update scim_users set account_id = $2 where id = $1', [person.id, accountId]);
  return applyPerson(client, { ...person, accountId }, { map });
}

/** Whether an element of `addresses` is the subject of a deleted account. */
export const isSubject = (address: string): boolean => address.startsWith('openid:');

/**
 * Finds and locks the person of SCIM who has just signed in: the one of the account or, for the first time, the one with this subject
 * or this address, which the provider has verified. An address that several people have finds nobody.
 */
async function findPerson(
  client: pg.PoolClient,
  accountId: string,
  { subject, email }: OpenidClaims,
): Promise<ProvisionedPerson | undefined> {
  const { rows } = await client.query<ProvisionedPerson>(
    `select ${personColumns} from scim_users s where account_id = $1
       or (account_id is null and (external_id = $2 or addresses @> array['openid:' || $2::text] or (addresses @> array[$3]
         and not exists (select from scim_users o where o.addresses @> array[$3] and o.id <> s.id))))
     order by account_id nulls last, (external_id = $2) is true desc, created_at limit 1 for update`,
    [accountId, subject, email],
  );
  return rows[0];
}

export const personColumns = 'id, external_id as "externalId", addresses, active, account_id as "accountId"';

/**
 * Finds the account of a person who has signed in with the provider before SCIM knew them: by the subject, or by an address that is
 * verified and that no other person of SCIM has. An account that the provider never signed in is found by neither. A disabled account is found only by the subject: its
 * address may belong to another person by now.
 */
export async function findSignedIn(
  client: pg.PoolClient,
  { id, externalId, addresses }: Pick<ProvisionedPerson, 'id' | 'externalId' | 'addresses'>,
): Promise<string | undefined> {
  const { rows } = await client.query<{ id: string }>(
    `select a.id from auth_account w join auth_user u on u.id = w.user_id join accounts a on a.user_id = u.id
     where w.provider_id = 'openid' and (w.account_id = $1
         or (a.disabled_at is null and u.email_verified and u.email = any(array(
           select address from unnest($2::text[]) address
           where (select count(*) from scim_users o where o.addresses @> array[address] and o.id <> $3) = 0))))
       and not exists (select from scim_users s where s.account_id = a.id)
     order by (w.account_id = $1) is true desc, a.created_at limit 1`,
    [externalId, addresses, id],
  );
  return rows[0]?.id;
}

/**
 * Makes the account of a person what SCIM says. A person who left has a disabled account without sessions, without the operator's role
 * and without the roles of groups, whose keys are revoked. Money stays. Returns the ids of changed keys, for the projector.
 */
export async function applyPerson(
  client: pg.PoolClient,
  { accountId, active }: Pick<ProvisionedPerson, 'accountId' | 'active'>,
  { map }: ProvisioningOptions,
): Promise<readonly string[]> {
  if (accountId === null) return [];
  // Workspaces are locked before the account is locked against new keys, which lock the two in the same order.
  const keyIds = await applyGroupRoles(client, { accountId, map, isLeaving: !active });
  const changed = await setDisabledWithin(client, { accountId, actor: identityProvider, isDisabled: !active });
  if (!active) await endOperator(client, accountId);
  return changed instanceof Refused ? keyIds : [...keyIds, ...changed];
}

/** Only the command line gives the role again. */
async function endOperator(client: pg.PoolClient, accountId: string): Promise<void> {
  const { rowCount } = await client.query(
    'delete from operators where user_id = (select user_id from accounts where id = $1)',
    [accountId],
  );
  if (rowCount === 1) await recordAct(client, { actor: identityProvider, act: 'operator_revoked', accountId });
}

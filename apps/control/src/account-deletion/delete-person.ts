import { monthOf } from '@sotto/state';
import type pg from 'pg';
import type { Actor } from '../audit-log/record-act.ts';
import { Refused, refused } from '../database/refused.ts';
import { type Mail, mailOf } from '../mail/mail.ts';
import { type DeletionObstacle, deleteAccount } from './delete-account.ts';

export interface PersonDeletion {
  readonly accountId: string;
  /** The address of the person, as a second proof that it is the right account. */
  readonly email: string;
  /** Deletes also the workspaces of the account that other people use. */
  readonly withWorkspaces: boolean;
  readonly actor: Actor;
}

/** Why a person cannot be deleted. */
export type NotDeleted =
  | { readonly why: 'no_account' }
  | { readonly why: 'deleted' }
  /** No person signs in to the account. */
  | { readonly why: 'no_person' }
  | { readonly why: 'other_address' }
  | { readonly why: 'obstacle'; readonly obstacle: DeletionObstacle };

/**
 * Deletes a person on request, for an operator: as the person would, without their password. Control's task then revokes the keys.
 * Returns why it did not.
 */
export async function deletePerson(
  pool: pg.Pool,
  { accountId, email, withWorkspaces, actor }: PersonDeletion,
  now: number,
): Promise<Refused<NotDeleted> | undefined> {
  const { rows } = await pool.query<{ user_id: string | null; email: string | null; deleted_at: Date | null }>(
    'select a.user_id, u.email, a.deleted_at from accounts a left join auth_user u on u.id = a.user_id where a.id = $1',
    [accountId],
  );
  const [account] = rows;
  if (account === undefined) return refused('no_account');
  if (account.deleted_at !== null) return refused('deleted');
  if (account.user_id === null) return refused('no_person');
  if (account.email !== email) return refused('other_address');
  const deletion = await deleteAccount(pool, account.user_id, { month: monthOf(now), by: { actor, withWorkspaces } });
  return 'obstacle' in deletion ? new Refused({ why: 'obstacle', obstacle: deletion.obstacle }) : undefined;
}

export const deletedByOperatorMail = (origin: string, to: string): Mail =>
  mailOf(to, 'Your account was deleted', [
    'An operator of this service deleted your account, its keys and its workspaces. This cannot be undone:',
    origin,
  ]);

import { monthOf } from '@sotto/state';
import { ServiceError } from '@sotto/wire';
import type pg from 'pg';
import type { Actor } from '../audit-log/record-act.ts';
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

/**
 * Deletes a person on request, for an operator: as the person would, without their password. Control's task then revokes the keys.
 * False if there is no such account. Throws `invalid_request` if the address is another, `conflict` if it cannot be done now.
 */
export async function deletePerson(
  pool: pg.Pool,
  { accountId, email, withWorkspaces, actor }: PersonDeletion,
  now: number,
): Promise<boolean> {
  const { rows } = await pool.query<{ user_id: string | null; email: string | null; deleted_at: Date | null }>(
    'select a.user_id, u.email, a.deleted_at from accounts a left join auth_user u on u.id = a.user_id where a.id = $1',
    [accountId],
  );
  const [account] = rows;
  if (account === undefined) return false;
  if (account.deleted_at !== null) throw new ServiceError('conflict', { message: 'This account is deleted already.' });
  if (account.user_id === null)
    throw new ServiceError('conflict', { message: 'No person signs in to this account. Disable it instead.' });
  if (account.email !== email)
    throw new ServiceError('invalid_request', {
      message: `\`email\` is \`${email}\`, which is not the address of this account.`,
      param: 'email',
    });
  const deletion = await deleteAccount(pool, account.user_id, { month: monthOf(now), by: { actor, withWorkspaces } });
  if ('obstacle' in deletion)
    throw new ServiceError('conflict', { message: sentences[deletion.obstacle.kind](deletion.obstacle) });
  return true;
}

const sentences: Readonly<Record<DeletionObstacle['kind'], (obstacle: DeletionObstacle) => string>> = {
  operator: () => 'This person administers the deployment. Revoke the operator role first.',
  paying: () => 'A payment of this account is under way. Wait until it is paid or has expired.',
  shared: ({ workspaceId }) =>
    `Other people use its workspace ${workspaceId}. Its owner can transfer it; or delete it, too, with \`with_workspaces\`.`,
};

export const deletedByOperatorMail = (origin: string, to: string): Mail =>
  mailOf(to, 'Your account was deleted', [
    'An operator of this service deleted your account, its keys and its workspaces. This cannot be undone:',
    origin,
  ]);

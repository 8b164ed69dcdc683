import { randomUUID } from 'node:crypto';
import type { SignUpInvitationAnswer } from '@sotto/contract/control/operator';
import type pg from 'pg';
import { type Actor, recordAct } from '../audit-log/record-act.ts';
import type { signUpInvitations } from '../database/administration-schema.ts';
import type { SqlRow } from '../database/columns.ts';
import { inTransaction } from '../database/in-transaction.ts';
import { type Mail, mailOf } from '../mail/mail.ts';

const lifeMs = 7 * 24 * 60 * 60 * 1000;

type Row = SqlRow<typeof signUpInvitations>;

/** Invites an address to sign up, for seven days. An earlier invitation of the address is renewed. */
export async function inviteToSignUp(
  pool: pg.Pool,
  { email, actor }: { readonly email: string; readonly actor: Actor },
  now: number,
): Promise<SignUpInvitationAnswer> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<Row>(
      `insert into sign_up_invitations (id, email, created_at, expires_at) values ($1, $2, $3, $4)
       on conflict (email) do update set created_at = excluded.created_at, expires_at = excluded.expires_at
       returning id, email, created_at, expires_at`,
      [randomUUID(), email, new Date(now), new Date(now + lifeMs)],
    );
    const [row] = rows;
    if (row === undefined) throw new Error('the invitation was not inserted');
    await recordAct(client, { actor, act: 'sign_up_invited', details: { invitation_id: row.id } });
    return toAnswer(row);
  });
}

/** Whether an operator's invitation of the address is valid. */
export async function isInvitedToSignUp(client: pg.PoolClient, email: string, now: number): Promise<boolean> {
  const { rowCount } = await client.query('select from sign_up_invitations where email = $1 and expires_at > $2', [
    email,
    new Date(now),
  ]);
  return rowCount === 1;
}

/** Whether a user has verified the address, and so needs no invitation to sign up. */
export async function hasSignedUp(pool: pg.Pool, email: string): Promise<boolean> {
  const { rowCount } = await pool.query('select from auth_user where email = $1 and email_verified', [email]);
  return rowCount === 1;
}

/** SQL: no user has verified the address of the invitation `i`. */
export const isUnused = 'not exists (select from auth_user u where u.email = i.email and u.email_verified)';

/** Returns the pending invitations, oldest first. */
export async function listSignUpInvitations(pool: pg.Pool, now: number): Promise<SignUpInvitationAnswer[]> {
  const { rows } = await pool.query<Row>(
    `select id, email, created_at, expires_at from sign_up_invitations i
     where expires_at > $1 and ${isUnused} order by created_at, id`,
    [new Date(now)],
  );
  return rows.map(toAnswer);
}

/** Withdraws an invitation. False: it is not pending. */
export const withdrawSignUpInvitation = (
  pool: pg.Pool,
  { id, actor }: { readonly id: string; readonly actor: Actor },
): Promise<boolean> =>
  inTransaction(pool, async (client) => {
    const { rowCount } = await client.query('delete from sign_up_invitations where id = $1', [id]);
    if (rowCount === 0) return false;
    await recordAct(client, { actor, act: 'sign_up_invitation_withdrawn', details: { invitation_id: id } });
    return true;
  });

export const signUpInvitationMail = (origin: string, { email, expires_at }: SignUpInvitationAnswer): Mail =>
  mailOf(email, 'You are invited to sign up', [
    `Sign up with this address until ${expires_at}:`,
    `${origin}/sign-up`,
    'If you did not expect this, there is nothing to do.',
  ]);

const toAnswer = ({ id, email, created_at, expires_at }: Row): SignUpInvitationAnswer => ({
  id,
  email,
  created_at: created_at.toISOString(),
  expires_at: expires_at.toISOString(),
});

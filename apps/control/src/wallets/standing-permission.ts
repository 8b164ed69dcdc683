import { randomBytes } from 'node:crypto';
import { hashSecret } from '@sotto/state';
import type pg from 'pg';
import { byAccount, recordAct } from '../audit-log/record-act.ts';
import { inTransaction } from '../database/in-transaction.ts';
import { type Refused, refused } from '../database/refused.ts';

interface NewPermission {
  readonly accountId: string;
  /** The session that asks. */
  readonly sessionId: string;
  /** The batches that the code may withdraw. */
  readonly lots: number;
  readonly expiresAt: Date;
}

export type NotPermitted = { readonly why: 'signed_out' } | { readonly why: 'disabled' };

/**
 * Creates the standing permission to withdraw lots from an account, in place of the one before. Returns its code. The audit log learns the
 * number of lots, and nothing of the code or of a purchase.
 *
 * Interleavings: disabling an account locks it and then deletes its sessions. A password reset deletes the sessions and then the
 * permission. The account and the session of the request are locked here before the permission is stored. So a disabling or a reset that
 * is first leaves no session, and one that is second waits, and a reset then deletes this permission. A deletion waits for this or is
 * seen by it, too. The permission is locked before the account, as by a withdrawal and a deletion.
 */
export const createPermission = (
  pool: pg.Pool,
  { accountId, sessionId, lots, expiresAt }: NewPermission,
): Promise<string | Refused<NotPermitted>> =>
  inTransaction(pool, async (client) => {
    await client.query('select from credit_codes where account_id = $1 for update', [accountId]);
    const enabled = 'select from accounts where id = $1 and disabled_at is null for share';
    if ((await client.query(enabled, [accountId])).rowCount === 0) return refused('disabled');
    const session = await client.query('select from auth_session where id = $1 for key share', [sessionId]);
    if (session.rowCount === 0) return refused('signed_out');
    const code = newCode();
    await client.query(
      `insert into credit_codes (account_id, code_hash, expires_at, lots) values ($1, $2, $3, $4) on conflict (account_id)
       do update set code_hash = excluded.code_hash, expires_at = excluded.expires_at, lots = excluded.lots`,
      [accountId, hashSecret(code), expiresAt, lots],
    );
    const act = { actor: byAccount(accountId), accountId, details: { lots } };
    await recordAct(client, { ...act, act: 'credit_permission_created' });
    return code;
  });

/** Revokes the permission of an account, if there is one. */
export const revokePermission = (pool: pg.Pool, accountId: string): Promise<void> =>
  inTransaction(pool, async (client) => {
    const { rowCount } = await client.query('delete from credit_codes where account_id = $1', [accountId]);
    if (rowCount === 0) return;
    await recordAct(client, { actor: byAccount(accountId), act: 'credit_permission_revoked', accountId });
  });

/** Crockford's alphabet, without letters that look like digits. */
const letters = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** 80 random bits, as four groups of four. */
const newCode = (): string =>
  (
    Array.from(randomBytes(16), (byte) => letters[byte % 32])
      .join('')
      .match(/.{4}/g) ?? []
  ).join('-');

import { bearerToken } from '@sotto/http';
import { type Preferences, preferencesSchema } from '@sotto/router';
import { apiKeyKind, hashSecret, type KeyKind } from '@sotto/state';
import { ServiceError } from '@sotto/wire';
import type { FastifyRequest } from 'fastify';
import type pg from 'pg';

/** A key that was presented and found. */
export interface PresentedKey {
  readonly keyId: string;
  readonly keyHash: string;
  readonly kind: KeyKind;
  readonly accountId: string;
  readonly workspaceId: string;
  readonly walletId: string;
  readonly generation: number;
  readonly preferences: Preferences;
}

interface Row {
  id: string;
  kind: KeyKind;
  account_id: string;
  workspace_id: string;
  wallet_id: string;
  generation: number;
  preferences: unknown;
}

/**
 * Reads the bearer key of a request. Throws `unauthenticated` without one, `invalid_api_key` for one that is unknown or
 * revoked, and `insufficient_scope` for a key of a kind that may not be used here.
 */
export async function requireKey(
  pool: pg.Pool,
  request: FastifyRequest,
  kinds: readonly KeyKind[],
): Promise<PresentedKey> {
  const secret = bearerToken(request);
  if (secret === undefined) {
    throw new ServiceError('unauthenticated', {
      message: `This endpoint needs a key: \`Authorization: Bearer <${kinds.join(' or ')} key>\`.`,
    });
  }
  if (apiKeyKind(secret) === undefined) throw new ServiceError('invalid_api_key');
  const keyHash = hashSecret(secret);
  const { rows } = await pool.query<Row>(
    `select k.id, k.kind, k.account_id, k.workspace_id, a.wallet_id, k.generation, w.preferences
     from api_keys k join accounts a on a.id = k.account_id join workspaces w on w.id = k.workspace_id
     where k.hash = $1 and k.revoked_at is null`,
    [keyHash],
  );
  const [row] = rows;
  if (row === undefined) throw new ServiceError('invalid_api_key');
  if (!kinds.includes(row.kind)) {
    throw new ServiceError('insufficient_scope', {
      message: `The key is of the kind \`${row.kind}\`; this endpoint is for \`${kinds.join('` or `')}\`.`,
    });
  }
  return {
    keyId: row.id,
    keyHash,
    kind: row.kind,
    accountId: row.account_id,
    workspaceId: row.workspace_id,
    walletId: row.wallet_id,
    generation: row.generation,
    preferences: preferencesSchema.parse(row.preferences),
  };
}

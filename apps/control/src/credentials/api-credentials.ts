import { bearerToken } from '@sotto/http';
import { apiKeyKind, hashSecret, type KeyKind } from '@sotto/state';
import { type AppScope, preferencesSchema, ServiceError } from '@sotto/wire';
import type { FastifyRequest } from 'fastify';
import type pg from 'pg';
import { findAccessToken, type PresentedToken } from '../connect/grants/access-token.ts';
import type { PresentedKey } from './presented-key.ts';

/** Where bearers are looked up. */
export interface ApiCredentials {
  readonly pool: pg.Pool;
  /** Whether Connected Apps is switched on: otherwise access tokens are no bearers. */
  readonly accessTokens: boolean;
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
 * Reads the bearer of a request: a key of one of these kinds or, where an inference key would do, an app's access token
 * with the scope `inference`, which then acts as the key of its grant. Throws `unauthenticated` without a bearer,
 * `invalid_api_key` for one that is unknown, expired or revoked, and `insufficient_scope` for one of another kind or scope.
 */
export async function requireKey(
  { pool, accessTokens }: ApiCredentials,
  request: FastifyRequest,
  kinds: readonly KeyKind[],
): Promise<PresentedKey> {
  const secret = bearerToken(request);
  if (secret === undefined) {
    throw new ServiceError('unauthenticated', {
      message: `This endpoint needs a key: \`Authorization: Bearer <${kinds.join(' or ')} key>\`.`,
    });
  }
  if (apiKeyKind(secret) !== undefined) return presentedKey(pool, secret, kinds);
  const token = accessTokens ? await findAccessToken(pool, secret) : undefined;
  if (token === undefined) throw new ServiceError('invalid_api_key');
  if (!kinds.includes('inference')) {
    throw new ServiceError('insufficient_scope', { message: 'This endpoint is not for access tokens of apps.' });
  }
  assertScope(token, 'inference');
  return token.key;
}

/** An access token of a request's bearer; undefined where the bearer is something else. */
export async function presentedToken(
  { pool, accessTokens }: ApiCredentials,
  request: FastifyRequest,
): Promise<PresentedToken | undefined> {
  const secret = bearerToken(request);
  return secret === undefined || !accessTokens ? undefined : findAccessToken(pool, secret);
}

/** Throws `insufficient_scope`, naming the scope that is missing. */
export function assertScope({ scopes }: PresentedToken, needed: AppScope): void {
  if (scopes.has(needed)) return;
  throw new ServiceError('insufficient_scope', { message: `The access token lacks the scope \`${needed}\`.` });
}

async function presentedKey(pool: pg.Pool, secret: string, kinds: readonly KeyKind[]): Promise<PresentedKey> {
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

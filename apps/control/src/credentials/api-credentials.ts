import { bearerToken } from '@sotto/http';
import { apiKeyKind, hashSecret, type KeyKind } from '@sotto/state';
import { type AppScope, preferencesSchema, ServiceError } from '@sotto/wire';
import type { FastifyRequest } from 'fastify';
import type pg from 'pg';
import { findAccessToken, type PresentedToken } from '../connect/grants/access-token.ts';
import { bearerId } from '../limits/credential-ids.ts';
import type { OnVerified } from '../limits/rate-limits.ts';
import type { PresentedKey } from './presented-key.ts';

/** Where bearers are looked up. */
export interface ApiCredentials {
  readonly pool: pg.Pool;
  /** Whether Connected Apps is switched on: otherwise access tokens are no bearers. */
  readonly accessTokens: boolean;
  /** Told of every bearer that was found good. */
  readonly onVerified: OnVerified;
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
  credentials: ApiCredentials,
  request: FastifyRequest,
  kinds: readonly KeyKind[],
): Promise<PresentedKey> {
  const secret = bearerToken(request);
  if (secret === undefined) {
    throw new ServiceError('unauthenticated', {
      message: `This endpoint needs a key: \`Authorization: Bearer <${kinds.join(' or ')} key>\`.`,
    });
  }
  if (apiKeyKind(secret) !== undefined) {
    const key = await findKey(credentials.pool, secret);
    if (key === undefined) throw new ServiceError('invalid_api_key');
    await credentials.onVerified(request, bearerId(secret));
    return assertKind(key, kinds);
  }
  const token = await presentedToken(credentials, request);
  if (token === undefined) throw new ServiceError('invalid_api_key');
  if (!kinds.includes('inference')) {
    throw new ServiceError('insufficient_scope', { message: 'This endpoint is not for access tokens of apps.' });
  }
  assertScope(token, 'inference');
  return token.key;
}

/** Throws `insufficient_scope` where the bearer of a request that lacks a session is a good key. */
export async function refuseKey(
  { pool, onVerified }: Pick<ApiCredentials, 'pool' | 'onVerified'>,
  request: FastifyRequest,
): Promise<void> {
  const secret = bearerToken(request);
  if (secret === undefined || apiKeyKind(secret) === undefined) return;
  const key = await findKey(pool, secret);
  if (key === undefined) return;
  await onVerified(request, bearerId(secret));
  throw new ServiceError('insufficient_scope', {
    message: `This endpoint needs a session; the key, of the kind \`${key.kind}\`, may not be used here.`,
  });
}

/** An access token of a request's bearer; undefined where the bearer is something else. */
export async function presentedToken(
  { pool, accessTokens, onVerified }: ApiCredentials,
  request: FastifyRequest,
): Promise<PresentedToken | undefined> {
  const secret = bearerToken(request);
  const token = secret === undefined || !accessTokens ? undefined : await findAccessToken(pool, secret);
  if (secret !== undefined && token !== undefined) await onVerified(request, bearerId(secret));
  return token;
}

/** Throws `insufficient_scope`, naming the scope that is missing. */
export function assertScope({ scopes }: PresentedToken, needed: AppScope): void {
  if (scopes.has(needed)) return;
  throw new ServiceError('insufficient_scope', { message: `The access token lacks the scope \`${needed}\`.` });
}

async function findKey(pool: pg.Pool, secret: string): Promise<PresentedKey | undefined> {
  const keyHash = hashSecret(secret);
  const { rows } = await pool.query<Row>(
    `select k.id, k.kind, k.account_id, k.workspace_id, a.wallet_id, k.generation, w.preferences
     from api_keys k join accounts a on a.id = k.account_id join workspaces w on w.id = k.workspace_id
     where k.hash = $1 and k.revoked_at is null`,
    [keyHash],
  );
  const [row] = rows;
  if (row === undefined) return undefined;
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

function assertKind(key: PresentedKey, kinds: readonly KeyKind[]): PresentedKey {
  if (kinds.includes(key.kind)) return key;
  throw new ServiceError('insufficient_scope', {
    message: `The key is of the kind \`${key.kind}\`; this endpoint is for \`${kinds.join('` or `')}\`.`,
  });
}

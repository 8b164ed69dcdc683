import type { AppScope } from '@sotto/contract/control/app-scopes';
import { bearerToken, misplacedKey } from '@sotto/server';
import { apiKeyKind, generationOf, hashSecret, type KeyKind } from '@sotto/state';
import { preferencesSchema, ServiceError } from '@sotto/wire';
import type { FastifyRequest } from 'fastify';
import type pg from 'pg';
import type { SqlRow } from '../database/columns.ts';
import { heldExpiry } from '../database/held-rules.ts';
import type { accounts, apiKeys, workspaces } from '../database/schema.ts';
import { tagIdOf } from '../ledger/tag-id.ts';
import { bearerId, sessionIdOf } from '../limits/credential-ids.ts';
import type { VerifyCredentials } from '../limits/verified-credentials.ts';
import type { Auth } from '../sessions/auth.ts';
import { readSession } from '../sessions/session-reader.ts';
import type { PresentedKey, PresentedToken } from './presented-key.ts';

/** Finds the owners of bearer tokens. */
export interface ApiCredentials {
  readonly pool: pg.Pool;
  /** Finds the access token of a bearer. Undefined if Connected Apps is off: access tokens are then not accepted. */
  readonly findAccessToken: ((secret: string) => Promise<PresentedToken | undefined>) | undefined;
  readonly remembered: RememberedKeys;
}

/** The most keys that a process remembers. The one that was read first is forgotten first. */
const maxRemembered = 10_000;
/** A key whose rules are longer as JSON is not remembered, because people choose their length. */
const maxRulesChars = 4_096;

/** Keys that this process has read, by the hash of their secret. They may have changed since. */
export class RememberedKeys {
  readonly #keys = new Map<string, PresentedKey>();

  find(secretHash: string): PresentedKey | undefined {
    return this.#keys.get(secretHash);
  }

  keep(secretHash: string, key: PresentedKey): void {
    this.#keys.delete(secretHash);
    if (JSON.stringify([key.preferences, key.allowedModels, key.workspaceModels]).length > maxRulesChars) return;
    this.#keys.set(secretHash, { ...key, rememberedBy: secretHash });
    const [oldest] = this.#keys.keys();
    if (this.#keys.size > maxRemembered && oldest !== undefined) this.#keys.delete(oldest);
  }

  forget(secretHash: string): void {
    this.#keys.delete(secretHash);
  }
}

/** Returns the remembered key of a request's bearer, without a query. Otherwise the same as `requireKey`, and remembers the key. */
export async function rememberKey(
  credentials: ApiCredentials,
  request: FastifyRequest,
  kinds: readonly KeyKind[],
): Promise<PresentedKey> {
  const secretHash = hashOfKey(request);
  const remembered = secretHash === undefined ? undefined : credentials.remembered.find(secretHash);
  if (remembered !== undefined) return assertKind(remembered, kinds);
  const key = await requireKey(credentials, request, kinds);
  if (secretHash !== undefined) credentials.remembered.keep(secretHash, key);
  return key;
}

/**
 * Answers a request of a key that may be remembered. If that fails, the key may have changed, so it is read again, and `answer` is
 * called with the key as it is now. `answer` must let the shared state check the generation and the secret (`rememberedBy`) before
 * it changes anything. Throws as `requireKey` does.
 */
export async function checkingRemembered<T>(
  credentials: ApiCredentials,
  { request, caller }: { readonly request: FastifyRequest; readonly caller: PresentedKey },
  answer: (key: PresentedKey) => Promise<T>,
): Promise<T> {
  if (caller.rememberedBy === undefined) return answer(caller);
  try {
    return await answer(caller);
  } catch {
    credentials.remembered.forget(caller.rememberedBy);
    return answer(await requireKey(credentials, request, [caller.kind]));
  }
}

function hashOfKey(request: FastifyRequest): string | undefined {
  const secret = bearerToken(request);
  return secret === undefined || apiKeyKind(secret) === undefined ? undefined : hashSecret(secret);
}

type Row = SqlRow<
  typeof apiKeys,
  'id' | 'kind' | 'hash' | 'account_id' | 'workspace_id' | 'generation' | 'allowed_models' | 'tag'
> &
  SqlRow<typeof accounts, 'wallet_id'> &
  SqlRow<typeof workspaces, 'preferences' | 'version' | 'policy_models'> & {
    closed: 'disabled' | 'expired' | null;
    is_wallet: boolean;
  };

/**
 * Authenticates the bearer of a request. It accepts a key of one of these kinds. Where an inference key is accepted, it
 * also accepts an app’s access token with the scope `inference`, which acts as the key of its grant. Throws
 * `unauthenticated` without a bearer, `invalid_api_key` for one that is unknown, disabled, expired or revoked, and
 * `insufficient_scope` for one of another kind or scope.
 */
export async function requireKey(
  credentials: ApiCredentials,
  request: FastifyRequest,
  kinds: readonly KeyKind[],
): Promise<PresentedKey> {
  const secret = bearerToken(request);
  if (secret === undefined) {
    throw new ServiceError('unauthenticated', {
      message:
        misplacedKey(request) ?? `This endpoint needs a key: \`Authorization: Bearer <${kinds.join(' or ')} key>\`.`,
    });
  }
  if (apiKeyKind(secret) !== undefined) {
    const row = await readKey(credentials.pool, secret);
    if (row === undefined) throw new ServiceError('invalid_api_key');
    if (row.closed !== null) throw new ServiceError('invalid_api_key', { message: closedMessages[row.closed] });
    return assertKind(toPresented(row), kinds);
  }
  const token = await presentedToken(credentials, request);
  if (token === undefined) throw new ServiceError('invalid_api_key');
  if (!kinds.includes('inference')) {
    throw new ServiceError('insufficient_scope', { message: 'This endpoint is not for access tokens of apps.' });
  }
  assertScope(token, 'inference');
  return token.key;
}

/** Throws `insufficient_scope` if a request without a session has a valid key. */
export async function refuseKey({ pool }: Pick<ApiCredentials, 'pool'>, request: FastifyRequest): Promise<void> {
  const secret = bearerToken(request);
  if (secret === undefined || apiKeyKind(secret) === undefined) return;
  const key = await findKey(pool, secret);
  if (key === undefined) return;
  throw new ServiceError('insufficient_scope', {
    message: `This endpoint needs a session; the key, of the kind \`${key.kind}\`, may not be used here.`,
  });
}

/** Returns the access token of a request’s bearer. Undefined if the bearer is something else. */
export async function presentedToken(
  { findAccessToken }: ApiCredentials,
  request: FastifyRequest,
): Promise<PresentedToken | undefined> {
  const secret = bearerToken(request);
  return secret === undefined ? undefined : findAccessToken?.(secret);
}

/** Throws `insufficient_scope` with the name of the missing scope. */
export function assertScope({ scopes }: PresentedToken, needed: AppScope): void {
  if (scopes.has(needed)) return;
  throw new ServiceError('insufficient_scope', { message: `The access token lacks the scope \`${needed}\`.` });
}

/** Returns the valid key of a bearer, or the key of its access token. Undefined for any other bearer. */
const keyOfBearer = async (
  { pool, findAccessToken }: ApiCredentials,
  secret: string,
): Promise<PresentedKey | undefined> =>
  apiKeyKind(secret) === undefined ? (await findAccessToken?.(secret))?.key : findKey(pool, secret);

const closedMessages = {
  disabled: 'The API key is disabled. Enable it in the dashboard, or use another.',
  expired: 'The API key has expired. Change its expiry in the dashboard, or use another.',
} as const;

async function findKey(pool: pg.Pool, secret: string): Promise<PresentedKey | undefined> {
  const row = await readKey(pool, secret);
  return row === undefined || row.closed !== null ? undefined : toPresented(row);
}

/** Reads the key with this secret. A key that was rotated has the secrets in `key_secrets`, and no other. */
async function readKey(pool: pg.Pool, secret: string): Promise<Row | undefined> {
  const { rows } = await pool.query<Row>(
    `select k.id, k.kind, k.hash, k.account_id, k.workspace_id, a.wallet_id, k.generation, k.allowed_models, k.tag, w.preferences, w.version,
       w.policy_models, case when k.disabled_at is not null then 'disabled' when ${heldExpiry} <= now() then 'expired' end as closed,
       exists (select from wallets where wallets.account_id = a.id) as is_wallet
     from api_keys k join accounts a on a.id = k.account_id join workspaces w on w.id = k.workspace_id
     join accounts creator on creator.id = k.created_by
     where (k.id = (select s.key_id from key_secrets s where s.hash = $1 and (s.ends_at is null or s.ends_at > now()))
         or (k.hash = $1 and not exists (select from key_secrets s where s.key_id = k.id)))
       and k.revoked_at is null and a.disabled_at is null and creator.disabled_at is null`,
    [hashSecret(secret)],
  );
  return rows[0];
}

function toPresented(row: Row): PresentedKey {
  return {
    keyId: row.id,
    keyHash: row.hash,
    kind: row.kind,
    accountId: row.account_id,
    workspaceId: row.workspace_id,
    tagId: tagIdOf(row.workspace_id, row.tag),
    walletId: row.wallet_id,
    generation: generationOf(row.generation, Number(row.version)),
    preferences: preferencesSchema.parse(row.preferences),
    allowedModels: row.allowed_models ?? undefined,
    workspaceModels: row.policy_models ?? undefined,
    isWallet: row.is_wallet,
  };
}

function assertKind(key: PresentedKey, kinds: readonly KeyKind[]): PresentedKey {
  if (kinds.includes(key.kind)) return key;
  throw new ServiceError('insufficient_scope', {
    message: `The key is of the kind \`${key.kind}\`; this endpoint is for \`${kinds.join('` or `')}\`.`,
  });
}

/** Finds the valid credential of a request, for limits. It does not decide what the credential may do. */
export const verifyCredentials =
  (credentials: ApiCredentials, auth: Auth): VerifyCredentials =>
  async (request) => {
    const secret = bearerToken(request);
    const key = secret === undefined ? undefined : await keyOfBearer(credentials, secret);
    if (secret !== undefined && key !== undefined) {
      const counter = `key:${key.keyId}`;
      return { id: bearerId(secret), counter, kind: 'bearer', owner: `keys:${key.accountId}` };
    }
    const id = sessionIdOf(request);
    const session = id === undefined ? undefined : await readSession(auth, request.headers);
    if (id === undefined || session === undefined) return undefined;
    const { rows } = await credentials.pool.query<{ id: string }>('select id from accounts where user_id = $1', [
      session.userId,
    ]);
    // The first request of a new user creates the account.
    return {
      id,
      counter: id,
      kind: 'session',
      owner: rows[0] === undefined ? `user:${session.userId}` : `account:${rows[0].id}`,
    };
  };

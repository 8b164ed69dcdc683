import { randomBytes, randomUUID } from 'node:crypto';
import { sealAccountRef, shardOfWallet, type ToldSettlement } from '@sotto/state';
import type { Service, TestAccount } from '../kit/service.ts';

/** Shared with the tests, so that they can write their own settlements. */
export const settlementMacKey = randomBytes(32);
export const accountRefKey = randomBytes(32);

/** A reference to an account that does not exist. */
export const refOfStranger = (key: Buffer): string =>
  sealAccountRef(key, { accountId: randomUUID(), workspaceId: randomUUID(), keyId: randomUUID() });

/** An account and its inference key, as settlements name them. */
export async function ownerOf({ pool }: Service, { accountId, workspaceId }: TestAccount) {
  const { rows } = await pool.query<{ id: string }>(
    "select id from api_keys where account_id = $1 and kind = 'inference'",
    [accountId],
  );
  return { accountId, workspaceId, keyId: rows[0]?.id ?? '' };
}

/** The shard of an account's wallet, in whose stream its brokers settle. */
export async function shardOf({ pool }: Service, { accountId }: TestAccount): Promise<number> {
  const { rows } = await pool.query<{ wallet_id: string }>('select wallet_id from accounts where id = $1', [accountId]);
  return shardOfWallet(rows[0]?.wallet_id ?? '');
}

/** A settlement of 1,000 nano-USD, as a broker states it. Its account exists only if `accountRef` says so. */
export const settlementOf = (changes: Partial<ToldSettlement> = {}): ToldSettlement => ({
  v: 1,
  id: randomBytes(16).toString('base64url'),
  kind: 'charge',
  accountRef: refOfStranger(accountRefKey),
  chargeNusd: '1000',
  at: 1_700_000_000_000,
  operation: 'chat',
  model: 'm/one',
  provider: 'alpha',
  privacyClass: 'private',
  promptTokens: 1,
  cachedTokens: 0,
  completionTokens: 1,
  reasoningTokens: 0,
  attempts: 1,
  fallback: false,
  status: 'completed',
  estimated: false,
  month: '2023-11',
  ...changes,
});

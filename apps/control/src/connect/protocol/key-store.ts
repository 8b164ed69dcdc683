import { generateKeyPairSync, randomBytes } from 'node:crypto';
import type { JWK } from 'oidc-provider';
import type pg from 'pg';
import { z } from 'zod';
import { inTransaction } from '../../database/in-transaction.ts';
import { derivedKey } from '../../sessions/derived-key.ts';
import type { SessionSecrets } from '../../sessions/session-secrets.ts';
import { type AgedKey, keysInForce, usedMs } from './key-rotation.ts';
import { openText, sealText } from './sealed-payload.ts';

/** What all control processes share: the first of each is used, all are believed. */
export interface ProtocolKeys {
  /** ES256, private. */
  readonly signing: readonly JWK[];
  readonly cookies: readonly string[];
  /** The same for the same keys in the same order. */
  readonly fingerprint: string;
}

type Kind = 'signing' | 'cookie';

interface StoredKey extends AgedKey {
  readonly kind: Kind;
  readonly text: string;
}

interface Row {
  id: string;
  kind: Kind;
  sealed: string;
  created_at: Date;
}

const jwkSchema = z.record(z.string(), z.string());

/**
 * Reads the keys, and makes those that are missing or due: of several processes one does. What SESSION_SECRET does not
 * open (it was changed) counts as missing.
 */
export async function readKeys(pool: pg.Pool, sessionSecrets: SessionSecrets, now: number): Promise<ProtocolKeys> {
  const sealing = sealingKeys(sessionSecrets);
  const stored = openKeys(await selectRows(pool), sealing);
  if (!isAnyDue(stored, now)) return toKeys(stored, now);
  const all = await inTransaction(pool, async (client) => {
    await client.query("select pg_advisory_xact_lock(hashtext('sotto connect_keys'))");
    const current = openKeys(await selectRows(client), sealing);
    for (const kind of ['signing', 'cookie'] as const) {
      if (!keysInForce(ofKind(current, kind), now).isDue) continue;
      const id = randomBytes(12).toString('base64url');
      const text = kind === 'signing' ? newSigningKey(id) : randomBytes(32).toString('base64url');
      await client.query('insert into connect_keys (id, kind, sealed, created_at) values ($1, $2, $3, $4)', [
        id,
        kind,
        sealText(sealing[0], text),
        new Date(now),
      ]);
    }
    return openKeys(await selectRows(client), sealing);
  });
  return toKeys(all, now);
}

/**
 * Deletes keys that nothing in force was made with, and as old ones that SESSION_SECRET does not open. What another secret
 * that is believed opens is sealed anew.
 */
export async function purgeKeys(pool: pg.Pool, sessionSecrets: SessionSecrets, now: number): Promise<void> {
  const sealing = sealingKeys(sessionSecrets);
  const rows = await selectRows(pool);
  const stored = openKeys(rows, sealing);
  const obsolete = (['signing', 'cookie'] as const).flatMap((kind) => keysInForce(ofKind(stored, kind), now).obsolete);
  const lost = rows.filter(
    ({ id, created_at: createdAt }) => now - createdAt.getTime() > usedMs && !stored.some((key) => key.id === id),
  );
  const ids = [...obsolete, ...lost].map(({ id }) => id);
  if (ids.length > 0) await pool.query('delete from connect_keys where id = any($1::text[])', [ids]);
  for (const { id, sealed } of rows) {
    const text = openText(sealing[0], sealed) === undefined ? openWithAny(sealing, sealed) : undefined;
    if (text === undefined) continue;
    const anew = sealText(sealing[0], text);
    await pool.query('update connect_keys set sealed = $3 where id = $1 and sealed = $2', [id, sealed, anew]);
  }
}

const sealingKeys = ([present, ...others]: SessionSecrets): readonly [Buffer, ...Buffer[]] => {
  const derived = (secret: string): Buffer => derivedKey(secret, 'sotto connected apps: keys');
  return [derived(present), ...others.map(derived)];
};

async function selectRows(client: pg.Pool | pg.PoolClient): Promise<Row[]> {
  const { rows } = await client.query<Row>('select id, kind, sealed, created_at from connect_keys');
  return rows;
}

const openWithAny = (sealing: readonly Buffer[], sealed: string): string | undefined =>
  sealing.map((key) => openText(key, sealed)).find((text) => text !== undefined);

const openKeys = (rows: readonly Row[], sealing: readonly Buffer[]): StoredKey[] =>
  rows.flatMap(({ id, kind, sealed, created_at: createdAt }) => {
    const text = openWithAny(sealing, sealed);
    return text === undefined ? [] : [{ id, kind, text, createdAt: createdAt.getTime() }];
  });

const ofKind = (all: readonly StoredKey[], kind: Kind): StoredKey[] => all.filter((key) => key.kind === kind);

const isAnyDue = (all: readonly StoredKey[], now: number): boolean =>
  keysInForce(ofKind(all, 'signing'), now).isDue || keysInForce(ofKind(all, 'cookie'), now).isDue;

function toKeys(all: readonly StoredKey[], now: number): ProtocolKeys {
  const signing = keysInForce(ofKind(all, 'signing'), now).keys;
  const cookies = keysInForce(ofKind(all, 'cookie'), now).keys;
  return {
    signing: signing.map(({ text }) => jwkSchema.parse(JSON.parse(text))),
    cookies: cookies.map(({ text }) => text),
    fingerprint: [...signing, ...cookies].map(({ id }) => id).join(' '),
  };
}

function newSigningKey(kid: string): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return JSON.stringify({ ...privateKey.export({ format: 'jwk' }), kid, alg: 'ES256', use: 'sig' });
}

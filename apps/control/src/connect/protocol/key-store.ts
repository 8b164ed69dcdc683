import { generateKeyPairSync, randomBytes } from 'node:crypto';
import type { JWK } from 'oidc-provider';
import type pg from 'pg';
import * as z from 'zod';
import type { SqlRow } from '../../database/columns.ts';
import type { connectKeys } from '../../database/connect-schema.ts';
import { inTransaction } from '../../database/in-transaction.ts';
import { type Sealing, type SessionSecrets, sealing } from '../../sessions/session-secrets.ts';

/** The keys that all control processes share. The first of each kind is used; all are accepted. */
export interface ProtocolKeys {
  /** ES256, private. */
  readonly signing: readonly JWK[];
  readonly cookies: readonly string[];
  /** Equal for equal keys in the same order. */
  readonly fingerprint: string;
}

type Kind = (typeof connectKeys.$inferSelect)['kind'];
const kinds: readonly Kind[] = ['signing', 'cookie'];

interface StoredKey extends AgedKey {
  readonly kind: Kind;
  readonly text: string;
}

type Row = SqlRow<typeof connectKeys>;

const purpose = 'sotto connected apps: keys';

const jwkSchema = z.record(z.string(), z.string());

/**
 * Reads the keys and creates those that are missing or due. Only one of several processes creates them. A key that
 * `SESSION_SECRET` cannot decrypt, because the secret was changed, counts as missing.
 */
export async function readKeys(pool: pg.Pool, sessionSecrets: SessionSecrets, now: number): Promise<ProtocolKeys> {
  const keySealing = sealing(sessionSecrets, purpose);
  const stored = openKeys(await selectRows(pool), keySealing);
  if (!kinds.some((kind) => keysInForce(ofKind(stored, kind), now).isDue)) return toKeys(stored, now);
  const all = await inTransaction(pool, async (client) => {
    await client.query("select pg_advisory_xact_lock(hashtext('sotto connect_keys'))");
    const current = openKeys(await selectRows(client), keySealing);
    for (const kind of kinds) {
      if (!keysInForce(ofKind(current, kind), now).isDue) continue;
      const id = randomBytes(12).toString('base64url');
      const text = kind === 'signing' ? newSigningKey(id) : randomBytes(32).toString('base64url');
      await client.query('insert into connect_keys (id, kind, sealed, created_at) values ($1, $2, $3, $4)', [
        id,
        kind,
        keySealing.seal(text),
        new Date(now),
      ]);
    }
    return openKeys(await selectRows(client), keySealing);
  });
  return toKeys(all, now);
}

/**
 * Deletes keys that no valid token or cookie was made with, and equally old keys that no session secret decrypts.
 * Encrypts a key again if only another accepted secret decrypts it.
 */
export async function purgeKeys(pool: pg.Pool, sessionSecrets: SessionSecrets, now: number): Promise<void> {
  const keySealing = sealing(sessionSecrets, purpose);
  const rows = await selectRows(pool);
  const stored = openKeys(rows, keySealing);
  const obsolete = kinds.flatMap((kind) => keysInForce(ofKind(stored, kind), now).obsolete);
  const lost = rows.filter(
    ({ id, created_at: createdAt }) => now - createdAt.getTime() > usedMs && !stored.some((key) => key.id === id),
  );
  const ids = [...obsolete, ...lost].map(({ id }) => id);
  if (ids.length > 0) await pool.query('delete from connect_keys where id = any($1::text[])', [ids]);
  for (const { id, sealed } of rows) {
    const anew = keySealing.reseal(sealed);
    if (anew === undefined) continue;
    await pool.query('update connect_keys set sealed = $3 where id = $1 and sealed = $2', [id, sealed, anew]);
  }
}

async function selectRows(client: pg.Pool | pg.PoolClient): Promise<Row[]> {
  const { rows } = await client.query<Row>('select id, kind, sealed, created_at from connect_keys');
  return rows;
}

const openKeys = (rows: readonly Row[], keySealing: Sealing): StoredKey[] =>
  rows.flatMap(({ id, kind, sealed, created_at: createdAt }) => {
    const text = keySealing.open(sealed);
    return text === undefined ? [] : [{ id, kind, text, createdAt: createdAt.getTime() }];
  });

const ofKind = (all: readonly StoredKey[], kind: Kind): StoredKey[] => all.filter((key) => key.kind === kind);

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

/** The fields of a key that decide what it is used for. */
export interface AgedKey {
  readonly id: string;
  readonly createdAt: number;
}

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
/** A new key is published this long before its use, so that every process and every app's cache has it by then. */
export const announcedMs = 15 * minuteMs;
export const usedMs = 90 * dayMs;
/** Signatures of a key can be checked for this long after a newer key took over. ID tokens live an hour. */
export const retiredMs = 2 * dayMs;

interface KeysInForce<K extends AgedKey> {
  /** The key to use, then those that are still accepted. Empty if there are no keys. */
  readonly keys: readonly K[];
  /** Whether a new key must be created. */
  readonly isDue: boolean;
  readonly obsolete: readonly K[];
}

/**
 * Decides which keys of one kind are in force at an instant. Defined for every input; the order of `all` does not
 * matter.
 */
export function keysInForce<K extends AgedKey>(all: readonly K[], now: number): KeysInForce<K> {
  const newestFirst = all.toSorted((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1));
  const announced = newestFirst.filter(({ createdAt }) => now - createdAt >= announcedMs);
  // If no key has been published long enough, use the oldest. So the very first key is used at once.
  const active = announced[0] ?? newestFirst.at(-1);
  const newest = newestFirst[0];
  if (active === undefined || newest === undefined) return { keys: [], isDue: true, obsolete: [] };
  const takenOverAt = active.createdAt + announcedMs;
  const obsolete = newestFirst.filter(({ createdAt }) => createdAt < active.createdAt && now - takenOverAt > retiredMs);
  const kept = newestFirst.filter((key) => key !== active && !obsolete.includes(key));
  return { keys: [active, ...kept], isDue: now - newest.createdAt >= usedMs, obsolete };
}

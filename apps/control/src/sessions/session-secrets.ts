import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { symmetricDecrypt, symmetricEncrypt } from 'better-auth/crypto';
import type pg from 'pg';

/** SESSION_SECRET and, while one replaces the other, OTHER_SESSION_SECRET: the first signs and encrypts, both are believed. */
export type SessionSecrets = readonly [string, ...string[]];

export interface VersionedSecret {
  readonly version: number;
  readonly value: string;
}

/**
 * The secrets as better-auth takes them. A version is a secret's own, so that it stays the same when a secret moves down the
 * list. `1` is what all were before a second one was possible; what has it is sealed anew soon.
 */
export const versionedSecrets = (secrets: SessionSecrets): VersionedSecret[] => [
  ...secrets.map((value) => ({ version: versionOf(value), value })),
  { version: 1, value: secrets[0] },
];

const versionOf = (secret: string): number =>
  2 + (createHash('sha256').update(`sotto session secret\0${secret}`).digest().readUInt32BE() >>> 2);

const signedValue = /^(.*)\.([A-Za-z0-9+/]{43}=)$/;

/** A `cookie` header in which what another secret signed is signed by the first; all else stays as it is. */
export function signAnew(header: string, [secret, ...others]: SessionSecrets): string {
  if (others.length === 0) return header;
  return header
    .split(';')
    .map((pair) => {
      const at = pair.indexOf('=');
      const [, value, signature] = signedValue.exec(decoded(pair.slice(at + 1).trim())) ?? [];
      if (at < 0 || value === undefined || signature === undefined) return pair;
      if (!others.some((one) => isSignature(one, value, signature))) return pair;
      return `${pair.slice(0, at)}=${encodeURIComponent(`${value}.${signatureOf(secret, value).toString('base64')}`)}`;
    })
    .join(';');
}

const signatureOf = (secret: string, value: string): Buffer => createHmac('sha256', secret).update(value).digest();

function isSignature(secret: string, value: string, signature: string): boolean {
  const given = Buffer.from(signature, 'base64');
  const right = signatureOf(secret, value);
  return given.length === right.length && timingSafeEqual(given, right);
}

function decoded(text: string): string {
  const bare = text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text;
  try {
    return decodeURIComponent(bare);
  } catch {
    return bare;
  }
}

const pageSize = 200;

/**
 * Encrypts second factors under the first secret that are under another. Resolves to how many: none is left to do
 * where that is 0. One that nobody can open stays, and is not counted; its owner has lost the factor.
 */
export async function resealFactors(pool: pg.Pool, secrets: SessionSecrets): Promise<number> {
  const prefix = `$ba$${versionOf(secrets[0])}$`;
  let resealed = 0;
  for (let after = '', full = true; full; ) {
    const { rows } = await pool.query<{ id: string; secret: string; backup_codes: string }>(
      `select id, secret, backup_codes from auth_two_factor
       where id > $1 and not (starts_with(secret, $2) and starts_with(backup_codes, $2)) order by id limit $3`,
      [after, prefix, pageSize],
    );
    for (const row of rows) {
      const texts = await Promise.all([sealAnew(row.secret, secrets), sealAnew(row.backup_codes, secrets)]);
      if (texts.includes(undefined)) continue;
      // Where its owner has used a backup code meanwhile, it is done next time.
      const { rowCount } = await pool.query(
        `update auth_two_factor set secret = $2, backup_codes = $3 where id = $1 and secret = $4 and backup_codes = $5`,
        [row.id, ...texts, row.secret, row.backup_codes],
      );
      resealed += rowCount ?? 0;
    }
    after = rows.at(-1)?.id ?? after;
    full = rows.length === pageSize;
  }
  return resealed;
}

/** Undefined where none of the secrets opens it. What has no version of its own may be of any. */
async function sealAnew(data: string, secrets: SessionSecrets): Promise<string | undefined> {
  const versioned = secrets.map((value) => [versionOf(value), value] as const);
  const currentVersion = versionOf(secrets[0]);
  for (const unversioned of secrets) {
    const key = { keys: new Map([...versioned, [1, unversioned]]), currentVersion, legacySecret: unversioned };
    const opened = await symmetricDecrypt({ key, data }).catch(() => undefined);
    if (opened !== undefined) return symmetricEncrypt({ key, data: opened });
  }
  return undefined;
}

import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';
import { symmetricDecrypt, symmetricEncrypt } from 'better-auth/crypto';
import type pg from 'pg';

/** `SESSION_SECRET` and, during a rotation, `OTHER_SESSION_SECRET`. The first signs and encrypts. Both are accepted. */
export type SessionSecrets = readonly [string, ...string[]];

export interface VersionedSecret {
  readonly version: number;
  readonly value: string;
}

/**
 * Returns the secrets in better-auth's form. The version is derived from the secret, so that it stays the same when the
 * secret moves down the list.
 */
export const versionedSecrets = (secrets: SessionSecrets): VersionedSecret[] =>
  secrets.map((value) => ({ version: versionOf(value), value }));

const versionOf = (secret: string): number =>
  2 + (createHash('sha256').update(`sotto session secret\0${secret}`).digest().readUInt32BE() >>> 2);

const signedValue = /^(.*)\.([A-Za-z0-9+/]{43}=)$/;

/**
 * Returns a `cookie` header in which values signed by another secret are signed by the first. Everything else is
 * unchanged.
 */
export function signCookiesAgain(header: string, [secret, ...others]: SessionSecrets): string {
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
 * Encrypts every second factor under the first secret, if it is not yet. Returns how many it encrypted; 0 means that
 * none are left to do. A factor that none of the secrets decrypts stays and is not counted. Its owner has lost it.
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
      // If the owner uses a backup code meanwhile, this changes nothing and the next run encrypts the factor.
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

/** Returns undefined if none of the secrets decrypts the data. */
async function sealAnew(data: string, secrets: SessionSecrets): Promise<string | undefined> {
  const keys = new Map(secrets.map((value) => [versionOf(value), value]));
  const key = { keys, currentVersion: versionOf(secrets[0]) };
  const opened = await symmetricDecrypt({ key, data }).catch(() => undefined);
  return opened === undefined ? undefined : symmetricEncrypt({ key, data: opened });
}

/**
 * Derives a 32-byte key for one purpose, by HKDF-SHA-256. It reveals nothing about the secret or about keys for other
 * purposes.
 */
export const derivedKey = (secret: string, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', purpose, 32));

/** Encrypts texts of one purpose under `SESSION_SECRET`. During a rotation, it opens those of the other secret, too. */
export interface Sealing {
  seal(text: string): string;
  /** Decrypts a text of `seal`. Returns undefined for any other text. */
  open(sealed: string): string | undefined;
  /** Encrypts a text again that only another secret opens. Returns undefined if there is nothing to do. */
  reseal(sealed: string): string | undefined;
}

export function sealing([present, ...others]: SessionSecrets, purpose: string): Sealing {
  const key = derivedKey(present, purpose);
  const otherKeys = others.map((secret) => derivedKey(secret, purpose));
  const openWithOther = (sealed: string): string | undefined =>
    otherKeys.map((other) => openText(other, sealed)).find((text) => text !== undefined);
  return {
    seal: (text) => sealText(key, text),
    open: (sealed) => openText(key, sealed) ?? openWithOther(sealed),
    reseal(sealed) {
      const text = openText(key, sealed) === undefined ? openWithOther(sealed) : undefined;
      return text === undefined ? undefined : sealText(key, text);
    },
  };
}

/** Encrypts a text by AES-256-GCM with a fresh nonce. Returns base64url of nonce, ciphertext, tag. */
export function sealText(key: Buffer, text: string): string {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString('base64url');
}

/** Decrypts a text that `sealText` encrypted under the same key. Returns undefined for any other text. */
export function openText(key: Buffer, sealed: string): string | undefined {
  const bytes = Buffer.from(sealed, 'base64url');
  if (bytes.length < 28) return undefined;
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12)).setAuthTag(bytes.subarray(-16));
    return Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}

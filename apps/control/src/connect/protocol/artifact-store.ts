import { hash } from 'node:crypto';
import type pg from 'pg';
import * as z from 'zod';
import type { SqlRow } from '../../database/columns.ts';
import type { connectArtifacts } from '../../database/connect-schema.ts';
import { derivedKey, openText, sealText } from '../../sessions/session-secrets.ts';

/**
 * Returns the id under which an artifact (token, code or cookie) is stored: SHA-256 of its secret, separate for each
 * kind.
 */
export const artifactId = (kind: string, secret: string): string => hash('sha256', `${kind} ${secret}`, 'base64url');

const payloadSchema = z.record(z.string(), z.unknown());

/**
 * Encrypts a payload with a key derived from the secret that finds it. With the database alone, an attacker can neither
 * present the secret nor read the payload. oidc-provider's payloads repeat the secret.
 */
export function sealPayload(kind: string, secret: string, payload: object): string {
  return sealText(keyOf(kind, secret), JSON.stringify(payload));
}

/** Decrypts a payload of `sealPayload`. Returns undefined for any other text. */
export function openPayload(kind: string, secret: string, sealed: string): Record<string, unknown> | undefined {
  const text = openText(keyOf(kind, secret), sealed);
  return text === undefined ? undefined : payloadSchema.parse(JSON.parse(text));
}

const keyOf = (kind: string, secret: string): Buffer => derivedKey(secret, `sotto connected apps: ${kind}`);

/** The columns of an artifact that are read to restore it. */
type Row = SqlRow<typeof connectArtifacts, 'payload' | 'consumed_at'>;

/** Stores one kind of protocol artifact (such as codes or tokens), found by the secret that its holder presents. */
export class ArtifactStore {
  readonly #pool: pg.Pool;
  readonly #kind: string;

  constructor(pool: pg.Pool, kind: string) {
    this.#pool = pool;
    this.#kind = kind;
  }

  /** Stores a payload until its `exp` (Unix seconds). Replaces an earlier one. */
  async put(secret: string, payload: { readonly exp?: number | undefined; readonly grantId?: string | undefined }) {
    const { exp, grantId } = payload;
    if (exp === undefined) throw new Error(`a ${this.#kind} without an end`);
    await this.#pool.query(
      `insert into connect_artifacts (id, kind, grant_id, payload, expires_at) values ($1, $2, $3, $4, $5)
       on conflict (id) do update set payload = excluded.payload, expires_at = excluded.expires_at`,
      [
        artifactId(this.#kind, secret),
        this.#kind,
        grantId ?? null,
        sealPayload(this.#kind, secret, payload),
        new Date(exp * 1000),
      ],
    );
  }

  /**
   * Returns the payload, with `consumed` (Unix seconds) if it was used. Returns undefined if it is unknown or expired.
   */
  async find(secret: string): Promise<Record<string, unknown> | undefined> {
    const { rows } = await this.#pool.query<Row>(
      'select payload, consumed_at from connect_artifacts where id = $1 and expires_at > now()',
      [artifactId(this.#kind, secret)],
    );
    const [row] = rows;
    const payload = row && openPayload(this.#kind, secret, row.payload);
    if (row === undefined || payload === undefined) return undefined;
    const consumedAt = row.consumed_at;
    return consumedAt === null ? payload : { ...payload, consumed: Math.floor(consumedAt.getTime() / 1000) };
  }

  /**
   * Marks an artifact as used. Of several simultaneous calls, one returns true. False means that another was faster or
   * that the artifact does not exist.
   */
  async consume(secret: string): Promise<boolean> {
    const { rowCount } = await this.#pool.query(
      'update connect_artifacts set consumed_at = now() where id = $1 and consumed_at is null',
      [artifactId(this.#kind, secret)],
    );
    return rowCount === 1;
  }

  async remove(secret: string): Promise<void> {
    await this.#pool.query('delete from connect_artifacts where id = $1', [artifactId(this.#kind, secret)]);
  }

  async removeOfGrant(grantId: string): Promise<void> {
    await this.#pool.query('delete from connect_artifacts where kind = $1 and grant_id = $2', [this.#kind, grantId]);
  }
}

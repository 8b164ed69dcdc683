import type pg from 'pg';
import { artifactId, openPayload, sealPayload } from './sealed-payload.ts';

/** What of an artifact can be asked for without its secret. */
interface Row {
  payload: string;
  consumed_at: Date | null;
}

/** One kind of what the protocol keeps, by the secret that somebody holds. */
export class ArtifactStore {
  readonly #pool: pg.Pool;
  readonly #kind: string;

  constructor(pool: pg.Pool, kind: string) {
    this.#pool = pool;
    this.#kind = kind;
  }

  /** Keeps a payload until its `exp` (seconds), anew or in place of the one before. */
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

  /** The payload, with `consumed` (seconds) where it was used; undefined where there is none, or no longer. */
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

  /** Marks it as used. Of several at once one succeeds; `false` says that somebody was faster, or that it is gone. */
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

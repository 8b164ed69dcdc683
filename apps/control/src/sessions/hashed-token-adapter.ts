import { hash } from 'node:crypto';
import type { DBAdapter, DBTransactionAdapter, Where } from 'better-auth';

/** The form in which Postgres holds a session token: SHA-256, base64url, 43 characters. */
export const hashSessionToken = (token: string): string => hash('sha256', token, 'base64url');

/**
 * Wraps a better-auth adapter so that session tokens rest hashed: every `token` of the `session` model is hashed on its
 * way in, in rows and in conditions alike. A hash given as a token is hashed again and finds nothing, so what a
 * database leak shows opens no session, not even together with the secret that signs cookies.
 *
 * Rows that come back carry the plaintext where the call itself named it, and the hash otherwise (listings by user).
 * better-auth's own revocation by listed token therefore cannot work on top of this: see `revocation.ts`.
 */
export const hashSessionTokens = (inner: DBAdapter): DBAdapter => ({
  ...inner,
  ...hashedOperations(inner),
  transaction: (work) => inner.transaction((trx) => work({ ...trx, ...hashedOperations(trx) })),
});

type FindMany = Parameters<DBTransactionAdapter['findMany']>[0];
type Operations = Omit<DBTransactionAdapter, 'id' | 'options' | 'createSchema'>;

function hashedOperations(inner: DBTransactionAdapter): Operations {
  return {
    create: async (call) => {
      const tokens = new TokenSwap(call.model);
      return tokens.restored(await inner.create({ ...call, data: tokens.hashedRow(call.data) }));
    },
    findOne: async (call) => {
      const tokens = new TokenSwap(call.model);
      return tokens.restored(await inner.findOne({ ...call, where: tokens.hashedWhere(call.where) }));
    },
    findMany: async <T>(call: FindMany) => {
      const tokens = new TokenSwap(call.model);
      const rows = await inner.findMany<T>({ ...call, where: call.where && tokens.hashedWhere(call.where) });
      return rows.map((found) => tokens.restored(found));
    },
    count: (call) => inner.count({ ...call, where: call.where && new TokenSwap(call.model).hashedWhere(call.where) }),
    update: async (call) => {
      const tokens = new TokenSwap(call.model);
      const where = tokens.hashedWhere(call.where);
      return tokens.restored(await inner.update({ ...call, where, update: tokens.hashedRow(call.update) }));
    },
    updateMany: (call) => {
      const tokens = new TokenSwap(call.model);
      const where = tokens.hashedWhere(call.where);
      return inner.updateMany({ ...call, where, update: tokens.hashedRow(call.update) });
    },
    delete: (call) => inner.delete({ ...call, where: new TokenSwap(call.model).hashedWhere(call.where) }),
    deleteMany: (call) => inner.deleteMany({ ...call, where: new TokenSwap(call.model).hashedWhere(call.where) }),
    consumeOne: async (call) => {
      const tokens = new TokenSwap(call.model);
      return tokens.restored(await inner.consumeOne({ ...call, where: tokens.hashedWhere(call.where) }));
    },
    incrementOne: async (call) => {
      const tokens = new TokenSwap(call.model);
      const where = tokens.hashedWhere(call.where);
      return tokens.restored(await inner.incrementOne({ ...call, where, set: call.set && tokens.hashedRow(call.set) }));
    },
  };
}

/** The tokens that one adapter call named: hashes them on the way in, puts them back on the way out. */
class TokenSwap {
  readonly #plaintextByHash = new Map<string, string>();
  readonly #concerned: boolean;

  constructor(model: string) {
    this.#concerned = model === 'session';
  }

  hashedRow<R extends object>(row: R): R {
    if (!this.#concerned || !('token' in row) || typeof row.token !== 'string') return row;
    return { ...row, token: this.#hashed(row.token) };
  }

  hashedWhere(where: Where[]): Where[] {
    if (!this.#concerned) return where;
    return where.map((clause) => (clause.field === 'token' ? { ...clause, value: this.#hashedValue(clause) } : clause));
  }

  restored<R>(row: R): R {
    if (typeof row !== 'object' || row === null || !('token' in row) || typeof row.token !== 'string') return row;
    const plaintext = this.#plaintextByHash.get(row.token);
    return plaintext === undefined ? row : { ...row, token: plaintext };
  }

  #hashedValue({ operator = 'eq', value }: Where): Where['value'] {
    const isEquality = operator === 'eq' || operator === 'ne' || operator === 'in' || operator === 'not_in';
    if (isEquality && typeof value === 'string') return this.#hashed(value);
    if (isEquality && Array.isArray(value)) return value.map((token) => this.#hashed(String(token)));
    throw new Error(`session tokens rest hashed and cannot be compared by "${operator}"`);
  }

  #hashed(token: string): string {
    const digest = hashSessionToken(token);
    this.#plaintextByHash.set(digest, token);
    return digest;
  }
}

import { hash } from 'node:crypto';
import type { DBAdapter, DBTransactionAdapter, Where } from 'better-auth';

/** The form in which Postgres holds a session token: SHA-256, base64url, 43 characters. */
export const hashSessionToken = (token: string): string => hash('sha256', token, 'base64url');

/** What opens something, by its model: the identifier of a password reset, say, contains the token of its link. */
const secretFields: Readonly<Record<string, string>> = { session: 'token', verification: 'identifier' };

/**
 * Wraps a better-auth adapter so that what opens something rests hashed: the `token` of a session and the `identifier` of
 * a verification are hashed on their way in, in rows and in conditions alike. A hash given as a token is hashed again
 * and finds nothing, so what a database leak shows opens nothing, not even together with the secret that signs cookies.
 * (better-auth's own `storeIdentifier: 'hashed'` looks for the plain text, too, where there is no such hash.)
 *
 * Rows that come back carry the plaintext where the call itself named it, and the hash otherwise (listings by user).
 * better-auth's own revocation by listed token therefore cannot work on top of this: see `revocation.ts`.
 */
export const hashTokens = (inner: DBAdapter): DBAdapter => ({
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
  readonly #field: string | undefined;

  constructor(model: string) {
    this.#field = secretFields[model];
  }

  hashedRow<R extends object>(row: R): R {
    const token = this.#tokenOf(row);
    return this.#field === undefined || token === undefined ? row : { ...row, [this.#field]: this.#hashed(token) };
  }

  hashedWhere(where: Where[]): Where[] {
    return where.map((clause) =>
      clause.field === this.#field ? { ...clause, value: this.#hashedValue(clause) } : clause,
    );
  }

  restored<R>(row: R): R {
    const token = this.#tokenOf(row);
    const plaintext = token === undefined ? undefined : this.#plaintextByHash.get(token);
    return this.#field === undefined || plaintext === undefined ? row : { ...row, [this.#field]: plaintext };
  }

  #tokenOf(row: unknown): string | undefined {
    if (this.#field === undefined || typeof row !== 'object' || row === null) return undefined;
    const token = (row as Readonly<Record<string, unknown>>)[this.#field];
    return typeof token === 'string' ? token : undefined;
  }

  #hashedValue({ operator = 'eq', value }: Where): Where['value'] {
    const isEquality = operator === 'eq' || operator === 'ne' || operator === 'in' || operator === 'not_in';
    if (isEquality && typeof value === 'string') return this.#hashed(value);
    if (isEquality && Array.isArray(value)) return value.map((token) => this.#hashed(String(token)));
    throw new Error(`tokens rest hashed and cannot be compared by "${operator}"`);
  }

  #hashed(token: string): string {
    const digest = hashSessionToken(token);
    this.#plaintextByHash.set(digest, token);
    return digest;
  }
}

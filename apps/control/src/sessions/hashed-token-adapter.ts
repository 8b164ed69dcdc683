import { hash } from 'node:crypto';
import type { DBAdapter, DBTransactionAdapter, Where } from 'better-auth';

/** Returns a session token as Postgres stores it: SHA-256, base64url, 43 characters. */
export const hashSessionToken = (token: string): string => hash('sha256', token, 'base64url');

/**
 * The field of each model that holds a secret. The identifier of a password reset, for example, contains the token of
 * its link.
 */
const secretFields: Readonly<Record<string, string>> = { session: 'token', verification: 'identifier' };

/**
 * Wraps a better-auth adapter so that Postgres stores only hashes of secrets: the `token` of a session and the
 * `identifier` of a verification. The adapter hashes them in rows and in conditions. A hash given as a token is hashed
 * again and finds nothing. So the hashes in a leaked database do not open a session, not even together with the secret
 * that signs cookies. With its own setting `storeIdentifier: 'hashed'`, better-auth falls back to looking for the plain
 * text.
 *
 * Returned rows carry the plain text if the call named it, and otherwise the hash, as in listings by user. Therefore
 * better-auth's own revocation by listed token cannot work with this adapter: see `revocation.ts`.
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

/** The tokens that one adapter call names. Hashes them in the call and restores them in its result. */
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

/**
 * Wraps a better-auth adapter so that a guarded update changes only a row for which the guard still holds. The drizzle
 * adapter of better-auth reads the guard in a subquery: `update … where id in (select id … where <guard>)`. Under READ
 * COMMITTED Postgres does not read that subquery again for a row that it had to wait for. Several simultaneous updates
 * would all succeed, and the last would overwrite the others. One backup code could begin several sessions.
 *
 * `updateMany` puts the guard into the update itself, where Postgres checks it again on the row's newest version.
 */
export const guardIncrements = (inner: DBAdapter): DBAdapter => ({
  ...inner,
  incrementOne: guardedIncrement(inner),
  transaction: (work) => inner.transaction((trx) => work({ ...trx, incrementOne: guardedIncrement(trx) })),
});

const guardedIncrement =
  (inner: DBTransactionAdapter): DBTransactionAdapter['incrementOne'] =>
  async (call) => {
    const { model, where, increment, set } = call;
    const id = where.find(isId);
    // Postgres adds to the row's newest version. With no guard beside the id, no update is lost.
    if (id !== undefined && where.length === 1) return inner.incrementOne(call);
    if (id === undefined || set === undefined || Object.keys(increment).length > 0) {
      throw new Error(`a guarded update of "${model}" takes the row's id, sets fields and increments none`);
    }
    const updated = await inner.updateMany({ model, where, update: set });
    return updated === 0 ? null : inner.findOne({ model, where: [id] });
  };

const isId = ({ field, operator = 'eq' }: Where): boolean => field === 'id' && operator === 'eq';

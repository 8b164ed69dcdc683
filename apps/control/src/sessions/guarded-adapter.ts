import type { DBAdapter, DBTransactionAdapter, Where } from 'better-auth';

/**
 * Wraps a better-auth adapter so that a guarded update changes only a row for which the guard still holds. better-auth's
 * drizzle adapter reads the guard in a subquery: `update … where id in (select id … where <guard>)`. Under READ COMMITTED
 * Postgres does not read that subquery again for a row that it had to wait for. Several updates at once all succeed, and
 * the last one overwrites the others. A backup code gave several sessions that way.
 *
 * `updateMany` puts the guard into the update itself, where Postgres checks it again on the row's newest version.
 */
export const holdGuards = (inner: DBAdapter): DBAdapter => ({
  ...inner,
  incrementOne: guardedIncrement(inner),
  transaction: (work) => inner.transaction((trx) => work({ ...trx, incrementOne: guardedIncrement(trx) })),
});

const guardedIncrement =
  (inner: DBTransactionAdapter): DBTransactionAdapter['incrementOne'] =>
  async (call) => {
    const { model, where, increment, set } = call;
    const id = where.find(isId);
    // A sum is computed from the row's newest version: without a guard beside the id, nothing can be lost.
    if (id !== undefined && where.length === 1) return inner.incrementOne(call);
    if (id === undefined || set === undefined || Object.keys(increment).length > 0) {
      throw new Error(`a guarded update of "${model}" takes the row's id, sets fields and increments none`);
    }
    const updated = await inner.updateMany({ model, where, update: set });
    return updated === 0 ? null : inner.findOne({ model, where: [id] });
  };

const isId = ({ field, operator = 'eq' }: Where): boolean => field === 'id' && operator === 'eq';

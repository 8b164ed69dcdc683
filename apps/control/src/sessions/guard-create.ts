import type { DBAdapter, DBTransactionAdapter } from 'better-auth';

/** Checks a new row of a user, whose row it has locked against other changes. A throw refuses the new row. */
type Guard = (trx: DBTransactionAdapter, userId: string) => Promise<void>;

/**
 * Wraps a better-auth adapter so that `guard` runs before a row of `model` is created, in one transaction. It updates the user's row
 * first. So of two rows for one user, and of a row and a disabling, which locks the user, the second sees what the first has done.
 */
export const guardCreate =
  (model: 'account' | 'passkey', now: () => number, guard: Guard) =>
  (inner: DBAdapter): DBAdapter => {
    const guarded =
      (trx: DBTransactionAdapter): DBTransactionAdapter['create'] =>
      async (call) => {
        if (call.model !== model) return trx.create(call);
        const { userId } = call.data as { readonly userId?: unknown };
        if (typeof userId !== 'string') throw new Error(`a row of ${model} needs its user`);
        const where = [{ field: 'id', value: userId }];
        await trx.updateMany({ model: 'user', where, update: { updatedAt: new Date(now()) } });
        await guard(trx, userId);
        return trx.create(call);
      };
    return {
      ...inner,
      create: (call) => (call.model === model ? inner.transaction((trx) => guarded(trx)(call)) : inner.create(call)),
      transaction: (work) => inner.transaction((trx) => work({ ...trx, create: guarded(trx) })),
    };
  };

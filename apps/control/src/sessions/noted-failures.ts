import { AsyncLocalStorage } from 'node:async_hooks';
import type { DBAdapter, DBTransactionAdapter } from 'better-auth';
import { isDatabaseUnavailable } from '../database/failures.ts';

/** The last failure of the database in a request. better-auth replaces it by an error of its own, without a cause. */
interface Noted {
  failure?: unknown;
}

const noted = new AsyncLocalStorage<Noted>();

/** Runs a request of better-auth. Returns its result and the failure of the database that it met, if any. */
export async function notingFailures<T>(
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly failure: unknown }> {
  const notes: Noted = {};
  const result = await noted.run(notes, work);
  return { result, failure: notes.failure };
}

/**
 * Runs a read of better-auth. If the database was unavailable, throws its failure in place of an error of better-auth or of no result,
 * so that a signed-in user is not told to sign in.
 */
export async function orNotedFailure<T>(work: () => Promise<T | undefined>): Promise<T | undefined> {
  let thrown: { readonly error: unknown } | undefined;
  const { result, failure } = await notingFailures(() =>
    work().catch((error: unknown) => {
      thrown = { error };
      return undefined;
    }),
  );
  if (result === undefined && isDatabaseUnavailable(failure)) throw failure;
  if (thrown !== undefined) throw thrown.error;
  return result;
}

/** Notes the first failure, because better-auth may throw another one for it. */
const note = (error: unknown): never => {
  const notes = noted.getStore();
  if (notes !== undefined) notes.failure ??= error;
  throw error;
};

/** Wraps a better-auth adapter so that `notingFailures` learns of every failure. */
export const noteFailures = (inner: DBAdapter): DBAdapter => ({
  ...noting(inner),
  transaction: (work) => inner.transaction((trx) => work(noting(trx))).catch(note),
});

/** An adapter whose methods note why they reject. */
const noting = <Adapter extends DBTransactionAdapter>(inner: Adapter): Adapter =>
  new Proxy(inner, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return (...given: unknown[]): unknown => {
        const returned: unknown = Reflect.apply(member, target, given);
        return returned instanceof Promise ? returned.catch(note) : returned;
      };
    },
  });

import type { DBAdapter, DBTransactionAdapter } from 'better-auth';
import { expect, it } from 'vitest';
import { noteFailures, notingFailures, orNotedFailure } from './noted-failures.ts';

const timeout = new Error('timeout exceeded when trying to connect');

/** An adapter whose database has no connection free. */
const away = {
  id: 'away',
  count: async () => {
    throw timeout;
  },
} as unknown as DBTransactionAdapter;
const adapter = noteFailures({
  ...away,
  transaction: (work) => work(away),
} as DBAdapter);

it('tells the failure behind an error that better-auth has replaced, in and outside transactions', async () => {
  const replaced = { result: 500, failure: timeout };
  const count = (inner: DBTransactionAdapter) => inner.count({ model: 'user' });
  const hide = (work: Promise<unknown>) =>
    work.then(
      () => 200,
      () => 500,
    );
  expect(await notingFailures(() => hide(count(adapter)))).toEqual(replaced);
  expect(await notingFailures(() => hide(adapter.transaction(count)))).toEqual(replaced);
  const hidden = (trx: DBTransactionAdapter) =>
    count(trx).catch(() => {
      throw new Error('something of its own');
    });
  expect(await notingFailures(() => hide(adapter.transaction(hidden)))).toEqual(replaced);
});

it('keeps the failures of simultaneous requests apart', async () => {
  const [failed, fine] = await Promise.all([
    notingFailures(() => adapter.count({ model: 'user' }).catch(() => 0)),
    notingFailures(async () => 1),
  ]);
  expect([failed.failure, fine.failure]).toEqual([timeout, undefined]);
});

it('is thrown by a read that found nothing or met another error, and other errors stay', async () => {
  const count = () => adapter.count({ model: 'session' });
  await expect(orNotedFailure(() => count().catch(() => undefined))).rejects.toBe(timeout);
  const replaced = () =>
    count().catch(() => {
      throw new Error('something of its own');
    });
  await expect(orNotedFailure(replaced)).rejects.toBe(timeout);
  await expect(orNotedFailure(() => Promise.reject(new Error('another')))).rejects.toThrow('another');
  expect(await orNotedFailure(async () => undefined)).toBeUndefined();
  expect(await orNotedFailure(async () => 'a session')).toBe('a session');
});

import { expect, it } from 'vitest';
import { abortable } from './abortable.ts';

it('leaves no rejection unhandled when the caller has left before it waits', async () => {
  const unhandled: unknown[] = [];
  const hear = (reason: unknown): number => unhandled.push(reason);
  process.on('unhandledRejection', hear);
  try {
    const failing = Promise.reject(new Error('the verification failed'));
    await expect(abortable(failing, AbortSignal.abort())).rejects.toMatchObject({ name: 'AbortError' });
    // Node reports unhandled rejections before it goes on to the next phase of its loop.
    await new Promise((resolve) => setImmediate(resolve));
    expect(unhandled).toEqual([]);
  } finally {
    process.off('unhandledRejection', hear);
  }
});

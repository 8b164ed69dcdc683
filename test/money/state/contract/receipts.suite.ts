import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { driver, state } from './world.ts';

export function receiptSuite(): void {
  describe('a receipt', () => {
    const id = 'preq_0123456789abcdef';

    test('is read by every process that knows its id, by its kind and id alone, and the last one kept counts', async () => {
      expect(await state.readReceipt('provider', id)).toBeUndefined();
      await state.keepReceipt('provider', id, '{"first":true}', 60_000);
      await state.keepReceipt('provider', id, '{"last":true}', 60_000);
      expect(await driver?.other.readReceipt('provider', id)).toBe('{"last":true}');
      expect(await state.readReceipt('gateway', id)).toBeUndefined();
      expect(await state.readReceipt('provider', `${id}0`)).toBeUndefined();
    });

    test('is gone when its time is up, whatever is kept after it', async () => {
      await state.keepReceipt('gateway', id, 'soon gone', 300);
      await state.keepReceipt('gateway', `${id}-other`, 'stays', 60_000);
      driver?.advance(300);
      await sleep(320);
      expect(await state.readReceipt('gateway', id)).toBeUndefined();
      expect(await state.readReceipt('gateway', `${id}-other`)).toBe('stays');
    });

    test.each([
      ['id', ['short', '{}', 1]],
      ['id', [`${id}:other`, '{}', 1]],
      ['document', [id, 'x'.repeat(32_769), 1]],
      ['ttlMs', [id, '{}', 0]],
      ['ttlMs', [id, '{}', Number.NaN]],
    ] as const)('is refused where its %s is out of bounds', async (field, [name, document, ttlMs]) => {
      const kept = state.keepReceipt('gateway', name, document, ttlMs);
      await expect(kept).rejects.toThrow(new RangeError(`${field} is out of bounds`));
    });
  });
}

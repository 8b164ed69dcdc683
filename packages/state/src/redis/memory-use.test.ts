import { expect, test } from 'vitest';
import { parseMemoryUse } from './memory-use.ts';

const info = (maxmemory: number) =>
  ['# Memory', 'used_memory:600', 'used_memory_human:600B', 'total_system_memory:4000', `maxmemory:${maxmemory}`].join(
    '\r\n',
  );

test('the limit is what Redis may use, or the memory of its machine', () => {
  expect(parseMemoryUse(info(1000))).toEqual({ usedBytes: 600, limitBytes: 1000 });
  expect(parseMemoryUse(info(0))).toEqual({ usedBytes: 600, limitBytes: 4000 });
});

test('a Redis that hides its memory has none that is known', () => {
  expect(parseMemoryUse('')).toBeUndefined();
  expect(parseMemoryUse('used_memory:600')).toBeUndefined();
});

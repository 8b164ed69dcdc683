import { describe, expect, it } from 'vitest';
import { bodyWeight, largestBodyIn, memoryOfProcess, requestMemoryOf } from './request-memory.ts';

const mebibyte = 1024 * 1024;

describe('the memory for requests', () => {
  it('is half of what the process may use, and never more than its heap', () => {
    expect(requestMemoryOf({ resident: 2048 * mebibyte, heap: 1096 * mebibyte })).toBe(1024 * mebibyte);
    expect(requestMemoryOf({ resident: 24_000 * mebibyte, heap: 4192 * mebibyte })).toBe(4192 * mebibyte);
    const memory = memoryOfProcess();
    expect(memory.resident).toBeGreaterThan(64 * mebibyte);
    expect(memory.resident).toBeLessThan(2 ** 50);
  });

  it('limits bodies to 32 MiB, and to what one caller may hold', () => {
    expect(largestBodyIn(1024 * mebibyte)).toBe(32 * mebibyte);
    expect(largestBodyIn(256 * mebibyte) * bodyWeight * 4).toBeLessThanOrEqual(256 * mebibyte);
    expect(largestBodyIn(256 * mebibyte)).toBeGreaterThan(21 * mebibyte);
  });
});

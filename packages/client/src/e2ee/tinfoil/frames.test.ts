import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { concat } from '../bytes.ts';
import { FrameReader, frame } from './frames.ts';

describe('frames', () => {
  it('are read unchanged, for every split of the bytes', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 40 })), fc.array(fc.nat()), (ciphertexts, cuts) => {
        const bytes = concat(...ciphertexts.map(frame));
        const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
        const reader = new FrameReader();
        const read = [0, ...at].flatMap((start, i) => reader.push(bytes.subarray(start, at[i] ?? bytes.length)));
        reader.end();
        expect(read.map((piece) => [...piece])).toEqual(
          ciphertexts.filter(({ length }) => length > 0).map((piece) => [...piece]),
        );
      }),
    );
  });

  it('that are cut within a frame are an error', () => {
    const bytes = frame(new Uint8Array(20));
    for (let cut = 1; cut < bytes.length; cut += 1) {
      const reader = new FrameReader();
      expect(reader.push(bytes.subarray(0, cut))).toEqual([]);
      expect(() => reader.end()).toThrow(expect.objectContaining({ code: 'e2ee_reply_truncated' }));
    }
  });

  it('take time in proportion to their length, whatever the number of pieces', () => {
    const reader = new FrameReader();
    const bytes = frame(new Uint8Array(4 * 1024 * 1024));
    const startedAt = performance.now();
    for (let at = 0; at < bytes.length; at += 256) reader.push(bytes.subarray(at, at + 256));
    // Joining all bytes again for each of the 16,000 pieces would take a minute.
    expect(performance.now() - startedAt).toBeLessThan(20_000);
  });

  it('take time in proportion to their length, whatever their number', () => {
    const reader = new FrameReader();
    const startedAt = performance.now();
    // A million empty frames: joining the rest again after each one would take minutes.
    expect(reader.push(new Uint8Array(4 * 1024 * 1024))).toEqual([]);
    reader.end();
    expect(performance.now() - startedAt).toBeLessThan(20_000);
  });
});

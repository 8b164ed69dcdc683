import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { gunzip, gzip } from './chutes-family.ts';

describe('gunzip', () => {
  it('reverses gzip', async () => {
    const bytes = new Uint8Array(100_000).map((_, index) => index % 251);
    expect(await gunzip(await gzip(bytes), bytes.length)).toEqual(bytes);
  });

  it('stops a decompression bomb at the limit', async () => {
    const bomb = new Uint8Array(gzipSync(Buffer.alloc(8 * 1024 * 1024)));
    await expect(gunzip(bomb, 1024 * 1024)).rejects.toMatchObject({ code: 'e2ee_reply_too_large' });
  });

  it.each([
    ['what is no gzip', Uint8Array.of(1, 2, 3, 4)],
    ['what was cut', new Uint8Array(gzipSync(Buffer.from('hello')).subarray(0, -3))],
    ['nothing', new Uint8Array(0)],
  ])('refuses %s', async (_, bytes) => {
    await expect(gunzip(bytes, 1000)).rejects.toMatchObject({ code: 'e2ee_reply_malformed' });
  });
});

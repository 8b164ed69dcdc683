import { gunzipSync, gzipSync } from 'node:zlib';
import { ml_kem768 as kem } from '@noble/post-quantum/ml-kem.js';
import { describe, expect, it } from 'vitest';
import { copy } from '../bytes.ts';
import { vouchForKey } from '../enclave-key.ts';
import { sealChat } from '../seal-chat.ts';
import { gunzip } from './chutes-family.ts';
import { storedGzip } from './stored-gzip.ts';

describe('gunzip', () => {
  it.each([0, 1, 65_535, 65_536, 200_000])('reverses what is packed, of %i bytes', async (length) => {
    const bytes = new Uint8Array(length).map((_, index) => index % 251);
    expect(await gunzip(storedGzip(bytes), length)).toEqual(bytes);
    expect(new Uint8Array(gunzipSync(storedGzip(bytes)))).toEqual(bytes);
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

// Who puts text into a conversation and sees the length of what is sealed guesses a secret elsewhere in it (CRIME), if the right guess is
// shorter because it repeats the secret.
it('seals a right guess of a secret of the conversation to as many bytes as a wrong one', async () => {
  const { publicKey } = kem.keygen();
  const sealed = async (guess: string): Promise<number> => {
    const key = vouchForKey({
      ...{
        family: 'chutes',
        algorithm: 'ml-kem-768',
        publicKey: copy(publicKey),
        model: 'm',
        expiresAt: Date.now() + 60_000,
      },
      ...{ chuteId: 'c', instanceId: 'i', nonce: 'n'.repeat(8) },
    });
    const messages = [
      { role: 'user', content: 'The password of the staging database is Tr0ub4dor-9317.' },
      { role: 'user', content: `Summarise this page: it is ${guess}.` },
    ];
    return (await sealChat(key, { model: 'x', messages })).body.length;
  };
  const right = await sealed('Tr0ub4dor-9317');
  expect(await Promise.all(['Kq8xzmvoj-2846', 'Wb5lyphfg-6052'].map(sealed))).toEqual([right, right]);
});

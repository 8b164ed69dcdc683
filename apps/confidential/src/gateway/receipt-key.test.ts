import { createPublicKey, verify } from 'node:crypto';
import { expect, it } from 'vitest';
import { makeReceiptKey } from './receipt-key.ts';

it('signs as the key that it names, and is another at each start', () => {
  const { signer, named } = makeReceiptKey();
  const prefix = Buffer.from('302a300506032b6570032100', 'hex');
  const key = createPublicKey({
    key: Buffer.concat([prefix, Buffer.from(named.public_key, 'hex')]),
    format: 'der',
    type: 'spki',
  });
  const bytes = new TextEncoder().encode('a receipt');
  expect(signer.keyId).toBe(named.key_id);
  expect(signer.sign(bytes)).toHaveLength(64);
  expect(verify(null, bytes, key, signer.sign(bytes))).toBe(true);
  expect(verify(null, bytes, key, makeReceiptKey().signer.sign(bytes))).toBe(false);
});

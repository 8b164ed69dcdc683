import { expect, it } from 'vitest';
import { openReceipt, receiptIdOf, sealReceipt } from './receipt.ts';

const secret = 'preq_0123456789abcdef';
const document = '{"request_sha256":"aa"}';

it('a receipt is read by its secret alone, and tells nothing without', () => {
  const sealed = sealReceipt(secret, document);
  expect(openReceipt(secret, sealed)).toBe(document);
  expect(openReceipt(`${secret}0`, sealed)).toBeUndefined();
  expect(openReceipt(receiptIdOf(secret), sealed)).toBeUndefined();
  expect(openReceipt(secret, document)).toBeUndefined();
  expect(Buffer.from(sealed, 'base64').includes('request_sha256')).toBe(false);
  expect(sealReceipt(secret, document)).not.toBe(sealed);
});

it('its id is one for one secret, and fit for the state', () => {
  expect(receiptIdOf(secret)).toMatch(/^[0-9a-f]{64}$/);
  expect(receiptIdOf(secret)).toBe(receiptIdOf(secret));
  expect(receiptIdOf(`${secret}0`)).not.toBe(receiptIdOf(secret));
});

import { describe, expect, it } from 'vitest';
import * as client from '../index.ts';
import { assertVouched, readPublicKey, vouchForKey } from './enclave-key.ts';

const point = `${'1'.repeat(63)}a${'2'.repeat(64)}`;

describe('public keys as providers write them', () => {
  it('of secp256k1 are equal with and without the prefix, in either case', () => {
    const key = readPublicKey('secp256k1', point);
    expect(key).toHaveLength(65);
    expect(readPublicKey('secp256k1', `04${point.toUpperCase()}`)).toEqual(key);
  });

  it.each([
    ['secp256k1', `0x${point}`],
    ['secp256k1', `02${point}`],
    ['secp256k1', `02${point.slice(64)}`],
    ['secp256k1', point.slice(1)],
    ['secp256k1', `${point.slice(0, -1)}g`],
    ['ed25519', point],
    ['ed25519', ''],
    ['ed25519', ` ${'0'.repeat(62)} `],
    ['x25519', '0'.repeat(63)],
    ['ml-kem-768', 'AAAA'],
    ['ml-kem-768', Buffer.alloc(1184).toString('base64url')],
    ['ml-kem-768', `${Buffer.alloc(1184).toString('base64').slice(0, -2)}B=`],
    ['ml-kem-768', Buffer.alloc(1185).toString('base64')],
  ] as const)('of %s are refused as %s', (algorithm, text) => {
    expect(() => readPublicKey(algorithm, text)).toThrow(expect.objectContaining({ code: 'e2ee_key_invalid' }));
  });

  it('of ML-KEM are base64', () => {
    expect(readPublicKey('ml-kem-768', Buffer.alloc(1184, 7).toString('base64'))).toEqual(new Uint8Array(1184).fill(7));
  });
});

describe('vouching', () => {
  const key = { family: 'venice', algorithm: 'secp256k1', publicKey: new Uint8Array(65), model: 'm' } as const;

  it('holds for a frozen copy of the key', () => {
    const given = { ...key, publicKey: new Uint8Array(65) };
    const vouched = vouchForKey(given);
    given.publicKey.fill(9);
    expect(() => assertVouched(vouched)).not.toThrow();
    expect(vouched.publicKey).toEqual(new Uint8Array(65));
    expect(Object.isFrozen(vouched)).toBe(true);
  });

  it('is not exported from the package', () => {
    expect(Object.keys(client)).not.toContain('vouchForKey');
  });
});

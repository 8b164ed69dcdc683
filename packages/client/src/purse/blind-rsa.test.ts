import { constants, createHash, createPrivateKey, createPublicKey, privateDecrypt } from 'node:crypto';
import { creditChallenge, creditSpki } from '@sotto/wire';
import { describe, expect, test } from 'vitest';
import vectors from '../../vectors/privacypass.json' with { type: 'json' };
import { blind, creditMessage, modulusOf, readSigningKey, unblind } from './blind-rsa.ts';

const hex = (text: string): Buffer => Buffer.from(text.replace(/^0x/, ''), 'hex');
const base64url = (text: string): string => hex(text).toString('base64url');

describe('the vectors', () => {
  test.each(vectors.rfc9474)('of RFC 9474 are reproduced: $name', (vector) => {
    const key = createPublicKey({ key: { kty: 'RSA', n: base64url(vector.n), e: 'AQAB' }, format: 'jwk' });
    const signing = { publicKey: key, modulus: modulusOf(key), bits: hex(vector.n).length * 8 };
    // The vector has the inverse of its factor. The inverse of that is the factor.
    const factor = hex(vector.inv);
    const salt = hex(vector.salt);
    const { inverse } = blind(signing, hex(vector.input_msg), { salt, factor });
    const { blinded } = blind(signing, hex(vector.input_msg), {
      salt,
      factor: hex(inverse.toString(16).padStart(1024, '0')),
    });
    expect(blinded.toString('hex')).toBe(hex(vector.blinded_msg).toString('hex'));
    const answer = { inverse: BigInt(vector.inv), signature: hex(vector.blind_sig) };
    expect(unblind(signing, hex(vector.input_msg), answer)?.toString('hex')).toBe(hex(vector.sig).toString('hex'));
    expect(unblind(signing, hex(vector.input_msg), { ...answer, inverse: answer.inverse + 1n })).toBeUndefined();
  });

  test.each(vectors.rfc9578)('of RFC 9578 are reproduced, signed by Node', (vector) => {
    const signing = readSigningKey(hex(vector.pkS));
    if (signing === undefined) throw new Error('the key was not read');
    const nonce = hex(vector.nonce);
    const message = creditMessage(signing, hex(vector.token_challenge), nonce);
    const { blinded, inverse } = blind(signing, message, { salt: hex(vector.salt), factor: hex(vector.blind) });
    expect(blinded.toString('hex')).toBe(vector.token_request.slice(-512));
    const privateKey = createPrivateKey(hex(vector.skS).toString('latin1'));
    const signature = privateDecrypt({ key: privateKey, padding: constants.RSA_NO_PADDING }, blinded);
    expect(signature.toString('hex')).toBe(vector.token_response);
    const authenticator = unblind(signing, message, { inverse, signature });
    expect(Buffer.concat([message, authenticator ?? Buffer.alloc(0)]).toString('hex')).toBe(vector.token);
    const spki = creditSpki(createPublicKey(privateKey).export({ format: 'der', type: 'pkcs1' }));
    expect(Buffer.from(spki).toString('hex')).toBe(vector.pkS);
    expect(createHash('sha256').update(spki).digest('hex')).toBe(signing.keyId);
  });
});

test('a challenge names the issuer twice and has an empty context', () => {
  expect(Buffer.from(creditChallenge('issuer.example')).toString('hex')).toBe(
    '0002000e6973737565722e6578616d706c6500000e6973737565722e6578616d706c65',
  );
});

test('a key of other parameters is not read', () => {
  const [vector] = vectors.rfc9578;
  const spki = hex(vector?.pkS ?? '');
  for (const at of [30, 60, spki.length - 1]) {
    const other = Buffer.from(spki);
    other[at] = (other[at] ?? 0) ^ 2;
    expect(readSigningKey(other)).toBeUndefined();
  }
  expect(readSigningKey(spki.subarray(0, 100))).toBeUndefined();
});

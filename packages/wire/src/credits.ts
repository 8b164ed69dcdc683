import * as z from 'zod';

/**
 * Blind credits: Privacy Pass tokens of type 0x0002 (RFC 9578), blind RSA signatures of 2048 bits (RFC 9474). The functions here only
 * arrange bytes. Both sides hash and compute with their own cryptography.
 */

/** What a credit is worth: 0.10 USD. */
export const creditNusd = 100_000_000n;
/** Credits are always withdrawn and deposited in this number, so that the number names nobody. */
export const creditsPerBatch = 50;

export const signatureBytes = 256;
export const nonceBytes = 32;
/** Type, nonce, challenge digest and key id, as in RFC 9578, section 6.1. The signature covers them. */
export const tokenInputBytes = 2 + nonceBytes + 32 + 32;

/** Bytes in base64url. */
export const base64urlField = (bytes: number) =>
  z
    .string()
    .length(Math.ceil((bytes * 4) / 3), { error: `must be ${bytes} bytes in base64url` })
    .regex(/^[\w-]+$/, { error: 'must be base64url without padding' });

/** Answer of `POST /credits` and `POST /wallets/close`: signatures of the first of the blinded numbers. */
export const signedCreditsSchema = z.strictObject({
  signatures: z.array(base64urlField(signatureBytes)).max(creditsPerBatch),
  /** The wallet has more than a batch. Send another one. */
  more: z.literal(true).optional(),
  /** The batches that the code has left. */
  lots: z.int().min(0).optional(),
});

/** The issuer's name and keys, as clients pin them. `key` is an SPKI with the parameters of RFC 9578, in base64url. */
export const creditIssuerSchema = z.strictObject({
  issuer: z.string().regex(/^[a-z0-9.-]{1,253}$/, { error: 'must be a lower-case host name' }),
  keys: z
    .array(z.strictObject({ year: z.int().min(2026).max(2999), key: z.string().regex(/^[\w-]{300,600}$/) }))
    .min(1)
    .max(100),
});
export type CreditIssuer = z.infer<typeof creditIssuerSchema>;

const concat = (...parts: readonly (Uint8Array | readonly number[])[]): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(parts.flatMap((part) => [...part]));

const tokenType = [0, 2];

/** The TokenChallenge (RFC 9577, section 2.1): the issuer is also the origin, and the redemption context is empty. */
export function creditChallenge(issuer: string): Uint8Array<ArrayBuffer> {
  const name = new TextEncoder().encode(issuer);
  const length = [name.length >> 8, name.length & 255];
  return concat(tokenType, length, name, [0], length, name);
}

/** The bytes of a token that its signature covers. */
export const creditInput = (
  nonce: Uint8Array,
  challengeDigest: Uint8Array,
  keyId: Uint8Array,
): Uint8Array<ArrayBuffer> => concat(tokenType, nonce, challengeDigest, keyId);

/** DER before the PKCS #1 key: RSASSA-PSS with SHA-384, MGF1 with SHA-384 and 48 bytes of salt. */
const spkiHead =
  '30820152303d06092a864886f70d01010a3030a00d300b0609608648016503040202a11a301806092a864886f70d010108300b0609608648016503040202a2030201300382010f00'
    .match(/../g)
    ?.map((byte) => Number.parseInt(byte, 16)) ?? [];

/** The SPKI of a 2048-bit RSA key with RFC 9578's parameters, from its PKCS #1 form. */
export const creditSpki = (pkcs1: Uint8Array): Uint8Array<ArrayBuffer> => concat(spkiHead, pkcs1);

/** The PKCS #1 form in such an SPKI. Undefined if it has other parameters. */
export const pkcs1Of = (spki: Uint8Array): Uint8Array<ArrayBuffer> | undefined =>
  spkiHead.every((byte, at) => spki[at] === byte) ? concat(spki.subarray(spkiHead.length)) : undefined;

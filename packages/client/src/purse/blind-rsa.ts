import { constants, createHash, createPublicKey, hash, type KeyObject, publicEncrypt, verify } from 'node:crypto';
import { creditInput, creditsPerBatch, nonceBytes, pkcs1Of } from '@sotto/wire';

/** Blind RSA signatures (RFC 9474, RSABSSA-SHA384-PSS-Deterministic) and the tokens of RFC 9578 that are made of them. */

export interface SigningKey {
  /** SHA-256 of the SPKI, in hex. */
  readonly keyId: string;
  readonly publicKey: KeyObject;
  readonly modulus: bigint;
  readonly bits: number;
}

/** Reads a key of the pins. Undefined unless it is RSA with 2048 bits, exponent 65537 and the parameters of RFC 9578. */
export function readSigningKey(spki: Uint8Array): SigningKey | undefined {
  const pkcs1 = pkcs1Of(spki);
  if (pkcs1 === undefined) return undefined;
  try {
    const publicKey = createPublicKey({ key: Buffer.from(pkcs1), format: 'der', type: 'pkcs1' });
    const { modulusLength: bits, publicExponent } = publicKey.asymmetricKeyDetails ?? {};
    if (bits !== 2048 || publicExponent !== 65537n) return undefined;
    return { keyId: hash('sha256', spki, 'hex'), publicKey, bits, modulus: modulusOf(publicKey) };
  } catch {
    return undefined;
  }
}

export const modulusOf = (key: KeyObject): bigint =>
  toNumber(Buffer.from(key.export({ format: 'jwk' }).n ?? '', 'base64url'));

/**
 * Blinds a message, so that its signature can be asked for without showing it. Both secrets are random and are used once. The factor is at
 * least 16 bytes longer than the modulus, so that its remainder has no bias. `inverse` unblinds the answer.
 */
export function blind(
  { modulus, bits, publicKey }: Omit<SigningKey, 'keyId'>,
  message: Uint8Array,
  { salt, factor }: { readonly salt: Uint8Array; readonly factor: Uint8Array },
): { readonly blinded: Buffer; readonly inverse: bigint } {
  const encoded = toNumber(encodePss(message, salt, bits - 1));
  const r = toNumber(factor) % modulus;
  const inverse = invert(r, modulus);
  const raised = publicEncrypt({ key: publicKey, padding: constants.RSA_NO_PADDING }, toBytes(r, bits / 8));
  return { blinded: toBytes((encoded * toNumber(raised)) % modulus, bits / 8), inverse };
}

/** Unblinds a signature. Undefined if the issuer did not sign what it was asked to. */
export function unblind(
  { modulus, bits, publicKey }: Omit<SigningKey, 'keyId'>,
  message: Uint8Array,
  { inverse, signature }: { readonly inverse: bigint; readonly signature: Uint8Array },
): Buffer | undefined {
  const unblinded = toBytes((toNumber(signature) * inverse) % modulus, bits / 8);
  const terms = { key: publicKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 48 };
  return verify('sha384', message, terms, unblinded) ? unblinded : undefined;
}

/** The message of a credit. */
export const creditMessage = ({ keyId }: SigningKey, challenge: Uint8Array, nonce: Uint8Array): Uint8Array =>
  creditInput(nonce, createHash('sha256').update(challenge).digest(), Buffer.from(keyId, 'hex'));

const sha384 = (...parts: readonly Uint8Array[]): Buffer => {
  const digest = createHash('sha384');
  for (const part of parts) digest.update(part);
  return digest.digest();
};

/** EMSA-PSS-ENCODE (RFC 8017, section 9.1.1) with SHA-384, also in its mask. */
function encodePss(message: Uint8Array, salt: Uint8Array, bits: number): Buffer {
  const length = Math.ceil(bits / 8);
  const digest = sha384(Buffer.alloc(8), sha384(message), salt);
  const block = Buffer.alloc(length - digest.length - 1);
  block.set(salt, block.length - salt.length);
  block[block.length - salt.length - 1] = 1;
  for (let at = 0, counter = 0; at < block.length; counter += 1) {
    for (const byte of sha384(digest, Buffer.from([0, 0, 0, counter])))
      if (at < block.length) block[at] = (block[at++] ?? 0) ^ byte;
  }
  block[0] = (block[0] ?? 0) & (0xff >> (8 * length - bits));
  return Buffer.concat([block, digest, Buffer.from([0xbc])]);
}

const toNumber = (bytes: Uint8Array): bigint => BigInt(`0x${Buffer.from(bytes).toString('hex') || '0'}`);
const toBytes = (number: bigint, length: number): Buffer =>
  Buffer.from(number.toString(16).padStart(length * 2, '0'), 'hex');

/** The inverse modulo a number, by Euclid. Throws if there is none, which would factor the modulus. */
function invert(number: bigint, modulus: bigint): bigint {
  let [a, b, x, y] = [number, modulus, 1n, 0n];
  while (b !== 0n) {
    const quotient = a / b;
    [a, b, x, y] = [b, a - quotient * b, y, x - quotient * y];
  }
  if (a !== 1n) throw new Error('the blinding factor has no inverse');
  return ((x % modulus) + modulus) % modulus;
}

const saltBytes = 48;
const factorBytes = 272;
const secretBytes = nonceBytes + saltBytes + factorBytes;
/** The random bytes of a batch: of each credit a nonce, a salt and a blinding factor. */
export const batchBytes = secretBytes * creditsPerBatch;

/** Blinds the numbers of a batch from its stored secrets, each time alike. */
export function blindBatch(key: SigningKey, challenge: Uint8Array, secrets: Uint8Array) {
  return Array.from({ length: creditsPerBatch }, (_, at) => {
    const own = secrets.subarray(at * secretBytes, (at + 1) * secretBytes);
    const nonce = own.subarray(0, nonceBytes);
    const salt = own.subarray(nonceBytes, nonceBytes + saltBytes);
    const message = creditMessage(key, challenge, nonce);
    return { nonce, message, ...blind(key, message, { salt, factor: own.subarray(nonceBytes + saltBytes) }) };
  });
}

import { ed25519 as ed25519Curve } from '@noble/curves/ed25519.js';
import { secp256k1 as secp256k1Curve } from '@noble/curves/secp256k1.js';
import { type Bytes, concat, copy, type RandomBytes } from '../bytes.ts';

/** A secret key in use, with its public key. */
export interface KeyPair {
  readonly publicKey: Bytes;
  /** Returns the shared secret, 32 bytes. Rejects if the public key is not a point of the curve, or one of low order. */
  agree(publicKey: Bytes): Promise<Bytes>;
  /** Erases the key material that this process can erase. */
  close(): void;
}

/** Diffie-Hellman on one curve. */
export interface KeyAgreement {
  /** Length in bytes of the public key that travels with a ciphertext. */
  readonly publicKeyBytes: number;
  /** Takes over a secret key and erases the caller's copy. */
  load(secretKey: Bytes): Promise<KeyPair>;
  /** Creates a pair whose public key travels with a ciphertext. */
  makeKeyPair(random: RandomBytes): Promise<KeyPair>;
  /** Creates a pair whose public key is published beforehand. Its form may differ from the one beside a ciphertext. */
  makePublishedKeyPair(random: RandomBytes): Promise<KeyPair>;
  /** Converts a published key to the form beside a ciphertext. Throws if it is not a point of the curve. */
  fromPublished(publicKey: Bytes): Bytes;
}

/** Whether WebCrypto does not know the algorithm. Old browsers lack X25519. */
export const isUnsupported = (error: unknown): boolean =>
  error instanceof DOMException && error.name === 'NotSupportedError';

/** PKCS #8 around an X25519 secret key (RFC 8410). */
const pkcs8Prefix = Uint8Array.of(0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x6e, 4, 0x22, 4, 0x20);

/** Imports a secret key into the platform, which does not export it again. Erases the caller's copy. */
export async function importX25519(secretKey: Bytes): Promise<CryptoKeyPair> {
  const encoded = concat(pkcs8Prefix, secretKey);
  secretKey.fill(0);
  const take = (extractable: boolean): Promise<CryptoKey> =>
    crypto.subtle.importKey('pkcs8', encoded, 'X25519', extractable, ['deriveBits']);
  const [privateKey, exportable] = await Promise.all([take(false), take(true)]);
  encoded.fill(0);
  // WebCrypto derives the public key on import, but exports it only together with the secret key.
  const { x } = await crypto.subtle.exportKey('jwk', exportable);
  const publicJwk = { kty: 'OKP', crv: 'X25519', x: x ?? '' };
  return { privateKey, publicKey: await crypto.subtle.importKey('jwk', publicJwk, 'X25519', true, []) };
}

async function loadX25519(secretKey: Bytes): Promise<KeyPair> {
  const { privateKey, publicKey } = await importX25519(secretKey);
  return {
    publicKey: new Uint8Array(await crypto.subtle.exportKey('raw', publicKey)),
    async agree(other) {
      const point = await crypto.subtle.importKey('raw', other, 'X25519', false, []);
      return new Uint8Array(await crypto.subtle.deriveBits({ name: 'X25519', public: point }, privateKey, 256));
    },
    close: () => {},
  };
}

const makeX25519Pair = (random: RandomBytes): Promise<KeyPair> => loadX25519(random(32));

/** X25519 (RFC 7748) by the platform, which rejects the all-zero secret of low-order keys. */
export const x25519: KeyAgreement = {
  publicKeyBytes: 32,
  load: loadX25519,
  makeKeyPair: makeX25519Pair,
  makePublishedKeyPair: makeX25519Pair,
  fromPublished: (publicKey) => publicKey,
};

/** X25519 between owners of Ed25519 keys. The keys are mapped to the Montgomery curve: u = (1 + y) / (1 − y). */
export const ed25519: KeyAgreement = {
  ...x25519,
  async makePublishedKeyPair(random) {
    const seed = random(32);
    const publicKey = copy(ed25519Curve.getPublicKey(seed));
    const pair = await x25519.load(copy(ed25519Curve.utils.toMontgomerySecret(seed)));
    seed.fill(0);
    return { ...pair, publicKey };
  },
  fromPublished: (publicKey) => copy(ed25519Curve.utils.toMontgomery(publicKey)),
};

async function loadSecp256k1(given: Bytes): Promise<KeyPair> {
  const secretKey = copy(given);
  given.fill(0);
  return {
    publicKey: copy(secp256k1Curve.getPublicKey(secretKey, false)),
    async agree(publicKey) {
      const point = secp256k1Curve.getSharedSecret(secretKey, publicKey, true);
      const secret = copy(point.subarray(1));
      point.fill(0);
      return secret;
    },
    close: () => {
      secretKey.fill(0);
    },
  };
}

function makeSecp256k1Pair(random: RandomBytes): Promise<KeyPair> {
  let secretKey: Bytes;
  // Only about one candidate in 2^128 is not below the order of the curve.
  do secretKey = random(32);
  while (!secp256k1Curve.utils.isValidSecretKey(secretKey));
  return loadSecp256k1(secretKey);
}

/** ECDH on secp256k1, which WebCrypto lacks. Points are uncompressed, 65 bytes; the secret is the point's x-coordinate. */
export const secp256k1: KeyAgreement = {
  publicKeyBytes: 65,
  load: loadSecp256k1,
  makeKeyPair: makeSecp256k1Pair,
  makePublishedKeyPair: makeSecp256k1Pair,
  fromPublished: (publicKey) => publicKey,
};

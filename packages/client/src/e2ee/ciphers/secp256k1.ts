import { secp256k1 as curve } from '@noble/curves/secp256k1.js';
import { type Bytes, copy, type RandomBytes } from '../bytes.ts';
import type { KeyAgreement, KeyPair } from './key-agreement.ts';

async function load(given: Bytes): Promise<KeyPair> {
  const secretKey = copy(given);
  given.fill(0);
  return {
    publicKey: copy(curve.getPublicKey(secretKey, false)),
    async agree(publicKey) {
      const point = curve.getSharedSecret(secretKey, publicKey, true);
      const secret = copy(point.subarray(1));
      point.fill(0);
      return secret;
    },
    close: () => {
      secretKey.fill(0);
    },
  };
}

function makeKeyPair(random: RandomBytes): Promise<KeyPair> {
  let secretKey: Bytes;
  // All but about one in 2^128 candidates are below the order of the curve.
  do secretKey = random(32);
  while (!curve.utils.isValidSecretKey(secretKey));
  return load(secretKey);
}

/** ECDH on secp256k1, which WebCrypto lacks: points uncompressed, 65 bytes; the secret is the point's x-coordinate. */
export const secp256k1: KeyAgreement = {
  publicKeyBytes: 65,
  load,
  makeKeyPair,
  makePublishedKeyPair: makeKeyPair,
  fromPublished: (publicKey) => publicKey,
};

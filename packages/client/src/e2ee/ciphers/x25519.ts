import { type Bytes, concat, type RandomBytes } from '../bytes.ts';
import type { KeyAgreement, KeyPair } from './key-agreement.ts';

/** PKCS #8 around an X25519 secret key (RFC 8410). */
const pkcs8Prefix = Uint8Array.of(0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x6e, 4, 0x22, 4, 0x20);

/** Gives a secret key to the platform, which does not give it out again. The caller's copy is erased. */
export async function importX25519(secretKey: Bytes): Promise<CryptoKeyPair> {
  const encoded = concat(pkcs8Prefix, secretKey);
  secretKey.fill(0);
  const take = (extractable: boolean): Promise<CryptoKey> =>
    crypto.subtle.importKey('pkcs8', encoded, 'X25519', extractable, ['deriveBits']);
  const [privateKey, exportable] = await Promise.all([take(false), take(true)]);
  encoded.fill(0);
  // WebCrypto derives the public key on import, and gives it out only together with the secret one.
  const { x } = await crypto.subtle.exportKey('jwk', exportable);
  const publicJwk = { kty: 'OKP', crv: 'X25519', x: x ?? '' };
  return { privateKey, publicKey: await crypto.subtle.importKey('jwk', publicJwk, 'X25519', true, []) };
}

async function load(secretKey: Bytes): Promise<KeyPair> {
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

const makeKeyPair = (random: RandomBytes): Promise<KeyPair> => load(random(32));

/** X25519 (RFC 7748) by the platform, which refuses the all-zero secret that keys of low order lead to. */
export const x25519: KeyAgreement = {
  publicKeyBytes: 32,
  load,
  makeKeyPair,
  makePublishedKeyPair: makeKeyPair,
  fromPublished: (publicKey) => publicKey,
};

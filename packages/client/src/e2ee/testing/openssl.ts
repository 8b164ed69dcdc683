import {
  createCipheriv,
  createDecipheriv,
  createECDH,
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { hchacha } from '@noble/ciphers/chacha.js';

/** Key agreement as an enclave does it. `agree` returns 32 bytes. */
export interface Curve {
  readonly publicKeyBytes: number;
  makeKeyPair(): { readonly secretKey: Buffer; readonly publicKey: Buffer };
  agree(secretKey: Uint8Array, publicKey: Uint8Array): Buffer;
}

export const secp256k1: Curve = {
  publicKeyBytes: 65,
  makeKeyPair() {
    const pair = createECDH('secp256k1');
    return { publicKey: pair.generateKeys(), secretKey: pair.getPrivateKey() };
  },
  agree(secretKey, publicKey) {
    const pair = createECDH('secp256k1');
    pair.setPrivateKey(secretKey);
    return pair.computeSecret(publicKey);
  },
};

const pkcs8 = (raw: Uint8Array): KeyObject =>
  createPrivateKey({
    key: Buffer.concat([Buffer.from('302e020100300506032b656e04220420', 'hex'), raw]),
    format: 'der',
    type: 'pkcs8',
  });
const spki = (raw: Uint8Array): KeyObject =>
  createPublicKey({
    key: Buffer.concat([Buffer.from('302a300506032b656e032100', 'hex'), raw]),
    format: 'der',
    type: 'spki',
  });

export const x25519: Curve = {
  publicKeyBytes: 32,
  makeKeyPair() {
    const secretKey = randomBytes(32);
    const publicKey = createPublicKey(pkcs8(secretKey)).export({ format: 'der', type: 'spki' }).subarray(-32);
    return { secretKey, publicKey };
  },
  agree: (secretKey, publicKey) => diffieHellman({ privateKey: pkcs8(secretKey), publicKey: spki(publicKey) }),
};

const p = 2n ** 255n - 19n;

/** u = (1 + y) / (1 − y) of an Ed25519 public key (RFC 7748 section 4.1). */
export function montgomeryOf(ed25519PublicKey: Uint8Array): Buffer {
  const y = BigInt(`0x${Buffer.from(ed25519PublicKey).reverse().toString('hex')}`) & (2n ** 255n - 1n);
  const u = ((1n + y) * power(p + 1n - y, p - 2n)) % p;
  return Buffer.from(u.toString(16).padStart(64, '0'), 'hex').reverse();
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  let factor = base % p;
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * factor) % p;
    factor = (factor * factor) % p;
  }
  return result;
}

/** The X25519 secret of an Ed25519 seed: the first half of its SHA-512. */
export const montgomerySecretOf = (seed: Uint8Array): Buffer =>
  createHash('sha512').update(seed).digest().subarray(0, 32);

export const hkdf = (secret: Uint8Array, salt: Uint8Array, info: string, length = 32): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, salt, info, length));

export const hmac = (key: Uint8Array, ...parts: readonly Uint8Array[]): Buffer =>
  createHmac('sha256', key).update(Buffer.concat(parts)).digest();

export interface Cipher {
  readonly nonceBytes: number;
  seal(key: Uint8Array, nonce: Uint8Array, plaintext: Uint8Array, aad?: string): Buffer;
  /** Throws if the tag does not match. */
  open(key: Uint8Array, nonce: Uint8Array, sealed: Uint8Array, aad?: string): Buffer;
}

const byOpenSsl = (name: 'aes-256-gcm' | 'chacha20-poly1305'): Cipher => ({
  nonceBytes: 12,
  seal(key, nonce, plaintext, aad) {
    const cipher = createCipheriv(name as 'aes-256-gcm', key, nonce, { authTagLength: 16 });
    if (aad !== undefined) cipher.setAAD(Buffer.from(aad));
    return Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
  },
  open(key, nonce, sealed, aad) {
    const decipher = createDecipheriv(name as 'aes-256-gcm', key, nonce, { authTagLength: 16 });
    if (aad !== undefined) decipher.setAAD(Buffer.from(aad));
    decipher.setAuthTag(sealed.subarray(-16));
    return Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]);
  },
});

export const aes256Gcm = byOpenSsl('aes-256-gcm');
export const chacha20Poly1305 = byOpenSsl('chacha20-poly1305');

/** XChaCha20-Poly1305 by its definition: ChaCha20-Poly1305 with the HChaCha20 subkey of the nonce's first 16 bytes. */
export const xchacha20Poly1305: Cipher = {
  nonceBytes: 24,
  seal: (key, nonce, plaintext, aad) =>
    chacha20Poly1305.seal(subkeyOf(key, nonce), shortNonceOf(nonce), plaintext, aad),
  open: (key, nonce, sealed, aad) => chacha20Poly1305.open(subkeyOf(key, nonce), shortNonceOf(nonce), sealed, aad),
};

const words = (bytes: Uint8Array): Uint32Array => {
  const copy = new Uint8Array(bytes);
  return new Uint32Array(copy.buffer);
};

function subkeyOf(key: Uint8Array, nonce: Uint8Array): Uint8Array {
  const subkey = new Uint32Array(8);
  hchacha(words(Buffer.from('expand 32-byte k')), words(key), words(nonce.subarray(0, 16)), subkey);
  return new Uint8Array(subkey.buffer);
}

const shortNonceOf = (nonce: Uint8Array): Buffer => Buffer.concat([Buffer.alloc(4), nonce.subarray(16)]);

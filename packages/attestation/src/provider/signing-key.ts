import { keccak_256 } from '@noble/hashes/sha3.js';
import { type Bytes, concatBytes, fromHex, sameBytes } from '../bytes.ts';
import { Refusal } from '../refusal.ts';

/** A point of secp256k1 with its prefix 04, from 64 or 65 bytes of hex. */
export function readPoint(hex: string): Bytes {
  const bytes = fromHex(hex, 'the signing key');
  const point = bytes.length === 64 ? concatBytes(Uint8Array.of(4), bytes) : bytes;
  if (point.length !== 65 || point[0] !== 4) throw new Refusal('the signing key is no uncompressed point');
  return point;
}

/** The Ethereum address of a key: the last 20 bytes of the Keccak-256 of its coordinates. */
export function addressOf(point: Bytes): Bytes {
  return Uint8Array.from(keccak_256(point.subarray(1)).subarray(12));
}

export interface SigningKey {
  readonly algorithm: 'ed25519' | 'secp256k1';
  /** The form in which report data names it. */
  readonly address: Bytes;
  /** Undefined if only the address of a secp256k1 key was shown. */
  readonly publicKey: Bytes | undefined;
}

/** Reads a signing key as NEAR AI and dstack-vllm-proxy show it. Key and address must belong together. */
export function readSigningKey(shown: {
  readonly signing_algo: 'ecdsa' | 'ed25519';
  readonly signing_address: string;
  readonly signing_public_key?: string | undefined;
}): SigningKey {
  const isEdwards = shown.signing_algo === 'ed25519';
  const address = fromHex(shown.signing_address, 'the signing address', isEdwards ? 32 : 20);
  const text = shown.signing_public_key;
  if (isEdwards) {
    if (text !== undefined && !sameBytes(fromHex(text, 'the signing key', 32), address)) {
      throw new Refusal('the signing key is not the one that the address names');
    }
    return { algorithm: 'ed25519', address, publicKey: address };
  }
  const publicKey = text === undefined ? undefined : readPoint(text);
  if (publicKey !== undefined && !sameBytes(addressOf(publicKey), address)) {
    throw new Refusal('the signing address is not that of the signing key');
  }
  return { algorithm: 'secp256k1', address, publicKey };
}

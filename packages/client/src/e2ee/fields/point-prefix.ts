import type { Bytes } from '../bytes.ts';

/** A public key as the attestation reports of NEAR and dstack-vllm-proxy name it: secp256k1 points without their `04`. */
export const withoutPointPrefix = (publicKey: Bytes): Bytes =>
  publicKey.length === 65 ? publicKey.slice(1) : publicKey;

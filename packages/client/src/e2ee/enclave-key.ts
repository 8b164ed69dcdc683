import { ClientError } from '../errors.ts';
import { type Bytes, concat, fromBase64, fromHex } from './bytes.ts';

interface KeyOf<Family extends string, Algorithm extends string> {
  readonly family: Family;
  readonly algorithm: Algorithm;
  /** In the form that `readPublicKey` gives. */
  readonly publicKey: Bytes;
  /** The enclave's own name for the model: what goes upstream, and into what is authenticated. */
  readonly model: string;
}

export type NearKey = KeyOf<'near', 'ed25519' | 'secp256k1'>;
export type VeniceKey = KeyOf<'venice', 'secp256k1'>;
export type TinfoilKey = KeyOf<'tinfoil', 'x25519'>;
/** `aci`: E2EE v2 of private-ai-gateway; `vllm-proxy`: version 2 of dstack-vllm-proxy. */
export type PhalaKey =
  | (KeyOf<'phala', 'x25519' | 'secp256k1'> & { readonly protocol: 'aci' })
  | (KeyOf<'phala', 'ed25519' | 'secp256k1'> & { readonly protocol: 'vllm-proxy' });
/** One instance of a chute with one of its single-use nonces: good for one request, until `expiresAt` (Unix ms). */
export interface ChutesKey extends KeyOf<'chutes', 'ml-kem-768'> {
  readonly chuteId: string;
  readonly instanceId: string;
  readonly nonce: string;
  readonly expiresAt: number;
}

/** A provider's encryption key and what belongs to it. Which scheme it is for follows from the family, never from a header. */
export type EnclaveKey = NearKey | PhalaKey | VeniceKey | TinfoilKey | ChutesKey;

declare const vouched: unique symbol;

/** A key that a verification of its enclave has vouched for: the only kind that content is encrypted to. */
export type AttestedKey = EnclaveKey & { readonly [vouched]: true };

const vouchedKeys = new WeakSet<object>();

/**
 * Marks a key as bound to verified evidence, on a frozen copy. For the verifier alone: whoever calls it states that the
 * key was found in the report data of evidence that met the policy.
 */
export function vouchForKey(key: EnclaveKey): AttestedKey {
  const attested = Object.freeze({ ...key, publicKey: new Uint8Array(key.publicKey) }) as AttestedKey;
  vouchedKeys.add(attested);
  return attested;
}

/** Throws `attestation_untrusted` for anything that did not come from `vouchForKey`, a copy of such a key included. */
export function assertVouched(key: AttestedKey): void {
  if (!vouchedKeys.has(key)) throw new ClientError('attestation_untrusted');
}

const keyBytes = { ed25519: 32, x25519: 32, secp256k1: 65, 'ml-kem-768': 1184 } as const;

/**
 * Reads a public key as providers write them: hexadecimal, without `0x`; ML-KEM in base64. Of secp256k1 both spellings
 * are taken, 64 bytes and 65 with the prefix `04`, and the result is the latter, so that keys compare by bytes.
 * Throws `e2ee_key_invalid`. Whether the bytes are a point of the curve shows when they are used.
 */
export function readPublicKey(algorithm: EnclaveKey['algorithm'], text: string): Bytes {
  const bytes = algorithm === 'ml-kem-768' ? fromBase64(text) : fromHex(text);
  const whole = algorithm === 'secp256k1' && bytes?.length === 64 ? concat(Uint8Array.of(4), bytes) : bytes;
  if (whole?.length !== keyBytes[algorithm]) throw new ClientError('e2ee_key_invalid');
  if (algorithm === 'secp256k1' && whole[0] !== 4) throw new ClientError('e2ee_key_invalid');
  return whole;
}

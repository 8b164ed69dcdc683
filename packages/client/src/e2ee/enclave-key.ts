import type { ProviderKey } from '@sotto/attestation';
import { ClientError } from '../errors.ts';
import { type Bytes, concat, fromBase64, fromHex } from './bytes.ts';

/** A provider's encryption key and its parameters. The family decides the scheme; a header never does. */
export type EnclaveKey = ProviderKey;

/** The key of one family. */
export type KeyOf<Family extends EnclaveKey['family']> = Extract<EnclaveKey, { readonly family: Family }>;

declare const vouched: unique symbol;

/** A key that a verification of its enclave has vouched for. The client encrypts content only to such keys. */
export type AttestedKey = EnclaveKey & { readonly [vouched]: true };

const vouchedKeys = new WeakSet<object>();

/**
 * Marks a key as bound to verified evidence, on a frozen copy. Only the verifier may call it: the call states that the
 * report data of evidence that met the policy holds the key.
 */
export function vouchForKey(key: EnclaveKey): AttestedKey {
  const attested = Object.freeze({ ...key, publicKey: new Uint8Array(key.publicKey) }) as AttestedKey;
  vouchedKeys.add(attested);
  return attested;
}

/** Throws `attestation_untrusted` for a key that is not from `vouchForKey`. A copy of such a key does not pass either. */
export function assertVouched(key: AttestedKey): void {
  if (!vouchedKeys.has(key)) throw new ClientError('attestation_untrusted');
}

const keyBytes = { ed25519: 32, x25519: 32, secp256k1: 65, 'ml-kem-768': 1184 } as const;

/**
 * Reads a public key as providers write them: hexadecimal without `0x`, or base64 for ML-KEM. For secp256k1 it accepts
 * 64 bytes, or 65 with the prefix `04`. It returns the latter, so that keys compare by bytes. Throws
 * `e2ee_key_invalid`. It does not check that the bytes are a point of the curve; the first use of the key does.
 */
export function readPublicKey(algorithm: EnclaveKey['algorithm'], text: string): Bytes {
  const bytes = algorithm === 'ml-kem-768' ? fromBase64(text) : fromHex(text);
  const whole = algorithm === 'secp256k1' && bytes?.length === 64 ? concat(Uint8Array.of(4), bytes) : bytes;
  if (whole?.length !== keyBytes[algorithm]) throw new ClientError('e2ee_key_invalid');
  if (algorithm === 'secp256k1' && whole[0] !== 4) throw new ClientError('e2ee_key_invalid');
  return whole;
}

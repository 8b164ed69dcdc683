import { sha256 } from '@noble/hashes/sha2.js';
import type { KeySet, ProviderKey } from '@sotto/attestation';
import type { Bytes } from '../e2ee/bytes.ts';
import { toHex } from '../e2ee/bytes.ts';

/** One encrypted exchange with an enclave, by what a receipt of it must name. */
export interface EnclaveExchange {
  readonly model: string;
  readonly provider: string;
  /** SHA-256 of the ciphertext that was sent, and of the one that came back: 64 lower-case hex digits. */
  readonly requestSha256: string;
  readonly responseSha256: string;
  /** The attested key that the request was encrypted to. Where a family signs receipts, it signs them with this key. */
  readonly key: ProviderKey;
  /** The attested key set of the broker that relayed it. Its receipts are signed with a key of that set. */
  readonly keySet: KeySet | undefined;
}

/** Hashes a reply as it arrives. `onEnd` gets the SHA-256 in hex when all of it has. */
export function hashing(onEnd: (sha256: string) => void): TransformStream<Uint8Array, Uint8Array> {
  const hash = sha256.create();
  return new TransformStream({
    transform(bytes, out) {
      hash.update(bytes);
      out.enqueue(bytes);
    },
    flush: () => onEnd(toHex(hash.digest())),
  });
}

export const sha256Of = (bytes: Bytes): string => toHex(sha256(bytes));

import type { Bytes } from '../bytes.ts';

/** One key of an authenticated cipher. The tag follows the ciphertext. */
export interface AeadKey {
  seal(nonce: Bytes, plaintext: Bytes, aad?: Bytes): Promise<Uint8Array>;
  /** Rejects where the tag does not fit. */
  open(nonce: Bytes, ciphertext: Bytes, aad?: Bytes): Promise<Uint8Array>;
  /** Erases what can be erased. */
  close(): void;
}

export interface Aead {
  readonly nonceBytes: number;
  /** Takes the key, 32 bytes, over: the caller's copy is erased. */
  use(key: Bytes): Promise<AeadKey>;
}

export const tagBytes = 16;

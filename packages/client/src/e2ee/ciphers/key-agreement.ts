import type { Bytes, RandomBytes } from '../bytes.ts';

/** A secret key in use, with its public key. */
export interface KeyPair {
  readonly publicKey: Bytes;
  /** The shared secret, 32 bytes. Rejects for a public key that is no point of the curve, or one of low order. */
  agree(publicKey: Bytes): Promise<Bytes>;
  /** Erases what can be erased. */
  close(): void;
}

/** Diffie-Hellman on one curve. */
export interface KeyAgreement {
  /** How long a public key is that goes on the wire with a ciphertext. */
  readonly publicKeyBytes: number;
  /** Takes a secret key over: the caller's copy is erased. */
  load(secretKey: Bytes): Promise<KeyPair>;
  /** A pair whose public key goes on the wire. */
  makeKeyPair(random: RandomBytes): Promise<KeyPair>;
  /** A pair whose public key is told beforehand; it may have another form than on the wire. */
  makePublishedKeyPair(random: RandomBytes): Promise<KeyPair>;
  /** The wire form of a published key. Throws for what is no point of the curve. */
  fromPublished(publicKey: Bytes): Bytes;
}

import type { Bytes } from '../bytes/bytes.ts';

interface KeyOf<Family extends string, Algorithm extends string> {
  readonly family: Family;
  readonly algorithm: Algorithm;
  /** Raw; points of secp256k1 are 65 bytes, with their prefix 04. */
  readonly publicKey: Bytes;
  /** The enclave's own name for the model. */
  readonly model: string;
}

/**
 * The encryption key that a provider's evidence binds. Good for encryption only as far as the verdict is: `publicKey` was
 * compared with the report data of the quote, and nothing but the checks says what that quote is worth.
 */
export type ProviderKey =
  | KeyOf<'near', 'ed25519' | 'secp256k1'>
  | KeyOf<'venice', 'secp256k1'>
  | KeyOf<'tinfoil', 'x25519'>
  | (KeyOf<'phala', 'x25519' | 'secp256k1'> & { readonly protocol: 'aci' })
  | (KeyOf<'phala', 'ed25519' | 'secp256k1'> & { readonly protocol: 'vllm-proxy' })
  | (KeyOf<'chutes', 'ml-kem-768'> & {
      readonly chuteId: string;
      readonly instanceId: string;
      /** Good for one request. */
      readonly nonce: string;
      /** Unix ms. */
      readonly expiresAt: number;
    });

import type { Bytes } from '../bytes.ts';
import type { Moment } from '../moment.ts';
import type { CheckList } from '../verdict.ts';

interface KeyOf<Family extends string, Algorithm extends string> {
  readonly family: Family;
  readonly algorithm: Algorithm;
  /** Raw bytes. Points of secp256k1 have 65 bytes, including the prefix 04. */
  readonly publicKey: Bytes;
  /** The enclave's own name for the model. */
  readonly model: string;
}

/**
 * The encryption key that a provider's evidence binds. Encrypt to it only if the verdict suffices. `publicKey` equals
 * the key in the quote's report data, but only the checks tell whether that quote is genuine.
 */
export type ProviderKey =
  | KeyOf<'near', 'ed25519' | 'secp256k1'>
  | KeyOf<'venice', 'secp256k1'>
  | KeyOf<'tinfoil', 'x25519'>
  /** `aci`: E2EE v2 of private-ai-gateway; `vllm-proxy`: version 2 of dstack-vllm-proxy. */
  | (KeyOf<'phala', 'x25519' | 'secp256k1'> & { readonly protocol: 'aci' })
  | (KeyOf<'phala', 'ed25519' | 'secp256k1'> & { readonly protocol: 'vllm-proxy' })
  | (KeyOf<'chutes', 'ml-kem-768'> & {
      readonly chuteId: string;
      /** One instance of the chute, with one of its nonces. */
      readonly instanceId: string;
      /** Valid for one request. */
      readonly nonce: string;
      /** Unix ms. */
      readonly expiresAt: number;
    });

/** The checks of a provider's evidence that the client makes itself, whatever the hardware. */
export const providerChecks = [
  'provider.format',
  'provider.challenge',
  'provider.pins',
  'provider.route',
  'provider.freshness',
  'provider.key_binding',
  'provider.tls_binding',
  'provider.validity',
  'provider.measurement',
  'provider.platform',
] as const;
export type ProviderCheckName = (typeof providerChecks)[number];

/** The inputs of a family's own check. */
export interface FamilyTask {
  readonly checks: CheckList<ProviderCheckName>;
  /** The client's own: 64 lower-case hex digits. */
  readonly nonce: string;
  readonly upstreamModel: string;
  /** Report data of the quote or report: 64 bytes. */
  readonly reportData: Bytes;
  readonly moment: Moment;
}

/** The values that the report data of one family's evidence binds. */
export interface FamilyFindings {
  readonly key: ProviderKey | undefined;
  readonly tlsSpkiSha256?: readonly string[] | undefined;
  /** The nonce that evidence of GPUs must contain. */
  readonly gpuNonce?: string | undefined;
  /** When the keys expire, according to the provider itself. */
  readonly expiresAtMs?: number | undefined;
}

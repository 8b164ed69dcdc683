import type { Bytes } from '../bytes/bytes.ts';
import type { CheckList } from '../check-list.ts';
import type { Moment } from '../moment.ts';
import type { ProviderKey } from './provider-key.ts';

/** What is ours to check of a provider's evidence, whatever its hardware vouches for. */
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
] as const;
export type ProviderCheckName = (typeof providerChecks)[number];

/** What a family's own check starts from. */
export interface FamilyTask {
  readonly checks: CheckList<ProviderCheckName>;
  /** Ours: 64 lower-case hex digits. */
  readonly nonce: string;
  readonly upstreamModel: string;
  /** Of the quote or report: 64 bytes. */
  readonly reportData: Bytes;
  readonly moment: Moment;
}

/** What the report data of one family's evidence binds. */
export interface FamilyFindings {
  readonly key: ProviderKey | undefined;
  readonly tlsSpkiSha256: readonly string[];
  /** The nonce that evidence of GPUs must be for. */
  readonly gpuNonce: string | undefined;
  /** When the provider itself says that its keys end. */
  readonly expiresAtMs: number | undefined;
}

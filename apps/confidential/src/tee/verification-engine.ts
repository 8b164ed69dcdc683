import type { verifyProvider } from '@sotto/attestation';
import type { ProviderVendors } from '@sotto/attestation/producers';

/** What enclaves are verified with: the vendors' roots are in the verifier, and in production nothing replaces it. */
export interface VerificationEngine {
  readonly verifyProvider: typeof verifyProvider;
  /** What the vendors sign about the machines of one provider. */
  readonly openVendors: () => ProviderVendors;
  /** Certificates (PEM) that providers' may be under in place of the well-known ones. */
  readonly ca?: string | undefined;
}

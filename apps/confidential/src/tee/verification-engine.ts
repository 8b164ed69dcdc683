import type { verifyProvider } from '@sotto/attestation';
import type { VendorDocuments } from './vendor-documents.ts';

/** What enclaves are verified with: the vendors' roots are in the verifier, and in production nothing replaces it. */
export interface VerificationEngine {
  readonly verifyProvider: typeof verifyProvider;
  readonly vendors: VendorDocuments;
  /** Certificates (PEM) that providers' may be under in place of the well-known ones. */
  readonly ca?: string | undefined;
}

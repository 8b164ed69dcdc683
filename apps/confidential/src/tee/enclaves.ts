import type { verifyProvider } from '@sotto/attestation';
import type { ProviderVendors } from '@sotto/attestation/producers';
import type { Upstream } from '@sotto/providers';
import type { Route } from '@sotto/router';
import type { CallableProvider } from '../providers/provider-set.ts';

/** A verified enclave of a provider, and the connections that end in it and nowhere else. */
export interface Reached {
  readonly upstream: Upstream;
  /** The `sessionId` of the evidence's verification. */
  readonly sessionId: string;
}

/** Reaches `tee` routes, and only through an enclave that was verified before. */
export interface Enclaves {
  /** Returns the enclave that is verified now, if any. */
  current(route: Route, provider: CallableProvider): Reached | undefined;
  /** Verifies again, or waits for the running verification. Undefined if the enclave is not to be trusted. */
  open(route: Route, provider: CallableProvider): Promise<Reached | undefined>;
  /** How many enclaves are verified now. */
  readonly size: number;
  close(): Promise<void>;
}

/** Verifies enclaves. The vendors' roots are part of the verifier, and in production nothing replaces it. */
export interface VerificationEngine {
  readonly verifyProvider: typeof verifyProvider;
  /** Opens the source of the vendors' documents about the machines of one provider. */
  readonly openVendors: () => ProviderVendors;
  /** Authorities (PEM) for providers' certificates, in place of the well-known ones. */
  readonly ca?: string | undefined;
}

import type { TdxCollateral } from '@sotto/attestation';

/** Certificates of one SEV-SNP chip, and AMD's revocation list where it could be had. DER. */
export interface SnpEndorsement {
  readonly endorsementKey: Uint8Array;
  readonly intermediate: Uint8Array;
  readonly revocationList: Uint8Array | undefined;
}

/** What Intel and AMD sign about the machines of providers. Undefined where it cannot be had now. */
export interface VendorDocuments {
  collateralFor(quote: Uint8Array): Promise<TdxCollateral | undefined>;
  endorsementFor(report: Uint8Array): Promise<SnpEndorsement | undefined>;
}

/** Without them no machine is shown to be current: every enclave is refused. */
export const noVendorDocuments: VendorDocuments = {
  collateralFor: async () => undefined,
  endorsementFor: async () => undefined,
};

import type { Bytes } from '../bytes/bytes.ts';
import { parseSnpReport } from '../snp/report.ts';
import type { TdxCollateral } from '../tdx/collateral.ts';
import type { SnpEndorsement } from './amd-endorsement.ts';
import { VendorDocuments, type VendorOptions } from './vendor-documents.ts';

/** A provider has a fleet, and its machines come and go; whoever waits for them waits for evidence anyway. */
const fleet = { maxKeys: 256, patienceMs: 8_000 } as const;

/** What Intel and AMD sign about the machines of one provider, found by their quotes and reports. */
export interface ProviderVendors {
  /** Undefined where it cannot be had soon. Rejects for what is no quote. */
  collateralFor(quote: Uint8Array): Promise<TdxCollateral | undefined>;
  /** Rejects for what is no report, and where AMD gives no certificate of its chip. */
  endorsementFor(report: Uint8Array): Promise<SnpEndorsement & { readonly revocationList: Bytes | undefined }>;
}

/** One for each provider: what one shows, and nobody has verified yet, takes no room from another's. */
export function providerVendors(options: VendorOptions): ProviderVendors {
  const vendors = new VendorDocuments({ ...fleet, ...options });
  return {
    collateralFor: async (quote) => vendors.collateralFor(Uint8Array.from(quote)),
    endorsementFor: async (report) => vendors.endorsementFor(parseSnpReport(Uint8Array.from(report)), undefined),
  };
}

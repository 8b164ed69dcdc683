import type { Bytes } from '../bytes.ts';
import { parseSnpReport, type SnpReport } from '../snp/report.ts';
import type { TdxCollateral } from '../tdx/collateral.ts';
import {
  endorsementFromTable,
  listPathOf,
  loadEndorsement,
  loadRevocationList,
  type SnpEndorsement,
  vcekPathOf,
} from './amd-endorsement.ts';
import type { Fetch } from './bounded-fetch.ts';
import { collateralKeyOf, loadTdxCollateral } from './intel-collateral.ts';
import { KeptDocuments } from './kept-documents.ts';
import { EvidenceError } from './producer.ts';

export interface VendorOptions {
  readonly fetch: Fetch;
  readonly now: () => number;
  /** The base address of a mirror of Intel's service (PCCS). Undefined: Intel itself. */
  readonly mirror?: string | undefined;
  /** See `KeptDocumentsOptions`. Called with the kind of the document and its expiry (Unix ms). */
  readonly onExpiring: (document: string, until: number) => void;
  /** Options of `KeptDocuments`, for each kind of document. */
  readonly patienceMs?: number | undefined;
  readonly maxKeys?: number | undefined;
}

/**
 * The documents that Intel and AMD sign about this machine. The evidence includes them, so verifiers need not ask the
 * vendors.
 */
export class VendorDocuments {
  readonly #collateral: KeptDocuments<TdxCollateral>;
  readonly #endorsements: KeptDocuments<SnpEndorsement>;
  readonly #lists: KeptDocuments<Bytes>;

  constructor({ fetch, now, mirror, onExpiring, ...bounds }: VendorOptions) {
    this.#collateral = new KeptDocuments({
      load: (key) => loadTdxCollateral(key, { fetch, mirror }),
      now,
      ...bounds,
      onExpiring: (_key, until) => onExpiring('tdx_collateral', until),
    });
    this.#endorsements = new KeptDocuments({
      load: (key) => loadEndorsement(key, fetch),
      now,
      ...bounds,
      onExpiring: (_key, until) => onExpiring('snp_endorsement', until),
    });
    this.#lists = new KeptDocuments({
      load: (key) => loadRevocationList(key, fetch),
      now,
      ...bounds,
      onExpiring: (_key, until) => onExpiring('snp_revocation_list', until),
    });
  }

  /** Undefined if it is not available soon. Evidence without it is weaker but still valid. */
  collateralFor(quote: Bytes): Promise<TdxCollateral | undefined> {
    return this.#collateral.get(collateralKeyOf(quote));
  }

  /**
   * Takes the certificates from the host's table, or else from AMD. Rejects with `EvidenceError` if neither has them:
   * without them a report proves nothing.
   */
  async endorsementFor(
    report: SnpReport,
    table: Bytes | undefined,
  ): Promise<SnpEndorsement & { readonly revocationList: Bytes | undefined }> {
    const path = vcekPathOf(report);
    const [endorsement, revocationList] = await Promise.all([
      (table && endorsementFromTable(report, table)) ?? (path === undefined ? undefined : this.#endorsements.get(path)),
      this.#lists.get(listPathOf(report)),
    ]);
    if (endorsement === undefined) {
      throw new EvidenceError('endorsement_missing', "the chip's certificate cannot be had from the host or from AMD");
    }
    return { ...endorsement, revocationList };
  }

  async refresh(): Promise<void> {
    await Promise.all([this.#collateral.refresh(), this.#endorsements.refresh(), this.#lists.refresh()]);
  }
}

/**
 * A provider has many machines that come and go. A client that waits for these documents would wait for the evidence
 * anyway.
 */
const fleet = { maxKeys: 256, patienceMs: 8_000 } as const;

/** The documents that Intel and AMD sign about the machines of one provider, by quote or report. */
export interface ProviderVendors {
  /** Undefined if it is not available soon. Rejects input that is not a quote. */
  collateralFor(quote: Uint8Array): Promise<TdxCollateral | undefined>;
  /** Rejects input that is not a report, and a chip for which AMD returns no certificate. */
  endorsementFor(report: Uint8Array): Promise<SnpEndorsement & { readonly revocationList: Bytes | undefined }>;
}

/** Create one for each provider. So unverified evidence of one provider cannot fill the cache of another. */
export function providerVendors(options: VendorOptions): ProviderVendors {
  const vendors = new VendorDocuments({ ...fleet, ...options });
  return {
    collateralFor: async (quote) => vendors.collateralFor(Uint8Array.from(quote)),
    endorsementFor: async (report) => vendors.endorsementFor(parseSnpReport(Uint8Array.from(report)), undefined),
  };
}

import type { Bytes } from '../bytes/bytes.ts';
import type { SnpReport } from '../snp/report.ts';
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
  /** The base address of a mirror of Intel's service (PCCS); undefined: Intel itself. */
  readonly mirror?: string | undefined;
  /** Told of what ends within a week and could not be renewed: which document, and when it ends (Unix ms). */
  readonly onExpiring: (document: string, until: number) => void;
  /** As of `KeptDocuments`, for each kind of document. */
  readonly patienceMs?: number | undefined;
  readonly maxKeys?: number | undefined;
}

/** What Intel and AMD sign about this machine, so that nobody who verifies it has to ask them. */
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

  /** Undefined where it cannot be had soon: evidence without it is worth less, but is evidence. */
  collateralFor(quote: Bytes): Promise<TdxCollateral | undefined> {
    return this.#collateral.get(collateralKeyOf(quote));
  }

  /** From the host's table where it has them, else from AMD. Rejects with `EvidenceError`: without them a report proves nothing. */
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

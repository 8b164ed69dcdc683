import { type Bytes, sameBytes, toBase64 } from '../bytes.ts';
import type { GatewayEvidence } from '../gateway/evidence.ts';
import { parseSnpReport, type SnpReport } from '../snp/report.ts';
import { reportDataOf } from '../statement/statement.ts';
import { parseTdxQuote } from '../tdx/quote.ts';
import { EvidenceError, type EvidenceProducer } from './producer.ts';
import type { VendorDocuments } from './vendor-documents.ts';

/** The description of a machine that dstack adds to its quote. Texts are byte for byte. */
export interface DstackDescription {
  readonly eventLog?: string | undefined;
  readonly appCompose?: string | undefined;
  readonly machineConfig?: string | undefined;
}

/** The report of a machine about itself. */
export type MachineReport = DstackDescription &
  (
    | { readonly tee: 'tdx'; readonly quote: Bytes }
    /** Includes the host's certificate table if the host gave one. */
    | { readonly tee: 'sev_snp'; readonly report: Bytes; readonly certificates?: Bytes | undefined }
  );

/** A source of a machine's reports. */
export interface ReportSource {
  readonly kind: 'configfs' | 'dstack';
  /** Rejects with `EvidenceError`. `reportData` has 64 bytes. */
  report(reportData: Bytes): Promise<MachineReport>;
}

/** Produces evidence from a machine's reports, with the vendors' documents that verifiers need. */
export function hardwareProducer(source: ReportSource, vendors: VendorDocuments): EvidenceProducer {
  return {
    kind: source.kind,
    async produce(statement) {
      const reportData = reportDataOf(Uint8Array.from(statement));
      const made = await source.report(reportData);
      return made.tee === 'tdx' ? tdxEvidence(made, reportData, vendors) : snpEvidence(made, reportData, vendors);
    },
    refresh: () => vendors.refresh(),
  };
}

type Evidence = GatewayEvidence['evidence'];

async function tdxEvidence(
  { quote, eventLog, appCompose, machineConfig }: MachineReport & { tee: 'tdx' },
  reportData: Bytes,
  vendors: VendorDocuments,
): Promise<Evidence> {
  const { report } = read(() => parseTdxQuote(quote));
  requireReportData(report.reportData, reportData);
  const collateral = await vendors.collateralFor(quote);
  return {
    tee_type: 'tdx',
    quote: toBase64(quote),
    ...(collateral && { collateral }),
    ...(eventLog !== undefined && { event_log: eventLog }),
    ...(appCompose !== undefined && { app_compose: appCompose }),
    ...(machineConfig !== undefined && { machine_config: machineConfig }),
  };
}

async function snpEvidence(
  { report: bytes, certificates, appCompose, machineConfig }: MachineReport & { tee: 'sev_snp' },
  reportData: Bytes,
  vendors: VendorDocuments,
): Promise<Evidence> {
  const report: SnpReport = read(() => parseSnpReport(bytes));
  requireReportData(report.reportData, reportData);
  const { endorsementKey, intermediate, revocationList } = await vendors.endorsementFor(report, certificates);
  return {
    tee_type: 'sev_snp',
    report: toBase64(bytes),
    endorsement_key: toBase64(endorsementKey),
    intermediate: toBase64(intermediate),
    ...(revocationList && { revocation_list: toBase64(revocationList) }),
    ...(appCompose !== undefined && { app_compose: appCompose }),
    ...(machineConfig !== undefined && { machine_config: machineConfig }),
  };
}

function read<T>(parse: () => T): T {
  try {
    return parse();
  } catch {
    throw new EvidenceError('report_malformed', 'the machine reported what is no quote or report');
  }
}

/** A report with other data would be useless to the client and would hide the fault of this machine. */
function requireReportData(reported: Bytes, wanted: Bytes): void {
  if (!sameBytes(reported, wanted)) {
    throw new EvidenceError('report_data_differs', 'the machine reported for other data than it was given');
  }
}

import { type Bytes, evidenceBytes, toHex } from '../bytes.ts';
import { type DstackCheckName, verifyDstackTdx } from '../dstack/verify-dstack.ts';
import type { HardwareVerifiers } from '../gateway/check-hardware.ts';
import { snpEvidenceOf } from '../hardware-evidence.ts';
import type { VerificationTime } from '../moment.ts';
import { type SnpCheckName, snpCurrencyChecks, snpReportChecks } from '../snp/verify-snp.ts';
import { type TdxCheckName, tdxCollateralChecks, tdxQuoteChecks } from '../tdx/verify-tdx.ts';
import type { Check } from '../verdict.ts';
import type { MachineEvidence } from './provider-evidence.ts';
import { type Measured, measuredSnp, measuredTdx, type ProviderPins } from './provider-pins.ts';

export type MachineCheckName = TdxCheckName | SnpCheckName | DstackCheckName;

/** The report of the hardware, and how far it is proven. */
export interface Machine {
  readonly checks: readonly Check<MachineCheckName>[];
  /** The signed bytes as received. */
  readonly shown: Bytes;
  readonly reportData: Bytes | undefined;
  readonly measured: Measured | undefined;
  /** The processor (PPID) or chip (CHIP_ID) in hex. It is as good as the checks of `genuine`. */
  readonly platform: string | undefined;
  /** The checks that must pass for a genuine machine whose memory the host cannot read. */
  readonly genuine: readonly MachineCheckName[];
  /** The further checks that must pass for a machine that is not revoked or out of date. */
  readonly current: readonly MachineCheckName[];
  readonly untilMs: number | undefined;
}

/** The oldest Intel evaluation that is accepted if the pins name none: that of March 2026. */
const leastEvaluation = 18;
/** The oldest AMD versions that are accepted if the pins name none. Tinfoil requires these of its own machines. */
const leastTcb = { genoa: { bootloader: 7, snp: 14, microcode: 72 } } as const;

/** Verifies the machine in a provider's evidence: quote or report, collateral, and dstack's event log if present. */
export async function checkMachine(
  evidence: MachineEvidence,
  { hardware, time, pins }: { hardware: HardwareVerifiers; time: VerificationTime; pins: ProviderPins },
): Promise<Machine> {
  if (evidence.tee_type === 'sev_snp') {
    const snp = snpEvidenceOf(evidence);
    const { checks, report, untilMs } = await hardware.verifySnp(snp, time, {
      minimumTcb: pins.minimum_tcb ?? leastTcb,
    });
    const measured = report && measuredSnp(report);
    const own = { genuine: snpReportChecks, current: snpCurrencyChecks, untilMs };
    const platform = report && toHex(report.chipId);
    return { checks, shown: snp.report, reportData: report?.reportData, measured, platform, ...own };
  }
  const shown = evidenceBytes(evidence.quote);
  const tdx = await hardware.verifyTdx({ quote: shown, collateral: evidence.collateral }, time, {
    minimumEvaluationNumber: pins.minimum_evaluation_number ?? leastEvaluation,
    acceptedAdvisories: pins.accepted_advisories,
  });
  const report = tdx.quote?.report;
  const dstack =
    report && evidence.event_log !== undefined
      ? await verifyDstackTdx({ eventLog: evidence.event_log, appCompose: evidence.app_compose }, report)
      : undefined;
  return {
    checks: [...tdx.checks, ...(dstack?.checks ?? [])],
    shown,
    reportData: report?.reportData,
    measured: report && measuredTdx(report, dstack?.identity),
    platform: tdx.platform?.ppid,
    genuine: tdxQuoteChecks,
    current: tdxCollateralChecks,
    untilMs: tdx.untilMs,
  };
}

import type { Bytes } from '../bytes/bytes.ts';
import { fromBase64 } from '../bytes/encodings.ts';
import { type DstackCheckName, verifyDstackTdx } from '../dstack/verify-dstack.ts';
import type { HardwareVerifiers } from '../gateway/check-hardware.ts';
import type { VerificationTime } from '../moment.ts';
import { type SnpCheckName, snpCurrencyChecks, snpReportChecks } from '../snp/verify-snp.ts';
import { type TdxCheckName, tdxCollateralChecks, tdxQuoteChecks } from '../tdx/verify-tdx.ts';
import type { Check } from '../verdict.ts';
import type { MachineEvidence } from './provider-evidence.ts';
import { type Measured, measuredSnp, measuredTdx, type ProviderPins } from './provider-pins.ts';

export type MachineCheckName = TdxCheckName | SnpCheckName | DstackCheckName;

/** What the hardware says, and how far it is proven. */
export interface Machine {
  readonly checks: readonly Check<MachineCheckName>[];
  /** The bytes that were signed, as they came. */
  readonly shown: Bytes;
  readonly reportData: Bytes | undefined;
  readonly measured: Measured | undefined;
  /** What must pass for the machine to be a genuine one that its host cannot look into. */
  readonly genuine: readonly MachineCheckName[];
  /** What must pass besides for it not to be revoked or out of date. */
  readonly current: readonly MachineCheckName[];
  readonly untilMs: number | undefined;
}

/** Intel's evaluation that collateral must at least be of, where pins do not say: that of March 2026. */
const leastEvaluation = 18;
/** AMD's parts must at least be these where pins do not say: what Tinfoil asks of its own machines. */
const leastTcb = { genoa: { bootloader: 7, snp: 14, microcode: 72 } } as const;

/** Verifies the machine of a provider's evidence: quote or report, collateral, and dstack's event log where there is one. */
export async function checkMachine(
  evidence: MachineEvidence,
  { hardware, time, pins }: { hardware: HardwareVerifiers; time: VerificationTime; pins: ProviderPins },
): Promise<Machine> {
  if (evidence.tee_type === 'sev_snp') {
    const shown = decoded(evidence.report);
    const list = evidence.revocation_list;
    const { checks, report } = await hardware.verifySnp(
      {
        report: shown,
        endorsementKey: decoded(evidence.endorsement_key),
        intermediate: decoded(evidence.intermediate),
        revocationList: list === undefined ? undefined : decoded(list),
      },
      time,
      { minimumTcb: pins.minimum_tcb ?? leastTcb },
    );
    const measured = report && measuredSnp(report);
    const own = { genuine: snpReportChecks, current: snpCurrencyChecks, untilMs: undefined };
    return { checks, shown, reportData: report?.reportData, measured, ...own };
  }
  const shown = decoded(evidence.quote);
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
    genuine: tdxQuoteChecks,
    current: tdxCollateralChecks,
    untilMs: tdx.collateralUntilMs,
  };
}

/** What is not base64 is no evidence either: the verifiers then say so at their own check of the format. */
function decoded(base64: string): Bytes {
  try {
    return fromBase64(base64, 'the evidence');
  } catch {
    return new Uint8Array();
  }
}

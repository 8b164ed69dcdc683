import { type Bytes, sameBytes } from '../bytes/bytes.ts';
import { fromBase64 } from '../bytes/encodings.ts';
import type { CheckList } from '../check-list.ts';
import { type DstackCheckName, verifyDstackSnp, verifyDstackTdx } from '../dstack/verify-dstack.ts';
import type { VerificationTime } from '../moment.ts';
import { Refusal } from '../refusal.ts';
import { type SimulatedCheckName, verifySimulated } from '../simulated/simulated.ts';
import {
  type SnpCheckName,
  type SnpEvidence,
  type SnpPolicy,
  type SnpVerification,
  snpCurrencyChecks,
  snpReportChecks,
} from '../snp/verify-snp.ts';
import { reportDataOf } from '../statement/statement.ts';
import {
  type TdxCheckName,
  type TdxEvidence,
  type TdxPolicy,
  type TdxVerification,
  tdxCollateralChecks,
  tdxQuoteChecks,
} from '../tdx/verify-tdx.ts';
import type { Check, Rungs } from '../verdict.ts';
import { requireProvenance } from './check-provenance.ts';
import type { GatewayEvidence, GatewaySnpEvidence, GatewayTdxEvidence, Provenance } from './evidence.ts';
import { matchSnp, matchTdx, requireChip, requireProcessor } from './match-pins.ts';
import type { GatewayPins } from './pins.ts';

/** What is ours to check, whatever hardware vouches: that the evidence is for us, now, here, and of what we know. */
export const gatewayChecks = [
  'gateway.format',
  'gateway.challenge',
  'gateway.pins',
  'gateway.key_set',
  'gateway.key_set_validity',
  'gateway.registry',
  'gateway.report_data',
  'gateway.measurement',
  'gateway.platform',
  'gateway.provenance',
  'gateway.tls_key',
] as const;
export type GatewayCheckName = (typeof gatewayChecks)[number];
/** A check of any part of a gateway's evidence. */
export type GatewayEvidenceCheckName =
  | GatewayCheckName
  | TdxCheckName
  | SnpCheckName
  | DstackCheckName
  | SimulatedCheckName;

/** The verifiers of hardware, with the vendors' roots inside. */
export interface HardwareVerifiers {
  readonly verifyTdx: (evidence: TdxEvidence, time: VerificationTime, policy: TdxPolicy) => Promise<TdxVerification>;
  readonly verifySnp: (evidence: SnpEvidence, time: VerificationTime, policy: SnpPolicy) => Promise<SnpVerification>;
}

const claims = [
  'gateway.format',
  'gateway.challenge',
  'gateway.pins',
  'gateway.key_set',
  'gateway.key_set_validity',
  'gateway.report_data',
  'gateway.measurement',
] as const;

/** Where hardware is checked: the list that its outcome goes to, and what it is held to. */
export interface HardwareTask {
  readonly hardware: HardwareVerifiers;
  readonly checks: CheckList<GatewayCheckName>;
  readonly pins: GatewayPins;
  readonly time: VerificationTime;
  /** What the gateway says it was built from. */
  readonly provenance: Provenance | undefined;
  /** The statements that evidence may be of, one for each accepted audience. */
  readonly statementsOf: (machine: 'hardware' | 'simulated') => readonly Bytes[];
}

export interface HardwareOutcome {
  readonly more: readonly Check<GatewayEvidenceCheckName>[];
  /** Absent where no set of checks could ever lead to more than `untrusted`. */
  readonly rungs: Rungs<GatewayEvidenceCheckName> | undefined;
  /** Whether the evidence binds the key set. */
  readonly bound: boolean;
}

/** Checks one evidence of hardware, or of none: what it is, what it reports, and whether that is pinned. */
export function checkHardware(evidence: GatewayEvidence['evidence'], task: HardwareTask): Promise<HardwareOutcome> {
  switch (evidence.tee_type) {
    case 'tdx':
      return checkTdx(evidence, task);
    case 'sev_snp':
      return checkSnp(evidence, task);
    case 'simulated':
      return checkSimulated(evidence.simulated_evidence, task);
    default:
      return evidence satisfies never;
  }
}

async function checkTdx(evidence: GatewayTdxEvidence, task: HardwareTask): Promise<HardwareOutcome> {
  const { checks, pins, time, hardware } = task;
  const tdx = await hardware.verifyTdx({ quote: decoded(evidence.quote), collateral: evidence.collateral }, time, {
    minimumEvaluationNumber: pins.tdx?.minimum_evaluation_number,
    acceptedAdvisories: pins.tdx?.accepted_advisories,
  });
  const report = tdx.quote?.report;
  const dstack =
    report && describesDstack(evidence)
      ? await verifyDstackTdx(
          { eventLog: evidence.event_log, appCompose: evidence.app_compose, machineConfig: evidence.machine_config },
          report,
        )
      : undefined;
  if (report !== undefined) {
    await checks.make('gateway.measurement', () => matchTdx(report, dstack?.identity, pins));
    await checks.make('gateway.platform', () => requireProcessor(tdx.platform, pins));
  }
  return conclude(task, {
    reportData: report?.reportData,
    appCompose: evidence.app_compose,
    own: tdx.checks,
    dstack: dstack?.checks ?? [],
    genuine: tdxQuoteChecks,
    current: tdxCollateralChecks,
    pinsPlatforms: pins.tdx?.platforms !== undefined,
  });
}

async function checkSnp(evidence: GatewaySnpEvidence, task: HardwareTask): Promise<HardwareOutcome> {
  const { checks, pins, time, hardware } = task;
  const list = evidence.revocation_list;
  const snp = await hardware.verifySnp(
    {
      report: decoded(evidence.report),
      endorsementKey: decoded(evidence.endorsement_key),
      intermediate: decoded(evidence.intermediate),
      revocationList: list === undefined ? undefined : decoded(list),
    },
    time,
    { vmpl: pins.sev_snp?.vmpl, signers: pins.sev_snp?.signers, minimumTcb: pins.sev_snp?.minimum_tcb },
  );
  const { report } = snp;
  const dstack =
    report && describesDstack(evidence)
      ? await verifyDstackSnp({ appCompose: evidence.app_compose, machineConfig: evidence.machine_config }, report)
      : undefined;
  if (report !== undefined) {
    await checks.make('gateway.measurement', () => matchSnp(report, dstack?.identity, pins));
    await checks.make('gateway.platform', () => requireChip(report, pins));
  }
  return conclude(task, {
    reportData: report?.reportData,
    appCompose: evidence.app_compose,
    own: snp.checks,
    dstack: dstack?.checks ?? [],
    genuine: snpReportChecks,
    current: snpCurrencyChecks,
    pinsPlatforms: pins.sev_snp?.platforms !== undefined,
  });
}

/** What hardware of either kind was found to be. */
interface Found {
  /** 64 bytes; undefined where nothing could be read. */
  readonly reportData: Bytes | undefined;
  readonly appCompose: string | undefined;
  readonly own: readonly Check<TdxCheckName | SnpCheckName>[];
  readonly dstack: readonly Check<DstackCheckName>[];
  /** The checks that show genuine hardware, and those that show it to be current. */
  readonly genuine: readonly (TdxCheckName | SnpCheckName)[];
  readonly current: readonly (TdxCheckName | SnpCheckName)[];
  readonly pinsPlatforms: boolean;
}

/** What remains to be checked of hardware of any kind, and what each rung asks of it. */
async function conclude(task: HardwareTask, found: Found): Promise<HardwareOutcome> {
  const { checks, pins } = task;
  const { reportData, appCompose, own, dstack, genuine, current, pinsPlatforms } = found;
  let bound: true | undefined;
  if (reportData !== undefined) {
    bound = await checks.make('gateway.report_data', () => requireReportData(reportData, task));
    await checks.make('gateway.provenance', () => requireProvenance(task.provenance, appCompose, dstack));
  }
  return {
    more: [...own, ...dstack],
    bound: bound ?? false,
    rungs: {
      policy_matched: claims,
      cryptographically_checked: genuine,
      hardware_verified: [
        ...current,
        'gateway.tls_key',
        ...(pinsPlatforms ? (['gateway.platform'] as const) : []),
        ...(pins.require_provenance === true ? (['gateway.provenance'] as const) : []),
      ],
    },
  };
}

/** Simulated evidence has no rungs to climb, besides a check that always fails. */
async function checkSimulated(evidence: string, task: HardwareTask): Promise<HardwareOutcome> {
  const more = await verifySimulated(decoded(evidence), task.statementsOf('simulated'));
  const bound = more.some(({ name, outcome }) => name === 'simulated.signature' && outcome === 'passed');
  return { more, bound, rungs: undefined };
}

/** The statement is built from our own nonce and origin: what the server echoes is worth nothing. */
function requireReportData(reportData: Bytes, task: HardwareTask): true {
  if (task.statementsOf('hardware').some((statement) => sameBytes(reportData, reportDataOf(statement)))) return true;
  throw new Refusal('the report data is not for this key set, nonce and origin, or was made for another audience');
}

function describesDstack(evidence: { event_log?: unknown; app_compose?: unknown; machine_config?: unknown }): boolean {
  return [evidence.event_log, evidence.app_compose, evidence.machine_config].some((part) => part !== undefined);
}

/** What is not base64 is no evidence either: the verifiers then say so at their own check of the format. */
function decoded(base64: string): Bytes {
  try {
    return fromBase64(base64, 'the evidence');
  } catch {
    return new Uint8Array();
  }
}

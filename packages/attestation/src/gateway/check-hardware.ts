import { type Bytes, evidenceBytes, sameBytes } from '../bytes.ts';
import { type DstackCheckName, verifyDstackSnp, verifyDstackTdx } from '../dstack/verify-dstack.ts';
import { snpEvidenceOf } from '../hardware-evidence.ts';
import type { VerificationTime } from '../moment.ts';
import { jsonOf, Refusal, Unmade } from '../refusal.ts';
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
import type { Check, CheckList, Rungs } from '../verdict.ts';
import type { GatewayEvidence, GatewaySnpEvidence, GatewayTdxEvidence, Provenance } from './evidence.ts';
import {
  type GatewayPins,
  type MatchedPin,
  matchSnp,
  matchTdx,
  requireChip,
  requireProcessor,
  requireVendor,
  vendorByTee,
} from './pins.ts';

/**
 * The checks that a client makes itself, whatever the hardware: the evidence must be for this client, now, and from a
 * pinned broker.
 */
export const gatewayChecks = [
  'gateway.format',
  'gateway.challenge',
  'gateway.pins',
  'gateway.key_set',
  'gateway.key_set_validity',
  'gateway.registry',
  'gateway.report_data',
  'gateway.vendor',
  'gateway.measurement',
  'gateway.platform',
  'gateway.provenance',
  'gateway.tls_key',
  'gateway.channel',
] as const;
export type GatewayCheckName = (typeof gatewayChecks)[number];
/** A check of any part of a gateway's evidence. */
export type GatewayEvidenceCheckName =
  | GatewayCheckName
  | TdxCheckName
  | SnpCheckName
  | DstackCheckName
  | SimulatedCheckName;

/** The verifiers of hardware, with the vendors' roots built in. */
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

/** The inputs for checking hardware: the list for the outcomes, and the requirements. */
export interface HardwareTask {
  readonly hardware: HardwareVerifiers;
  readonly checks: CheckList<GatewayCheckName>;
  readonly pins: GatewayPins;
  readonly time: VerificationTime;
  /** The source that the gateway claims to be built from. */
  readonly provenance: Provenance | undefined;
  /** The acceptable statements, one for each accepted audience. */
  readonly statementsOf: (machine: 'hardware' | 'simulated') => readonly Bytes[];
}

interface HardwareOutcome {
  readonly more: readonly Check<GatewayEvidenceCheckName>[];
  /** Absent if no checks could lead to more than `untrusted`. */
  readonly rungs: Rungs<GatewayEvidenceCheckName> | undefined;
  /** The checks of the vendor's documents. */
  readonly current: readonly GatewayEvidenceCheckName[];
  /** Whether the evidence binds the key set. */
  readonly bound: boolean;
  /** The pin that the machine matched. */
  readonly pin: MatchedPin | undefined;
}

/** Checks one hardware or simulated evidence: its type, its report, and whether the machine is pinned. */
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
  const tdx = await hardware.verifyTdx(
    { quote: evidenceBytes(evidence.quote), collateral: evidence.collateral },
    time,
    {
      minimumEvaluationNumber: pins.tdx?.minimum_evaluation_number,
      acceptedAdvisories: pins.tdx?.accepted_advisories,
    },
  );
  const report = tdx.quote?.report;
  const dstack =
    report && describesDstack(evidence)
      ? await verifyDstackTdx(
          { eventLog: evidence.event_log, appCompose: evidence.app_compose, machineConfig: evidence.machine_config },
          report,
        )
      : undefined;
  let pin: MatchedPin | undefined;
  if (report !== undefined) {
    await checks.make('gateway.vendor', () => requireVendor(vendorByTee.tdx, pins));
    pin = await checks.make('gateway.measurement', () => matchTdx(report, dstack?.identity, { pins, now: time.now }));
    await checks.make('gateway.platform', () => requireProcessor(tdx.platform, pins));
  }
  return conclude(task, {
    pin,
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
  const snp = await hardware.verifySnp(snpEvidenceOf(evidence), time, {
    vmpl: pins.sev_snp?.vmpl,
    signers: pins.sev_snp?.signers,
    minimumTcb: pins.sev_snp?.minimum_tcb,
  });
  const { report } = snp;
  const dstack =
    report && describesDstack(evidence)
      ? await verifyDstackSnp({ appCompose: evidence.app_compose, machineConfig: evidence.machine_config }, report)
      : undefined;
  let pin: MatchedPin | undefined;
  if (report !== undefined) {
    await checks.make('gateway.vendor', () => requireVendor(vendorByTee.sev_snp, pins));
    pin = await checks.make('gateway.measurement', () => matchSnp(report, dstack?.identity, { pins, now: time.now }));
    await checks.make('gateway.platform', () => requireChip(report, pins));
  }
  return conclude(task, {
    pin,
    reportData: report?.reportData,
    appCompose: evidence.app_compose,
    own: snp.checks,
    dstack: dstack?.checks ?? [],
    genuine: snpReportChecks,
    current: snpCurrencyChecks,
    pinsPlatforms: pins.sev_snp?.platforms !== undefined,
  });
}

/** The findings about hardware of either kind. */
interface Found {
  readonly pin: MatchedPin | undefined;
  /** 64 bytes. Undefined if the evidence could not be read. */
  readonly reportData: Bytes | undefined;
  readonly appCompose: string | undefined;
  readonly own: readonly Check<TdxCheckName | SnpCheckName>[];
  readonly dstack: readonly Check<DstackCheckName>[];
  /** The checks that prove genuine hardware, and those that prove it current. */
  readonly genuine: readonly (TdxCheckName | SnpCheckName)[];
  readonly current: readonly (TdxCheckName | SnpCheckName)[];
  readonly pinsPlatforms: boolean;
}

/** Makes the checks that all hardware shares, and lists the checks that each verdict requires. */
async function conclude(task: HardwareTask, found: Found): Promise<HardwareOutcome> {
  const { checks, pins } = task;
  const { pin, reportData, appCompose, own, dstack, genuine, current, pinsPlatforms } = found;
  let bound: true | undefined;
  if (reportData !== undefined) {
    bound = await checks.make('gateway.report_data', () => requireReportData(reportData, task));
    await checks.make('gateway.provenance', () => requireProvenance(task.provenance, appCompose, dstack));
  }
  return {
    more: [...own, ...dstack],
    bound: bound ?? false,
    pin,
    current,
    rungs: {
      policy_matched: [
        ...claims,
        ...(pinsPlatforms ? (['gateway.platform'] as const) : []),
        ...(pins.require_provenance === true ? (['gateway.provenance'] as const) : []),
      ],
      cryptographically_checked: genuine,
      hardware_verified: [...current, 'gateway.tls_key'],
    },
  };
}

/** Simulated evidence has no rungs, so it never exceeds `untrusted`. It also contains a check that always fails. */
async function checkSimulated(evidence: string, task: HardwareTask): Promise<HardwareOutcome> {
  const more = await verifySimulated(evidenceBytes(evidence), task.statementsOf('simulated'));
  const bound = more.some(({ name, outcome }) => name === 'simulated.signature' && outcome === 'passed');
  return { more, bound, rungs: undefined, current: [], pin: undefined };
}

/** The statement is built from the client's own nonce and origin. Values that the server echoes prove nothing. */
function requireReportData(reportData: Bytes, task: HardwareTask): true {
  if (task.statementsOf('hardware').some((statement) => sameBytes(reportData, reportDataOf(statement)))) return true;
  throw new Refusal(
    'the report data is not for this key set, nonce, origin and connection, or was made for another audience',
  );
}

function describesDstack(evidence: { event_log?: unknown; app_compose?: unknown; machine_config?: unknown }): boolean {
  return [evidence.event_log, evidence.app_compose, evidence.machine_config].some((part) => part !== undefined);
}

/**
 * Compares the image that a gateway claims to run with the app-compose document that its hardware measured. Without
 * such a document, the claim cannot be checked and remains a claim.
 */
function requireProvenance(
  claimed: Provenance | undefined,
  appCompose: string | undefined,
  dstack: readonly Check<DstackCheckName>[],
): void {
  if (claimed === undefined) throw new Unmade('the gateway does not say what it was built from');
  const isMeasured = dstack.some(({ name, outcome }) => name === 'dstack.app_compose' && outcome === 'passed');
  if (appCompose === undefined || !isMeasured) throw new Unmade('no app-compose document was measured');
  const images = imageDigests(appCompose);
  if (images.size === 0) throw new Unmade('the measured app-compose document names no image by its digest');
  if (!images.has(claimed.image_digest)) {
    throw new Refusal(`the measured app-compose document does not run ${claimed.image_digest}`);
  }
}

/** The digests in the `image:` lines of the compose file inside an app-compose document. */
function imageDigests(appCompose: string): ReadonlySet<string> {
  const images = /^[ \t]*image:[ \t]*["']?[^\s"'#]+@(sha256:[0-9a-f]{64})["']?[ \t]*(?:#.*)?$/gm;
  return new Set([...composeFileOf(appCompose).matchAll(images)].flatMap(([, digest]) => digest ?? []));
}

function composeFileOf(appCompose: string): string {
  const { docker_compose_file: file } = (jsonOf(appCompose) ?? {}) as { docker_compose_file?: unknown };
  return typeof file === 'string' ? file.replaceAll('\r', '') : '';
}

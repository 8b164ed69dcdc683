import { sha256 } from '@noble/hashes/sha2.js';
import { type Bytes, ownBytes, sameBytes } from '../bytes/bytes.ts';
import { fromBase64, toHex } from '../bytes/encodings.ts';
import { CheckList } from '../check-list.ts';
import { type DstackCheckName, verifyDstackSnp, verifyDstackTdx } from '../dstack/verify-dstack.ts';
import { type Moment, momentAt, type VerificationTime } from '../moment.ts';
import { Refusal, Unmade } from '../refusal.ts';
import { type SimulatedCheckName, verifySimulated } from '../simulated/simulated.ts';
import {
  type SnpCheckName,
  type SnpEvidence,
  type SnpPolicy,
  type SnpVerification,
  snpCurrencyChecks,
  snpReportChecks,
} from '../snp/verify-snp.ts';
import { type KeySet, keySetDigest, keySetSchema } from '../statement/key-set.ts';
import {
  isNonce,
  isOrigin,
  reportDataOf,
  type Statement,
  statementBytes,
  statementPurposes,
} from '../statement/statement.ts';
import {
  type TdxCheckName,
  type TdxEvidence,
  type TdxPolicy,
  type TdxVerification,
  tdxCollateralChecks,
  tdxQuoteChecks,
} from '../tdx/verify-tdx.ts';
import { type Check, judge, type Rungs, type Verdict } from '../verdict.ts';
import {
  type GatewayEvidence,
  type GatewaySnpEvidence,
  type GatewayTdxEvidence,
  gatewayEvidenceSchema,
} from './evidence.ts';
import { matchSnp, matchTdx, requireChip, requireProcessor } from './match-pins.ts';
import { type GatewayPins, gatewayPinsSchema } from './pins.ts';

/** What is ours to check, whatever hardware vouches: that the evidence is for us, now, here, and of what we know. */
export const gatewayChecks = [
  'gateway.format',
  'gateway.challenge',
  'gateway.pins',
  'gateway.key_set',
  'gateway.key_set_validity',
  'gateway.report_data',
  'gateway.measurement',
  'gateway.platform',
  'gateway.tls_key',
] as const;
export type GatewayCheckName = (typeof gatewayChecks)[number];
type AnyCheckName = GatewayCheckName | TdxCheckName | SnpCheckName | DstackCheckName | SimulatedCheckName;

export interface GatewayChallenge {
  /** Ours, fresh: 64 lower-case hex digits. */
  readonly nonce: string;
  /** The origin that we connected to, and that content will go to. */
  readonly origin: string;
  /** DER of the server's SubjectPublicKeyInfo on that connection. Browsers cannot see it: the check is then not made. */
  readonly tlsSpki?: Uint8Array | undefined;
  /** What we accept: ours, never the server's. */
  readonly pins: GatewayPins;
  readonly now: Date;
  /** How far our clock may be off: five minutes by default. */
  readonly toleranceMs?: number | undefined;
}

export interface GatewayVerification {
  readonly verdict: Verdict;
  readonly checks: readonly Check<AnyCheckName>[];
  readonly teeType: GatewayEvidence['evidence']['tee_type'] | undefined;
  /** The keys that the report data binds; as good as the verdict is. */
  readonly keySet: KeySet | undefined;
}

/** The verifiers of hardware, with the vendors' roots inside. */
export interface HardwareVerifiers {
  readonly verifyTdx: (evidence: TdxEvidence, time: VerificationTime, policy: TdxPolicy) => Promise<TdxVerification>;
  readonly verifySnp: (evidence: SnpEvidence, time: VerificationTime, policy: SnpPolicy) => Promise<SnpVerification>;
}

const defaultToleranceMs = 5 * 60_000;
const longestKeySetMs = 90 * 24 * 3_600_000;

const claims = [
  'gateway.format',
  'gateway.challenge',
  'gateway.pins',
  'gateway.key_set',
  'gateway.key_set_validity',
  'gateway.report_data',
  'gateway.measurement',
] as const;

/**
 * Verifies hop 1 from the gateway's evidence document (`undefined` where there was none to be had: `unavailable`). Total:
 * whatever it is given, it resolves to a verdict and the checks behind it. The public door is `verifyGateway`.
 */
export async function verifyGatewayUnder(
  hardware: HardwareVerifiers,
  document: unknown,
  challenge: GatewayChallenge,
): Promise<GatewayVerification> {
  const checks = new CheckList<GatewayCheckName>(gatewayChecks);
  if (document === undefined) {
    return { verdict: 'unavailable', checks: checks.list(), teeType: undefined, keySet: undefined };
  }
  const evidence = await checks.make('gateway.format', () => parseEvidence(document));
  const asked = await checks.make('gateway.challenge', () => requireChallenge(challenge));
  const pins = await checks.make('gateway.pins', () => parsePins(challenge.pins));
  const keySet = evidence && (await checks.make('gateway.key_set', () => parseKeySet(evidence.key_set)));
  if (evidence === undefined || asked === undefined || pins === undefined || keySet === undefined) {
    return { verdict: 'untrusted', checks: checks.list(), teeType: evidence?.evidence.tee_type, keySet: undefined };
  }
  await checks.make('gateway.key_set_validity', () => requireLiving(keySet, asked.moment));
  await checks.make('gateway.tls_key', () => requireTlsKey(keySet, challenge));
  const task: HardwareTask = {
    hardware,
    checks,
    pins,
    time: { now: challenge.now, toleranceMs: asked.toleranceMs },
    statementFor: (purpose) => statementAbout(evidence, challenge, purpose),
  };
  const { more, rungs, bound } = await checkHardware(evidence.evidence, task);
  const all = [...checks.list(), ...more];
  return {
    verdict: rungs === undefined ? 'untrusted' : judge<AnyCheckName>(all, rungs),
    checks: all,
    teeType: evidence.evidence.tee_type,
    keySet: bound ? keySet : undefined,
  };
}

interface HardwareTask {
  readonly hardware: HardwareVerifiers;
  readonly checks: CheckList<GatewayCheckName>;
  readonly pins: GatewayPins;
  readonly time: VerificationTime;
  readonly statementFor: (purpose: Statement['purpose']) => Bytes;
}

interface HardwareOutcome {
  readonly more: readonly Check<AnyCheckName>[];
  /** Absent where no set of checks could ever lead to more than `untrusted`. */
  readonly rungs: Rungs<AnyCheckName> | undefined;
  /** Whether the evidence binds the key set. */
  readonly bound: boolean;
}

function checkHardware(evidence: GatewayEvidence['evidence'], task: HardwareTask): Promise<HardwareOutcome> {
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
  let bound: true | undefined;
  if (report !== undefined) {
    bound = await checks.make('gateway.report_data', () => requireReportData(report.reportData, task));
    await checks.make('gateway.measurement', () => matchTdx(report, dstack?.identity, pins));
    await checks.make('gateway.platform', () => requireProcessor(tdx.platform, pins));
  }
  return {
    more: [...tdx.checks, ...(dstack?.checks ?? [])],
    bound: bound ?? false,
    rungs: {
      policy_matched: claims,
      cryptographically_checked: tdxQuoteChecks,
      hardware_verified: [
        ...tdxCollateralChecks,
        'gateway.tls_key',
        ...(pins.tdx?.platforms === undefined ? [] : (['gateway.platform'] as const)),
      ],
    },
  };
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
  let bound: true | undefined;
  if (report !== undefined) {
    bound = await checks.make('gateway.report_data', () => requireReportData(report.reportData, task));
    await checks.make('gateway.measurement', () => matchSnp(report, dstack?.identity, pins));
    await checks.make('gateway.platform', () => requireChip(report, pins));
  }
  return {
    more: [...snp.checks, ...(dstack?.checks ?? [])],
    bound: bound ?? false,
    rungs: {
      policy_matched: claims,
      cryptographically_checked: snpReportChecks,
      hardware_verified: [
        ...snpCurrencyChecks,
        'gateway.tls_key',
        ...(pins.sev_snp?.platforms === undefined ? [] : (['gateway.platform'] as const)),
      ],
    },
  };
}

/** Simulated evidence has no rungs to climb, besides a check that always fails. */
async function checkSimulated(evidence: string, task: HardwareTask): Promise<HardwareOutcome> {
  const more = await verifySimulated(decoded(evidence), task.statementFor(statementPurposes.simulated));
  const bound = more.some(({ name, outcome }) => name === 'simulated.signature' && outcome === 'passed');
  return { more, bound, rungs: undefined };
}

function parseEvidence(document: unknown): GatewayEvidence {
  const parsed = gatewayEvidenceSchema.safeParse(document);
  if (parsed.success) return parsed.data;
  throw new Refusal(`the evidence document is malformed${placeOf(parsed.error.issues[0]?.path)}`);
}

function parsePins(pins: unknown): GatewayPins {
  const parsed = gatewayPinsSchema.safeParse(pins);
  if (parsed.success) return parsed.data;
  throw new Refusal(`our pins are malformed${placeOf(parsed.error.issues[0]?.path)}`);
}

function parseKeySet(value: unknown): KeySet {
  const parsed = keySetSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new Refusal(`the key set is malformed${placeOf(parsed.error.issues[0]?.path)}`);
}

function placeOf(path: readonly PropertyKey[] | undefined): string {
  return path === undefined || path.length === 0 ? '' : ` at ${path.map(String).join('.').slice(0, 128)}`;
}

function requireChallenge({ nonce, origin, now, toleranceMs = defaultToleranceMs }: GatewayChallenge): {
  readonly moment: Moment;
  readonly toleranceMs: number;
} {
  if (!isNonce(nonce)) throw new Refusal('our nonce is not 64 lower-case hex digits');
  if (!isOrigin(origin)) throw new Refusal('our origin is not of the form https://host:port');
  if (!Number.isFinite(now.getTime())) throw new Refusal('our time is no time');
  return { moment: momentAt({ now, toleranceMs }), toleranceMs };
}

function requireLiving({ not_after: notAfter }: KeySet, moment: Moment): void {
  if (!(moment.earliestMs < notAfter * 1000)) throw new Refusal('the key set has expired');
  if (!(notAfter * 1000 <= moment.latestMs + longestKeySetMs)) throw new Refusal('the key set lives implausibly long');
}

function requireTlsKey(keySet: KeySet, { tlsSpki, origin }: GatewayChallenge): void {
  if (tlsSpki === undefined) throw new Unmade('the TLS key of the connection cannot be seen here');
  const digest = toHex(sha256(ownBytes(tlsSpki, 'the TLS key', 4096)));
  if (!keySet.tls_public_keys.some((key) => key.origin === origin && key.spki_sha256 === digest)) {
    throw new Refusal('the connection is not to a TLS key of the key set');
  }
}

function statementAbout(
  document: GatewayEvidence,
  { nonce, origin }: GatewayChallenge,
  purpose: Statement['purpose'],
): Bytes {
  return statementBytes({ keySetDigest: keySetDigest(document.key_set), nonce, origin, purpose });
}

/** The statement is built from our own nonce and origin: what the server echoes is worth nothing. */
function requireReportData(reportData: Bytes, task: HardwareTask): true {
  if (!sameBytes(reportData, reportDataOf(task.statementFor(statementPurposes.gateway)))) {
    throw new Refusal('the report data is not for this key set, nonce and origin');
  }
  return true;
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

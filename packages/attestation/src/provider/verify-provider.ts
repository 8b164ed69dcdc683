import { sha256 } from '@noble/hashes/sha2.js';
import { toHex } from '../bytes.ts';
import type { HardwareVerifiers } from '../gateway/check-hardware.ts';
import { type Moment, momentAt } from '../moment.ts';
import { Refusal, readAs, Unmade } from '../refusal.ts';
import { canonicalJson } from '../statement/canonical-json.ts';
import { isNonce } from '../statement/statement.ts';
import { type Check, CheckList, type Currency, compareVerdicts, currencyOf, judge, type Verdict } from '../verdict.ts';
import { checkGpu, type ProviderGpu, type VerifyNvidia } from './check-gpu.ts';
import { checkMachine, type Machine, type MachineCheckName } from './check-machine.ts';
import { checkChutes } from './families/chutes.ts';
import { checkNear } from './families/near.ts';
import { checkPhala } from './families/phala.ts';
import { checkTinfoil } from './families/tinfoil.ts';
import { checkVenice } from './families/venice.ts';
import {
  type FamilyFindings,
  type FamilyTask,
  type ProviderCheckName,
  type ProviderKey,
  providerChecks,
} from './family-check.ts';
import { type ProviderChallenge, requireRoute } from './provider-challenge.ts';
import { type ProviderEvidence, providerEvidenceSchema } from './provider-evidence.ts';
import { type ProviderPins, providerPinsSchema, requirePinned, requirePlatform } from './provider-pins.ts';

/** A check of any part of a provider's evidence. */
export type ProviderEvidenceCheckName = ProviderCheckName | MachineCheckName;

export interface ProviderVerification extends Currency {
  readonly verdict: Verdict;
  readonly checks: readonly Check<ProviderEvidenceCheckName>[];
  readonly gpu: ProviderGpu;
  /** The key that the evidence binds. Trust it only as far as the verdict. */
  readonly key: ProviderKey | undefined;
  /**
   * The TLS keys that the evidence binds, by SHA-256 of their SubjectPublicKeyInfo. Trust them only as far as the
   * verdict.
   */
  readonly tlsSpkiSha256: readonly string[];
  /** SHA-256 of canonical JSON about the route and its evidence. Undefined if the evidence could not be read. */
  readonly sessionId: string | undefined;
  /**
   * Until when these findings may be used, in Unix ms. At most ten minutes, and never beyond the end of any evidence.
   */
  readonly expiresAtMs: number;
}

/** The verifiers of hardware and GPUs, with the vendors' roots built in. */
export interface ProviderVerifiers extends HardwareVerifiers {
  readonly verifyNvidia: VerifyNvidia;
}

const defaultToleranceMs = 5 * 60_000;
const longestSessionMs = 10 * 60_000;
/** The highest verdict for hop 2, even if every check passes. */
const ceilings = { tee: 'policy_matched', e2ee: 'cryptographically_checked' } as const;

/**
 * Verifies hop 2 from a provider's evidence document. `undefined` means that no document was available: `unavailable`.
 * Never throws: every input leads to a verdict and the checks behind it. The public function is `verifyProvider`.
 */
export async function verifyProviderUnder(
  verifiers: ProviderVerifiers,
  document: unknown,
  challenge: ProviderChallenge,
): Promise<ProviderVerification> {
  const checks = new CheckList<ProviderCheckName>(providerChecks);
  const nothing = (verdict: Verdict): ProviderVerification => ({
    verdict,
    checks: checks.list(),
    gpu: { standing: 'none', models: [] },
    key: undefined,
    tlsSpkiSha256: [],
    sessionId: undefined,
    expiresAtMs: 0,
    isCurrent: false,
    notCurrent: [],
  });
  if (document === undefined) return nothing('unavailable');
  const evidence = await checks.make('provider.format', () =>
    readAs(providerEvidenceSchema, document, 'the evidence document is'),
  );
  const asked = await checks.make('provider.challenge', () => requireChallenge(challenge));
  const pins = await checks.make('provider.pins', () =>
    readAs(providerPinsSchema, challenge.pins ?? {}, 'our pins are'),
  );
  if (evidence === undefined || asked === undefined || pins === undefined) return nothing('untrusted');
  const upstreamModel = await checks.make('provider.route', () => requireRoute(evidence, challenge));
  const time = { now: challenge.now, toleranceMs: asked.toleranceMs };
  const machine = await checkMachine(evidence.evidence.machine, { hardware: verifiers, time, pins });
  const findings =
    upstreamModel === undefined
      ? undefined
      : await checkFamily(evidence, { checks, challenge, upstreamModel, moment: asked.moment, machine });
  const { measured, platform } = machine;
  if (measured !== undefined) {
    await checks.make('provider.measurement', () => requirePinned(measured, pins));
    await checks.make('provider.platform', () => requirePlatform(platform, pins));
  }
  const gpuEvidence = 'gpu' in evidence.evidence ? evidence.evidence.gpu : undefined;
  const gpu = await checkGpu(gpuEvidence, { nonce: findings?.gpuNonce, time, verifyNvidia: verifiers.verifyNvidia });
  const all = [...checks.list(), ...machine.checks];
  const verdict = concludeVerdict(all, machine, { privacyClass: challenge.privacyClass, pins });
  return {
    verdict,
    ...currencyOf(verdict, all, machine.current),
    checks: all,
    gpu,
    key: findings?.key,
    tlsSpkiSha256: findings?.tlsSpkiSha256 ?? [],
    sessionId: findings && sessionIdOf(evidence, machine, findings),
    expiresAtMs: Math.min(
      challenge.now.getTime() + longestSessionMs,
      machine.untilMs ?? Number.POSITIVE_INFINITY,
      findings?.expiresAtMs ?? Number.POSITIVE_INFINITY,
    ),
  };
}

const hasPassed = (checks: readonly Check[], name: string): boolean =>
  checks.some((check) => check.name === name && check.outcome === 'passed');

/** The verdict of the checks, limited by the ceiling for the class. */
function concludeVerdict(
  checks: readonly Check<ProviderEvidenceCheckName>[],
  { genuine, current }: Machine,
  { privacyClass, pins }: { readonly privacyClass: 'tee' | 'e2ee'; readonly pins: ProviderPins },
): Verdict {
  const judged = judge<ProviderEvidenceCheckName>(checks, {
    policy_matched: [
      'provider.format',
      'provider.challenge',
      'provider.pins',
      'provider.route',
      'provider.measurement',
      ...(pins.platforms === undefined ? [] : (['provider.platform'] as const)),
      privacyClass === 'e2ee' ? 'provider.key_binding' : 'provider.tls_binding',
      ...genuine,
    ],
    cryptographically_checked: ['provider.freshness'],
    hardware_verified: current,
  });
  const ceiling = ceilings[privacyClass];
  return compareVerdicts(judged, ceiling) > 0 ? ceiling : judged;
}

/**
 * Reads the values that the evidence binds, in the format of the pinned family. Runs only if the document is of that
 * family.
 */
async function checkFamily(
  document: ProviderEvidence,
  {
    checks,
    challenge,
    upstreamModel,
    moment,
    machine,
  }: {
    checks: CheckList<ProviderCheckName>;
    challenge: ProviderChallenge;
    upstreamModel: string;
    moment: Moment;
    machine: Machine;
  },
): Promise<FamilyFindings | undefined> {
  const { reportData } = machine;
  if (reportData === undefined) return undefined;
  await checks.make('provider.validity', () => {
    throw new Unmade('the provider states no end');
  });
  const findings = await findingsOf(document, { checks, nonce: challenge.nonce, upstreamModel, reportData, moment });
  if (
    challenge.privacyClass === 'e2ee' &&
    findings.key === undefined &&
    hasPassed(checks.list(), 'provider.key_binding')
  )
    await checks.make('provider.key_binding', () => {
      throw new Refusal('the evidence has no key to encrypt to');
    });
  return findings;
}

function findingsOf(document: ProviderEvidence, task: FamilyTask): Promise<FamilyFindings> {
  switch (document.family) {
    case 'near':
      return checkNear(document.evidence, task);
    case 'phala':
      return checkPhala(document.evidence, task);
    case 'venice':
      return checkVenice(document.evidence, task);
    case 'tinfoil':
      return checkTinfoil(task);
    case 'chutes':
      return checkChutes(document.evidence, task);
    default:
      return document satisfies never;
  }
}

function requireChallenge({ nonce, privacyClass, now, toleranceMs = defaultToleranceMs }: ProviderChallenge): {
  readonly moment: Moment;
  readonly toleranceMs: number;
} {
  if (!isNonce(nonce)) throw new Refusal('our nonce is not 64 lower-case hex digits');
  if (!Object.hasOwn(ceilings, privacyClass)) throw new Refusal('our privacy class is neither tee nor e2ee');
  if (!Number.isFinite(now.getTime())) throw new Refusal('our time is no time');
  return { moment: momentAt({ now, toleranceMs }), toleranceMs };
}

/** An id that stays the same as long as the evidence does. Every holder of the document can compute it. */
function sessionIdOf(
  document: ProviderEvidence,
  { shown }: Machine,
  { key, tlsSpkiSha256 = [] }: FamilyFindings,
): string {
  const { provider, model, upstream_model, privacy_class, family, nonce, obtained_at } = document;
  const session = {
    version: 'sotto.provider.session.v1',
    route: { provider, model, upstream_model, privacy_class, family },
    nonce,
    obtained_at,
    evidence_sha256: toHex(sha256(shown)),
    ...(key && { key_sha256: toHex(sha256(key.publicKey)) }),
    tls_spki_sha256: [...tlsSpkiSha256],
  };
  return toHex(sha256(new TextEncoder().encode(canonicalJson(session))));
}

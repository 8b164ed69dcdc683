import { sha256 } from '@noble/hashes/sha2.js';
import { ownBytes } from '../bytes/bytes.ts';
import { toHex } from '../bytes/encodings.ts';
import { CheckList } from '../check-list.ts';
import { type Moment, momentAt } from '../moment.ts';
import { Refusal, Unmade } from '../refusal.ts';
import { type KeySet, keySetDigest, keySetSchema } from '../statement/key-set.ts';
import { type Audience, isNonce, isOrigin, statementBytes, statementPurposes } from '../statement/statement.ts';
import { type Check, judge, type Verdict } from '../verdict.ts';
import {
  checkHardware,
  type GatewayCheckName,
  type GatewayEvidenceCheckName,
  gatewayChecks,
  type HardwareTask,
  type HardwareVerifiers,
} from './check-hardware.ts';
import { type GatewayEvidence, gatewayEvidenceSchema } from './evidence.ts';
import { type GatewayPins, gatewayPinsSchema } from './pins.ts';

export interface GatewayChallenge {
  /** Ours, fresh: 64 lower-case hex digits. */
  readonly nonce: string;
  /** The origin that we connected to, and that content will go to. */
  readonly origin: string;
  /** DER of the server's SubjectPublicKeyInfo on that connection. Browsers cannot see it: the check is then not made. */
  readonly tlsSpki?: Uint8Array | undefined;
  /** For whom the evidence must have been made: clients, unless a keeper asks. */
  readonly audiences?: readonly Audience[] | undefined;
  /** What we accept: ours, never the server's. */
  readonly pins: GatewayPins;
  readonly now: Date;
  /** How far our clock may be off: five minutes by default. */
  readonly toleranceMs?: number | undefined;
}

export interface GatewayVerification {
  readonly verdict: Verdict;
  readonly checks: readonly Check<GatewayEvidenceCheckName>[];
  readonly teeType: GatewayEvidence['evidence']['tee_type'] | undefined;
  /** The keys that the report data binds; as good as the verdict is. */
  readonly keySet: KeySet | undefined;
}

const defaultToleranceMs = 5 * 60_000;
const longestKeySetMs = 90 * 24 * 3_600_000;

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
  const keys = evidence && (await checks.make('gateway.key_set', () => parseKeySet(evidence.key_set)));
  if (evidence === undefined || asked === undefined || pins === undefined || keys === undefined) {
    return { verdict: 'untrusted', checks: checks.list(), teeType: evidence?.evidence.tee_type, keySet: undefined };
  }
  await checks.make('gateway.key_set_validity', () => requireLiving(keys.keySet, asked.moment));
  await checks.make('gateway.registry', () => requireRegistry(keys.keySet, pins));
  await checks.make('gateway.tls_key', () => requireTlsKey(keys.keySet, challenge));
  const task: HardwareTask = {
    hardware,
    checks,
    pins,
    time: { now: challenge.now, toleranceMs: asked.toleranceMs },
    provenance: evidence.provenance,
    statementsOf: (machine) => {
      const { nonce, origin, audiences = ['client'] } = challenge;
      return audiences.map((audience) =>
        statementBytes({ keySetDigest: keys.digest, nonce, origin, purpose: statementPurposes[audience][machine] }),
      );
    },
  };
  const { more, rungs, bound } = await checkHardware(evidence.evidence, task);
  const all = [...checks.list(), ...more];
  return {
    verdict: rungs === undefined ? 'untrusted' : judge<GatewayEvidenceCheckName>(all, rungs),
    checks: all,
    teeType: evidence.evidence.tee_type,
    keySet: bound ? keys.keySet : undefined,
  };
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

/** The digest is of the set as it was received, with members that we do not know. */
function parseKeySet(value: unknown): { readonly keySet: KeySet; readonly digest: string } {
  const parsed = keySetSchema.safeParse(value);
  if (parsed.success) return { keySet: parsed.data, digest: keySetDigest(value) };
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

function requireRegistry(
  { provider_registry_digest: digest }: KeySet,
  { provider_registries: pinned }: GatewayPins,
): void {
  if (pinned === undefined) throw new Unmade(`no provider registry is pinned; the gateway's is ${digest}`);
  if (!pinned.includes(digest)) throw new Refusal(`the provider registry is none that is pinned: ${digest}`);
}

function requireTlsKey(keySet: KeySet, { tlsSpki, origin }: GatewayChallenge): void {
  if (tlsSpki === undefined) throw new Unmade('the TLS key of the connection cannot be seen here');
  const digest = toHex(sha256(ownBytes(tlsSpki, 'the TLS key', 4096)));
  if (!keySet.tls_public_keys.some((key) => key.origin === origin && key.spki_sha256 === digest)) {
    throw new Refusal('the connection is not to a TLS key of the key set');
  }
}

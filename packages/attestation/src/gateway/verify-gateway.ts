import { sha256 } from '@noble/hashes/sha2.js';
import { ownBytes, toHex } from '../bytes.ts';
import { type Moment, momentAt } from '../moment.ts';
import { Refusal, readAs, Unmade } from '../refusal.ts';
import { type KeySet, keySetDigest, keySetSchema, requireLiving } from '../statement/key-set.ts';
import { type Audience, isNonce, isOrigin, statementBytes, statementPurposes } from '../statement/statement.ts';
import { type Check, CheckList, judge, type Verdict } from '../verdict.ts';
import {
  checkHardware,
  type GatewayCheckName,
  type GatewayEvidenceCheckName,
  gatewayChecks,
  type HardwareTask,
  type HardwareVerifiers,
} from './check-hardware.ts';
import { type GatewayEvidence, gatewayEvidenceSchema } from './evidence.ts';
import { type GatewayPins, gatewayPinsSchema, type MatchedPin } from './pins.ts';

export interface GatewayChallenge {
  /** The client's own fresh nonce: 64 lower-case hex digits. */
  readonly nonce: string;
  /** The origin that the client connected to and will send content to. */
  readonly origin: string;
  /**
   * DER of the server's SubjectPublicKeyInfo on that connection. Browsers cannot read it: then the check is skipped.
   */
  readonly tlsSpki?: Uint8Array | undefined;
  /** The accepted audiences of the evidence. Default: clients. A keeper passes its own. */
  readonly audiences?: readonly Audience[] | undefined;
  /** The client's own pins, never the server's. */
  readonly pins: GatewayPins;
  readonly now: Date;
  /** How much the client's clock may be off. Default: five minutes. */
  readonly toleranceMs?: number | undefined;
}

export interface GatewayVerification {
  readonly verdict: Verdict;
  readonly checks: readonly Check<GatewayEvidenceCheckName>[];
  readonly teeType: GatewayEvidence['evidence']['tee_type'] | undefined;
  /** The keys that the report data binds. Trust them only as far as the verdict. */
  readonly keySet: KeySet | undefined;
  /** The pin that the machine's measurements equal. Trust it only as far as the verdict. */
  readonly pin: MatchedPin | undefined;
}

const defaultToleranceMs = 5 * 60_000;

/**
 * Verifies hop 1 from the gateway's evidence document. `undefined` means that no document was available: `unavailable`.
 * Never throws: every input leads to a verdict and the checks behind it. The public function is `verifyGateway`.
 */
export async function verifyGatewayUnder(
  hardware: HardwareVerifiers,
  document: unknown,
  challenge: GatewayChallenge,
): Promise<GatewayVerification> {
  const checks = new CheckList<GatewayCheckName>(gatewayChecks);
  if (document === undefined) {
    return { verdict: 'unavailable', checks: checks.list(), teeType: undefined, keySet: undefined, pin: undefined };
  }
  const evidence = await checks.make('gateway.format', () =>
    readAs(gatewayEvidenceSchema, document, 'the evidence document is'),
  );
  const asked = await checks.make('gateway.challenge', () => requireChallenge(challenge));
  const pins = await checks.make('gateway.pins', () => readAs(gatewayPinsSchema, challenge.pins, 'our pins are'));
  const keys = evidence && (await checks.make('gateway.key_set', () => parseKeySet(evidence.key_set)));
  if (evidence === undefined || asked === undefined || pins === undefined || keys === undefined) {
    return {
      verdict: 'untrusted',
      checks: checks.list(),
      teeType: evidence?.evidence.tee_type,
      keySet: undefined,
      pin: undefined,
    };
  }
  await checks.make('gateway.key_set_validity', () => requireLiving(keys.keySet.not_after, asked.moment));
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
  const { more, rungs, bound, pin } = await checkHardware(evidence.evidence, task);
  const all = [...checks.list(), ...more];
  return {
    verdict: rungs === undefined ? 'untrusted' : judge<GatewayEvidenceCheckName>(all, rungs),
    checks: all,
    teeType: evidence.evidence.tee_type,
    keySet: bound ? keys.keySet : undefined,
    pin,
  };
}

/** The digest covers the set as received, including unknown members. */
const parseKeySet = (value: unknown): { readonly keySet: KeySet; readonly digest: string } => ({
  keySet: readAs(keySetSchema, value, 'the key set is'),
  digest: keySetDigest(value),
});

function requireChallenge({ nonce, origin, now, toleranceMs = defaultToleranceMs }: GatewayChallenge): {
  readonly moment: Moment;
  readonly toleranceMs: number;
} {
  if (!isNonce(nonce)) throw new Refusal('our nonce is not 64 lower-case hex digits');
  if (!isOrigin(origin)) {
    throw new Refusal('our origin is not https://host or https://host:port (http in development) as browsers spell it');
  }
  if (!Number.isFinite(now.getTime())) throw new Refusal('our time is no time');
  return { moment: momentAt({ now, toleranceMs }), toleranceMs };
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

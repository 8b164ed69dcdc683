import { sha256 } from '@noble/hashes/sha2.js';
import { ownBytes, toHex } from '../bytes.ts';
import { type Moment, momentAt } from '../moment.ts';
import { Refusal, readAs, Unmade } from '../refusal.ts';
import { type ChannelProof, channelBinding, channelLeaf, channelRoot } from '../statement/channel-tree.ts';
import { type KeySet, keySetDigest, keySetSchema, requireLiving } from '../statement/key-set.ts';
import {
  type Audience,
  channelPurposes,
  channelStatementBytes,
  isNonce,
  isOrigin,
  statementBytes,
  statementPurposes,
} from '../statement/statement.ts';
import { type Check, CheckList, type Currency, currencyOf, judge, type Verdict } from '../verdict.ts';
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
  /** The client's export from that connection. Leave it out where the platform exports nothing, as in browsers. */
  readonly channel?: ExportedChannel | undefined;
  /** The accepted audiences of the evidence. Default: clients. A keeper passes its own. */
  readonly audiences?: readonly Audience[] | undefined;
  /** The client's own pins, never the server's. */
  readonly pins: GatewayPins;
  readonly now: Date;
  /** How much the client's clock may be off. Default: five minutes. */
  readonly toleranceMs?: number | undefined;
}

export interface ExportedChannel {
  /** The value of RFC 9266: 32 bytes. Undefined if the connection has TLS older than 1.3. */
  readonly exporter: Uint8Array | undefined;
}

/**
 * How the evidence is tied to the client's connection. `channel`: to this very connection. `key`: to the TLS key that the
 * connection proved, so a thief of that key can relay it. `none`: the platform shows neither, or it was not checked.
 */
export type ChannelBinding = 'none' | 'key' | 'channel';

export interface GatewayVerification extends Currency {
  readonly verdict: Verdict;
  readonly checks: readonly Check<GatewayEvidenceCheckName>[];
  readonly teeType: GatewayEvidence['evidence']['tee_type'] | undefined;
  /** The keys that the report data binds. Trust them only as far as the verdict. */
  readonly keySet: KeySet | undefined;
  /** The strongest binding that was checked. Trust it only as far as the verdict. */
  readonly binding: ChannelBinding;
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
    return { ...unbound, verdict: 'unavailable', checks: checks.list(), teeType: undefined };
  }
  const evidence = await checks.make('gateway.format', () =>
    readAs(gatewayEvidenceSchema, document, 'the evidence document is'),
  );
  const asked = await checks.make('gateway.challenge', () => requireChallenge(challenge));
  const pins = await checks.make('gateway.pins', () => readAs(gatewayPinsSchema, challenge.pins, 'our pins are'));
  const keys = evidence && (await checks.make('gateway.key_set', () => parseKeySet(evidence.key_set)));
  if (evidence === undefined || asked === undefined || pins === undefined || keys === undefined) {
    return { ...unbound, verdict: 'untrusted', checks: checks.list(), teeType: evidence?.evidence.tee_type };
  }
  await checks.make('gateway.key_set_validity', () => requireLiving(keys.keySet.not_after, asked.moment));
  await checks.make('gateway.registry', () => requireRegistry(keys.keySet, pins));
  await checks.make('gateway.tls_key', () => requireTlsKey(keys.keySet, challenge));
  const { channel } = evidence;
  const root = channel && (await checks.make('gateway.channel', () => rootFor(channel, challenge)));
  const task: HardwareTask = {
    hardware,
    checks,
    pins,
    time: { now: challenge.now, toleranceMs: asked.toleranceMs },
    provenance: evidence.provenance,
    statementsOf: (machine) => {
      const { nonce, origin, audiences = ['client'] } = challenge;
      if (channel !== undefined) {
        const purpose = channelPurposes[machine];
        return root === undefined ? [] : [channelStatementBytes({ keySetDigest: keys.digest, origin, root, purpose })];
      }
      return audiences.map((audience) =>
        statementBytes({ keySetDigest: keys.digest, nonce, origin, purpose: statementPurposes[audience][machine] }),
      );
    },
  };
  const { more, rungs, current, bound, pin } = await checkHardware(evidence.evidence, task);
  if (channel === undefined) {
    await checks.make('gateway.channel', () => refuseLess(keys.keySet, pins, challenge));
  } else if (root !== undefined && !bound) {
    await checks.make('gateway.channel', () => {
      throw new Refusal('the evidence is not for our nonce on this connection: it may be relayed');
    });
  }
  const all = [...checks.list(), ...more];
  const verdict = rungs === undefined ? 'untrusted' : judge<GatewayEvidenceCheckName>(all, rungs);
  return {
    verdict,
    ...currencyOf(verdict, all, current),
    checks: all,
    teeType: evidence.evidence.tee_type,
    keySet: bound ? keys.keySet : undefined,
    binding: bound ? bindingOf(all) : 'none',
    pin,
  };
}

const unbound = { keySet: undefined, binding: 'none', pin: undefined, isCurrent: false, notCurrent: [] } as const;

function bindingOf(checks: readonly Check<GatewayEvidenceCheckName>[]): ChannelBinding {
  const isPassed = (name: GatewayCheckName) =>
    checks.some((check) => check.name === name && check.outcome === 'passed');
  if (isPassed('gateway.channel')) return 'channel';
  return isPassed('gateway.tls_key') ? 'key' : 'none';
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

/** The root of the tree with our nonce on our connection, which the report data must cover. */
function rootFor(proof: ChannelProof, { nonce, channel }: GatewayChallenge): string {
  if (channel === undefined) throw new Refusal('the evidence is for a connection, and ours exports no value here');
  if (channel.exporter === undefined) throw new Refusal(`the evidence is for a connection, and ${tooOld}`);
  return channelRoot(channelLeaf(nonce, ownBytes(channel.exporter, 'the exported value', 64)), proof);
}

const tooOld = 'ours has TLS older than 1.3';

/**
 * Decides about evidence that is bound to no connection. Refuses it if our pins demand the binding, or if the attested key
 * set says that the broker has it. Otherwise a relay with a stolen key would ask the broker for the weaker kind.
 */
function refuseLess({ channel_bindings = [] }: KeySet, pins: GatewayPins, { channel }: GatewayChallenge): void {
  if (pins.channel === false) throw new Unmade('our pins do not ask for it');
  if (channel === undefined) {
    if (pins.channel === true)
      throw new Refusal('our pins demand it, and the connection exports no value here, as in browsers');
    throw new Unmade('the connection exports no value here, as in browsers and without TLS');
  }
  const isOffered = channel_bindings.includes(channelBinding);
  if (pins.channel !== true && !isOffered) throw new Unmade('the gateway does not bind evidence to connections');
  const why = isOffered ? 'the gateway binds evidence to connections' : 'our pins demand it';
  const found = channel.exporter === undefined ? tooOld : 'this evidence is bound to none';
  throw new Refusal(`${why}, and ${found}`);
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

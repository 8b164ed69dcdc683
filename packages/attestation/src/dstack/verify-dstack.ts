import { sha256 } from '@noble/hashes/sha2.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { allZero, type Bytes, concatBytes, fromHex, sameBytes, toHex } from '../bytes.ts';
import { Refusal, Unmade } from '../refusal.ts';
import type { SnpReport } from '../snp/report.ts';
import type { TdReport } from '../tdx/quote.ts';
import { type Check, CheckList } from '../verdict.ts';
import { type MeasuredEvent, parseEventLog, replay } from './event-log.ts';
import { configPreimage, type DstackIdentity, identityFromConfig, identityFromEvents } from './identity.ts';

export const dstackChecks = [
  'dstack.event_log',
  'dstack.boot_replay',
  'dstack.runtime_replay',
  'dstack.machine_config',
  'dstack.identity',
  'dstack.app_compose',
] as const;
export type DstackCheckName = (typeof dstackChecks)[number];

export interface DstackEvidence {
  /** The event log as the guest agent returns it (TDX): a list, or JSON text of one. */
  readonly eventLog?: unknown;
  /**
   * The machine configuration, version 3, byte for byte. For SEV-SNP machines it is the only source of their identity.
   */
  readonly machineConfig?: string | undefined;
  /** The app-compose document, byte for byte. */
  readonly appCompose?: string | undefined;
}

export interface DstackVerification {
  readonly checks: readonly Check<DstackCheckName>[];
  readonly identity: DstackIdentity | undefined;
}

const maximumCompose = 1_048_576;

/** Binds a dstack machine's identity to a TDX report: the log must replay to the report's registers. Never throws. */
export async function verifyDstackTdx(evidence: DstackEvidence, report: TdReport): Promise<DstackVerification> {
  const checks = new CheckList<DstackCheckName>(dstackChecks);
  const events = await checks.make('dstack.event_log', () => {
    if (evidence.eventLog === undefined) throw new Unmade('no event log was given');
    return parseEventLog(evidence.eventLog);
  });
  if (events === undefined) return { checks: checks.list(), identity: undefined };
  await checks.make('dstack.boot_replay', () => requireBootReplay(events, report));
  const replayed = await checks.make('dstack.runtime_replay', () => requireReplay(events, report, 3));
  if (replayed === undefined) return { checks: checks.list(), identity: undefined };
  const identity = await checks.make('dstack.identity', () => identityFromEvents(events));
  if (identity !== undefined) {
    await checks.make('dstack.machine_config', () =>
      requireConfigId(report.mrConfigId, identity, evidence.machineConfig),
    );
    await checks.make('dstack.app_compose', () => requireCompose(evidence.appCompose, identity));
  }
  return { checks: checks.list(), identity };
}

/**
 * Binds a dstack machine's identity to a SEV-SNP report, whose HOST_DATA is the digest of its configuration. Never
 * throws.
 */
export async function verifyDstackSnp(evidence: DstackEvidence, report: SnpReport): Promise<DstackVerification> {
  const checks = new CheckList<DstackCheckName>(dstackChecks);
  const document = await checks.make('dstack.machine_config', () => {
    if (evidence.machineConfig === undefined) throw new Unmade('no machine configuration was given');
    if (!sameBytes(report.hostData, configDigest(evidence.machineConfig))) {
      throw new Refusal('HOST_DATA is not the digest of the machine configuration');
    }
    return evidence.machineConfig;
  });
  if (document === undefined) return { checks: checks.list(), identity: undefined };
  const identity = await checks.make('dstack.identity', () => identityFromConfig(document));
  if (identity !== undefined) {
    await checks.make('dstack.app_compose', () => requireCompose(evidence.appCompose, identity));
  }
  return { checks: checks.list(), identity };
}

/** Pins name the boot registers directly, so a log may omit the boot events. */
function requireBootReplay(events: readonly MeasuredEvent[], report: TdReport): void {
  if (!events.some(({ register }) => register < 3)) throw new Unmade('the log has no events of booting');
  for (const register of [0, 1, 2] as const) requireReplay(events, report, register);
}

function requireReplay(events: readonly MeasuredEvent[], report: TdReport, register: 0 | 1 | 2 | 3): true {
  if (!sameBytes(replay(events, register), report.rtmrs[register])) {
    throw new Refusal(`the event log does not lead to RTMR${register}`);
  }
  return true;
}

function requireCompose(appCompose: string | undefined, { composeHash }: DstackIdentity): void {
  if (appCompose === undefined) throw new Unmade('no app-compose document was given');
  if (appCompose.length > maximumCompose) throw new Refusal('the app-compose document is too large');
  if (toHex(sha256(new TextEncoder().encode(appCompose))) !== composeHash) {
    throw new Refusal('the app-compose document is not what the machine measured');
  }
}

/**
 * MRCONFIGID binds the configuration before the machine boots: version in the first byte, then a digest, then zeros.
 */
function requireConfigId(configId: Bytes, identity: DstackIdentity, machineConfig: string | undefined): void {
  if (allZero(configId)) throw new Unmade('MRCONFIGID is not set');
  if (!allZero(configId.subarray(33))) throw new Refusal('MRCONFIGID has something after its digest');
  const digest = expectedDigest(configId[0] ?? 0, identity, machineConfig);
  if (!sameBytes(configId.subarray(1, 33), digest)) {
    throw new Refusal('MRCONFIGID is not of the identity that the machine logged');
  }
}

function expectedDigest(version: number, identity: DstackIdentity, machineConfig: string | undefined): Uint8Array {
  if (version === 1) return fromHex(identity.composeHash, 'the compose hash', 32);
  if (version === 2) return keccak_256(configPreimage(identity));
  if (version !== 3) throw new Refusal(`MRCONFIGID is of version ${version}, not 1, 2 or 3`);
  if (machineConfig === undefined) throw new Unmade('no machine configuration was given');
  if (identityFromConfig(machineConfig).composeHash !== identity.composeHash) {
    throw new Refusal('the machine configuration names another app-compose document');
  }
  return configDigest(machineConfig);
}

function configDigest(document: string): Uint8Array {
  const utf8 = new TextEncoder();
  return sha256(concatBytes(utf8.encode('dstack-mr-config-v3:'), Uint8Array.of(0), utf8.encode(document)));
}

import { sha256 } from '@noble/hashes/sha2.js';
import { type Bytes, toBase64, toHex } from '../bytes.ts';
import type { HardwareVerifiers } from '../gateway/check-hardware.ts';
import type { GatewayPins } from '../gateway/pins.ts';
import type { GatewayChallenge } from '../gateway/verify-gateway.ts';
import { encodeSimulatedEvidence } from '../simulated/simulated.ts';
import { verifySnpUnder } from '../snp/verify-snp.ts';
import { channelLeaf, channelTree } from '../statement/channel-tree.ts';
import { type KeySet, keySetDigest } from '../statement/key-set.ts';
import {
  type Audience,
  channelPurposes,
  channelStatementBytes,
  reportDataOf,
  statementBytes,
  statementPurposes,
} from '../statement/statement.ts';
import { verifyTdxUnder } from '../tdx/verify-tdx.ts';
import { type DstackMachine, dstackLog } from './dstack-log.ts';
import { SnpMachine } from './snp-machine.ts';
import { type CollateralSettings, type MachineSettings, TdxMachine } from './tdx-machine.ts';

const now = new Date('2026-01-15T00:00:00Z');
export const seconds = now.getTime() / 1000;
export const nonce = '0123456789abcdef'.repeat(4);
export const origin = 'https://broker.example:4001';
const tlsSpki = new Uint8Array(91).fill(5);

export const keySet: KeySet = {
  service: 'sotto',
  not_after: seconds + 30 * 86_400,
  provider_registry_digest: `sha256:${'0f'.repeat(32)}`,
  tls_public_keys: [{ origin, spki_sha256: toHex(sha256(tlsSpki)) }],
  receipt_signing_keys: [{ key_id: 'receipt-1', algorithm: 'ed25519', public_key: 'aa'.repeat(32) }],
  e2ee_public_keys: [],
};

const zeros = '00'.repeat(48);
const boot = { mr_td: zeros, rtmr0: zeros, rtmr1: zeros, rtmr2: zeros };

/** Pins of the machines whose registers are zeros. */
export const pins: GatewayPins = {
  tdx: { minimum_evaluation_number: 18, measurements: [{ name: 'release 1', ...boot, rtmr3: zeros }] },
  sev_snp: {
    minimum_tcb: { milan: { bootloader: 4, tee: 0, snp: 24, microcode: 219 } },
    measurements: [{ measurement: zeros, host_data: '00'.repeat(32) }],
  },
};

export const challenge: GatewayChallenge = { nonce, origin, tlsSpki, pins, now };

const tdx = await TdxMachine.make();
/** Made when a test needs it, because its keys take long to generate. */
let snp: Promise<SnpMachine> | undefined;
const snpMachine = (): Promise<SnpMachine> => {
  snp ??= SnpMachine.make('milan');
  return snp;
};

/** The verifiers with the roots of the test's machines. */
export const hardware: HardwareVerifiers = {
  verifyTdx: (evidence, time, policy) => verifyTdxUnder(tdx.root.anchor, evidence, time, policy),
  verifySnp: async (evidence, time, policy) => verifySnpUnder((await snpMachine()).anchors, evidence, time, policy),
};

/** What evidence states. */
export interface Stated {
  readonly keys?: unknown;
  readonly audience?: Audience;
  readonly machine?: 'hardware' | 'simulated';
}

const statement = ({ keys = keySet, audience = 'client', machine = 'hardware' }: Stated) =>
  statementBytes({ keySetDigest: keySetDigest(keys), nonce, origin, purpose: statementPurposes[audience][machine] });
export const reportDataFor = (stated: Stated = {}) => reportDataOf(statement(stated));

const documentOf = <Evidence>(evidence: Evidence, keys: unknown = keySet) => ({
  version: 'sotto.gateway.evidence.v1',
  key_set: keys,
  evidence,
});

/** A connection as the broker sees it. */
export interface Connection {
  readonly nonce: string;
  /** 32 bytes. */
  readonly exporter: Uint8Array;
}

/** Evidence by one quote for several connections, each with its own document. */
export async function channelDocuments(connections: readonly Connection[], keys: unknown = keySet) {
  const tree = channelTree(connections.map((each) => channelLeaf(each.nonce, each.exporter)));
  const purpose = channelPurposes.hardware;
  const stated = channelStatementBytes({ keySetDigest: keySetDigest(keys), origin, root: tree.root, purpose });
  const shown = await tdx.shown({ reportData: reportDataOf(stated) });
  return connections.map((_, at) => ({ ...documentOf(shown, keys), channel: tree.proofOf(at) }));
}

export interface TdxSettings extends Pick<Stated, 'keys' | 'audience'> {
  readonly machine?: MachineSettings;
  readonly collateral?: CollateralSettings;
  readonly evidence?: Record<string, unknown>;
}

export async function tdxDocument({ machine, collateral, evidence, ...stated }: TdxSettings = {}) {
  const shown = await tdx.shown({ reportData: reportDataFor(stated), ...machine }, collateral);
  return documentOf({ ...shown, ...evidence }, stated.keys);
}

export async function snpDocument(evidence: Record<string, unknown> = {}, reportData = reportDataFor()) {
  return documentOf({ ...(await (await snpMachine()).shown({ reportData })), ...evidence });
}

/** @param signs - another statement to sign. */
export async function simulatedDocument({ signs, ...stated }: Stated & { readonly signs?: Bytes } = {}) {
  const pair = await crypto.subtle.generateKey('Ed25519', true, ['sign', 'verify']);
  if (!('privateKey' in pair)) throw new Error('a key pair was wanted');
  const publicKey = new Uint8Array(await crypto.subtle.exportKey('raw', pair.publicKey));
  const signed = signs ?? statement({ machine: 'simulated', ...stated });
  const signature = new Uint8Array(await crypto.subtle.sign('Ed25519', pair.privateKey, signed));
  const bytes = encodeSimulatedEvidence(publicKey, signature);
  const evidence = { tee_type: 'simulated', simulated: true, simulated_evidence: toBase64(bytes) };
  return { bytes, document: documentOf(evidence) };
}

/** A dstack machine that logged this compose hash, and the pins that know it by that. */
export function dstackMachine(composeHash: string, changed: Partial<DstackMachine> = {}) {
  const own: DstackMachine = { appId: composeHash.slice(0, 40), keyProvider: { name: 'kms', id: '04ab' } };
  const { log, rtmr3 } = dstackLog({ compose: composeHash, osImage: 'dd'.repeat(32), ...own, ...changed });
  const measurements = [{ ...boot, compose_hash: composeHash, app_id: own.appId, key_provider: 'kms:04ab' }];
  return {
    log,
    machine: { rtmrs: [0, 0, 0].map(() => new Uint8Array(48)).concat(rtmr3) } satisfies MachineSettings,
    pins: { tdx: { minimum_evaluation_number: 18, measurements } } satisfies GatewayPins,
  };
}

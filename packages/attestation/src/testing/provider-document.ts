import { verifyNvidiaUnder } from '../nvidia/verify-nvidia.ts';
import { nvidiaIntermediates } from '../pinned-roots.ts';
import type { ProviderChallenge } from '../provider/provider-challenge.ts';
import { type ProviderVerification, type ProviderVerifiers, verifyProviderUnder } from '../provider/verify-provider.ts';
import { verifySnpUnder } from '../snp/verify-snp.ts';
import { verifyTdxUnder } from '../tdx/verify-tdx.ts';
import { failed } from './outcomes.ts';
import { type EnclaveName, enclaveOf, makeKeys, nonce, nonceBytes, now, upstreamModel } from './provider-enclaves.ts';
import { SnpMachine } from './snp-machine.ts';
import { type CollateralSettings, type MachineSettings, TdxMachine } from './tdx-machine.ts';

/** Valid evidence of providers of every family on test machines, and what verifies a change of it. */

export const other = 'f'.repeat(64);
export const zeros = '00'.repeat(48);
export const boot = `mr_td=${zeros},rtmr0=${zeros},rtmr1=${zeros},rtmr2=${zeros}`;
export const pinned = `${boot},rtmr3=${zeros}`;
export const snpPinned = `measurement=${zeros},host_data=${'00'.repeat(32)}`;

export const keys = await makeKeys(0x11);
const tdx = await TdxMachine.make();
export const snp = await SnpMachine.make('genoa');
const verifiers: ProviderVerifiers = {
  verifyTdx: (evidence, time, policy) => verifyTdxUnder(tdx.root.anchor, evidence, time, policy),
  verifySnp: (evidence, time, policy) => verifySnpUnder(snp.anchors, evidence, time, policy),
  verifyNvidia: (evidence, asked, time) => verifyNvidiaUnder(nvidiaIntermediates, evidence, asked, time),
};

/** The changes that a test makes to a valid document. */
export interface Made {
  readonly privacyClass?: 'tee' | 'e2ee';
  readonly machine?: MachineSettings;
  readonly collateral?: CollateralSettings;
  readonly shown?: Record<string, unknown>;
  readonly evidence?: Record<string, unknown>;
  readonly document?: Record<string, unknown>;
}

export async function documentOf(name: EnclaveName, made: Made = {}) {
  const { family, sign, show } = enclaveOf(name);
  const machine = await tdx.shown({ reportData: sign(keys, nonceBytes), ...made.machine }, made.collateral);
  return {
    version: 'sotto.provider.evidence.v1',
    provider: 'vault',
    model: 'acme/wide',
    upstream_model: upstreamModel,
    privacy_class: made.privacyClass ?? 'e2ee',
    family,
    nonce,
    obtained_at: now.toISOString(),
    evidence: { machine: { ...machine, ...made.shown }, ...show(keys), ...made.evidence },
    ...made.document,
  };
}

/** The challenge of a client that pins a provider of this kind. */
export const challengeOf = (name: EnclaveName): ProviderChallenge => ({
  nonce,
  provider: 'vault',
  model: 'acme/wide',
  privacyClass: 'e2ee',
  family: enclaveOf(name).family,
  upstreamModel,
  pins: { measurements: [pinned] },
  now,
});
export const verify = (
  name: EnclaveName,
  document: unknown,
  changes: Partial<ProviderChallenge> = {},
): Promise<ProviderVerification> => verifyProviderUnder(verifiers, document, { ...challengeOf(name), ...changes });
/** Verifies a document of this kind under that challenge. */
export const verifyOf = async (name: EnclaveName, made: Made = {}, changes: Partial<ProviderChallenge> = {}) =>
  verify(name, await documentOf(name, made), changes);

/** The parts of a verification that a test compares. */
export const told = ({ verdict, checks, key }: ProviderVerification) => ({ verdict, failed: failed(checks), key });
export const untrustedBy = (...checks: readonly string[]) => ({ verdict: 'untrusted', failed: checks });

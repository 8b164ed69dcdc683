import { beforeAll, expect, it } from 'vitest';
import { encodeSimulatedEvidence } from '../simulated/simulated.ts';
import { keySetDigest } from '../statement/key-set.ts';
import { type Audience, reportDataOf, statementBytes, statementPurposes } from '../statement/statement.ts';
import { verifyTdxUnder } from '../tdx/verify-tdx.ts';
import { failed } from '../testing/outcomes.ts';
import { TdxMachine } from '../testing/tdx-machine.ts';
import { verifyGatewayUnder } from './verify-gateway.ts';

const now = new Date('2026-01-15T00:00:00Z');
const nonce = '0123456789abcdef'.repeat(4);
const origin = 'https://both.example';
const zeros = '00'.repeat(48);
const keySet = {
  service: 'sotto',
  not_after: now.getTime() / 1000 + 86_400,
  provider_registry_digest: `sha256:${'0f'.repeat(32)}`,
  tls_public_keys: [],
  receipt_signing_keys: [],
  e2ee_public_keys: [],
};
const toBase64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes));
const statementFor = (audience: Audience, machine: 'hardware' | 'simulated') =>
  statementBytes({ keySetDigest: keySetDigest(keySet), nonce, origin, purpose: statementPurposes[audience][machine] });

let machine: TdxMachine;
beforeAll(async () => {
  machine = await TdxMachine.make();
});

const makers: Readonly<Record<'hardware' | 'simulated', (audience: Audience) => Promise<object>>> = {
  async hardware(audience) {
    const quote = await machine.quote({ reportData: reportDataOf(statementFor(audience, 'hardware')) });
    return { tee_type: 'tdx', quote: toBase64(quote), collateral: await machine.collateral() };
  },
  async simulated(audience) {
    const pair = await crypto.subtle.generateKey('Ed25519', true, ['sign', 'verify']);
    if (!('privateKey' in pair)) throw new Error('Ed25519 makes key pairs');
    const key = new Uint8Array(await crypto.subtle.exportKey('raw', pair.publicKey));
    const statement = statementFor(audience, 'simulated');
    const signature = new Uint8Array(await crypto.subtle.sign('Ed25519', pair.privateKey, statement));
    const evidence = toBase64(encodeSimulatedEvidence(key, signature));
    return { tee_type: 'simulated', simulated: true, simulated_evidence: evidence };
  },
};

/** The checks that fail where evidence for one audience is shown to others. */
async function shown(kind: 'hardware' | 'simulated', audience: Audience, audiences?: readonly Audience[]) {
  const measurements = [{ mr_td: zeros, rtmr0: zeros, rtmr1: zeros, rtmr2: zeros, rtmr3: zeros }];
  const { checks, keySet: bound } = await verifyGatewayUnder(
    {
      verifyTdx: (evidence, time, policy) => verifyTdxUnder(machine.root.anchor, evidence, time, policy),
      verifySnp: () => Promise.reject(new Error('there is no SEV-SNP machine here')),
    },
    { version: 'sotto.gateway.evidence.v1', key_set: keySet, evidence: await makers[kind](audience) },
    { nonce, origin, now, audiences, pins: { tdx: { minimum_evaluation_number: 18, measurements } } },
  );
  return { failed: failed(checks).filter((name) => name !== 'simulated.hardware'), isBound: bound !== undefined };
}

it.each([
  ['hardware', 'gateway.report_data'],
  ['simulated', 'simulated.signature'],
] as const)('evidence of %s for a keeper is none for a client, nor the other way about', async (kind, check) => {
  const refused = { failed: [check], isBound: false };
  const taken = { failed: [], isBound: true };
  expect(await shown(kind, 'client')).toEqual(taken);
  expect(await shown(kind, 'keeper')).toEqual(refused);
  expect(await shown(kind, 'keeper', ['keeper'])).toEqual(taken);
  expect(await shown(kind, 'client', ['keeper'])).toEqual(refused);
  // As a keeper does while there are brokers of before.
  expect(await shown(kind, 'client', ['keeper', 'client'])).toEqual(taken);
  expect(await shown(kind, 'client', [])).toEqual(refused);
});

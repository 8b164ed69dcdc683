import {
  type Check,
  type GatewayPins,
  keySetDigest,
  reportDataOf,
  statementBytes,
  statementPurposes,
  verifyGateway,
  verifySnp,
} from '@sotto/attestation';
import { TdxMachine, verifyGatewayUnder, verifyTdxUnder } from '@sotto/attestation/testing';
import { type OriginVerification, verify } from '@sotto/client';
import {
  makePrivateClient,
  nodePlatform,
  type PrivateClient,
  type SimulatedGateway,
  simulatedEvidence,
  simulatedKeySet,
} from '@sotto/client/testing';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { echo, type StandInService, startStandIn } from './stand-in.ts';

/** A time at which the machine's certificates and collateral are valid. */
const now = Date.parse('2026-01-15T00:00:00Z');
const zeros = '00'.repeat(48);
const pins: GatewayPins = {
  tdx: {
    minimum_evaluation_number: 18,
    measurements: [{ mr_td: zeros, rtmr0: zeros, rtmr1: zeros, rtmr2: zeros, rtmr3: zeros }],
  },
};
const body = JSON.stringify({ model: 'acme/small', messages: [{ role: 'user', content: 'CONTENT-MARKER' }] });

let machine: TdxMachine;
let service: StandInService;
let client: PrivateClient | undefined;
beforeAll(async () => {
  machine = await TdxMachine.make();
});
beforeEach(async () => {
  service = await startStandIn({ tls: true });
  service.onBroker(echo);
  service.states({ notAfter: now / 1000 + 86_400 });
  service.onEvidence((nonce) => evidenceOf(nonce, service.stated()));
});
afterEach(async () => {
  client?.session.close();
  await service.stop();
});

/** Returns evidence of the machine for a nonce and a gateway's statement. */
async function evidenceOf(nonce: string, gateway: SimulatedGateway, shown: SimulatedGateway = gateway) {
  const statement = statementBytes({
    keySetDigest: keySetDigest(simulatedKeySet(gateway)),
    nonce,
    origin: gateway.statedOrigin ?? gateway.origin,
    purpose: statementPurposes.client.hardware,
  });
  const quote = await machine.quote({ reportData: reportDataOf(statement) });
  return {
    version: 'sotto.gateway.evidence.v1',
    key_set: simulatedKeySet(shown),
    evidence: { tee_type: 'tdx', quote: Buffer.from(quote).toString('base64'), collateral: await machine.collateral() },
  };
}

/** Creates a client with every check enabled, which trusts the root of the test's machine in place of Intel's. */
function strictClient(onVerified: (verification: OriginVerification) => void = () => undefined): PrivateClient {
  const { controlUrl: controlOrigin, baseUrl: baseOrigin } = service;
  const hardware: Parameters<typeof verifyGatewayUnder>[0] = {
    verifyTdx: (evidence, time, policy) => verifyTdxUnder(machine.root.anchor, evidence, time, policy),
    verifySnp,
  };
  client = makePrivateClient(
    nodePlatform({ selfSigned: true }),
    { apiKey: 'key', controlOrigin, baseOrigin, pins: { gateway: pins }, now: () => now, onVerified },
    { verifyGateway: (document, challenge) => verifyGatewayUnder(hardware, document, challenge) },
  );
  return client;
}

const ask = ({ exchange }: PrivateClient) =>
  exchange.ask({
    method: 'POST',
    path: '/v1/chat/completions',
    header: () => undefined,
    body,
    signal: new AbortController().signal,
  });
const failed = (checks: readonly Check[]): string[] =>
  checks.filter(({ outcome }) => outcome === 'failed').map(({ name }) => name);

it('an honest service is hardware-verified, and gets the content', async () => {
  const verified: OriginVerification[] = [];
  expect((await ask(strictClient((verification) => verified.push(verification)))).status).toBe(200);
  expect(verified.map(({ verdict }) => verdict)).toEqual(['hardware_verified']);
  expect(service.broker).toHaveLength(1);
});

describe('a service that tampers gets nothing, and the error names the check that detected it', () => {
  const strange = 'ab'.repeat(32);
  it.each<[string, (nonce: string) => unknown, string, string]>([
    [
      'the quote of another origin',
      (nonce) => evidenceOf(nonce, { ...service.stated(), statedOrigin: 'https://other.example' }),
      'nonce_mismatch',
      'gateway.report_data',
    ],
    [
      'a quote for an old nonce',
      () => evidenceOf('0'.repeat(64), service.stated()),
      'nonce_mismatch',
      'gateway.report_data',
    ],
    [
      'a key set with a key of its own',
      (nonce) =>
        evidenceOf(nonce, service.stated(), {
          ...service.stated(),
          spkiSha256: [...(service.stated().spkiSha256 ?? []), strange],
        }),
      'nonce_mismatch',
      'gateway.report_data',
    ],
    [
      'a quote whose key set names other keys',
      (nonce) => evidenceOf(nonce, { ...service.stated(), spkiSha256: [strange] }),
      'attestation_untrusted',
      'gateway.tls_key',
    ],
    [
      'a key set that has ended',
      (nonce) => evidenceOf(nonce, { ...service.stated(), notAfter: now / 1000 - 3600 }),
      'attestation_untrusted',
      'gateway.key_set_validity',
    ],
    [
      'simulated evidence relabelled as a quote',
      async (nonce) => {
        const { evidence, ...rest } = await simulatedEvidence(nonce, service.stated());
        const quote = 'simulated_evidence' in evidence ? evidence.simulated_evidence : '';
        return { ...rest, evidence: { tee_type: 'tdx', quote, collateral: await machine.collateral() } };
      },
      'attestation_untrusted',
      'tdx.format',
    ],
    [
      'simulated evidence as it is',
      (nonce) => simulatedEvidence(nonce, service.stated()),
      'attestation_untrusted',
      'simulated.hardware',
    ],
    [
      'a quote with one bit changed',
      async (nonce) => {
        const { evidence, ...rest } = await evidenceOf(nonce, service.stated());
        const quote = Buffer.from(evidence.quote, 'base64');
        quote[200] = (quote[200] ?? 0) ^ 1;
        return { ...rest, evidence: { ...evidence, quote: quote.toString('base64') } };
      },
      'attestation_untrusted',
      'tdx.quote_signature',
    ],
    ['no evidence at all', () => ({}), 'attestation_untrusted', ''],
  ])('%s', async (_, evidence, code, check) => {
    service.onEvidence(evidence);
    const failure = await ask(strictClient()).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code });
    if (code === 'attestation_untrusted') expect(String((failure as Error).message)).toContain(check);
    expect(service.broker).toEqual([]);
    // The public function `verify` must come to the same result on the same evidence.
    const { gateway } = await verify(service.baseUrl, { pins: { gateway: pins }, selfSigned: true, now: () => now });
    expect(gateway.verdict).toBe('untrusted');
    if (check !== '') expect(failed(gateway.checks)).toContain(check);
  });
});

it('a machine under its own root does not belong to a vendor: the public functions reject it', async () => {
  const { gateway } = await verify(service.baseUrl, { pins: { gateway: pins }, selfSigned: true, now: () => now });
  expect(gateway.verdict).toBe('untrusted');
  expect(failed(gateway.checks)).toContain('tdx.pck_chain');
  expect(verifyGateway).toHaveLength(2);
});

it('a change of key within the verified set is accepted; a key outside it is rejected', async () => {
  const strict = strictClient();
  service.onBroker((seen, response, request) => echo(seen, response.setHeader('connection', 'close'), request));
  await (await ask(strict)).toResponse().text();
  await service.changeKey({ named: true });
  expect((await ask(strict)).status).toBe(200);
  await service.changeKey({ named: false });
  await expect(ask(strict)).rejects.toMatchObject({ code: 'connection_not_verified' });
  expect(service.broker).toHaveLength(2);
});

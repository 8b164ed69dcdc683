/** Evidence needs no service: brokers in this process, machines with roots of their own, and a clock that tests move. */

import { randomBytes } from 'node:crypto';
import { request } from 'node:https';
import type { TLSSocket } from 'node:tls';
import {
  type Check,
  type GatewayChallenge,
  type GatewayPins,
  keySetDigest,
  type Provenance,
  verifySnp,
  verifyTdx,
} from '@sotto/attestation';
import { configfsSource, type EvidenceProducer, hardwareProducer, VendorDocuments } from '@sotto/attestation/producers';
import {
  type SnpMachine,
  type TdxMachine,
  verifyGatewayUnder,
  verifySnpUnder,
  verifyTdxUnder,
} from '@sotto/attestation/testing';
import { buildBroker } from '@sotto/confidential';
import { makeTlsKey, TlsKeeper, tlsOptions } from '@sotto/confidential/testing';
import { readBrokerConfigWithoutRedis } from '@sotto/server';
import { createMemoryState, MemoryStore } from '@sotto/state';
import { freePort } from '@sotto/test-servers';
import { pino } from 'pino';
import { oneModel } from '../../kit/catalog.ts';
import { ConfigfsStandIn } from './configfs-stand-in.ts';

const { registry } = oneModel({ baseUrl: 'http://127.0.0.1:9/v1' });

const zeros = '00'.repeat(48);
/** The measurements of the stand-in machines: zeros only. */
export const pins: GatewayPins = {
  tdx: {
    minimum_evaluation_number: 18,
    measurements: [{ mr_td: zeros, rtmr0: zeros, rtmr1: zeros, rtmr2: zeros, rtmr3: zeros }],
  },
  sev_snp: {
    minimum_tcb: { milan: { bootloader: 4, tee: 0, snp: 24, microcode: 219 } },
    measurements: [{ measurement: zeros, host_data: '00'.repeat(32) }],
  },
};

/** The stand-in machines' documents are valid from this time on. */
const begin = Date.parse('2026-01-10T00:00:00Z');
export const clock = {
  nowMs: begin,
  now: () => clock.nowMs,
  reset: () => {
    clock.nowMs = begin;
  },
};

/** A document that a vendor's service publishes. */
export type VendorAnswer = readonly [path: RegExp, answer: () => Promise<Response>];

/** Intel's service, for a machine with its own root. Its documents stay valid for the whole test. */
export function intelFor(machine: TdxMachine): VendorAnswer[] {
  const until = '2026-04-30T00:00:00Z';
  const collateral = () =>
    machine.collateral({
      tcbInfo: { nextUpdate: until },
      qeIdentity: { nextUpdate: until },
      rootCrl: { until },
      pckCrl: { until },
    });
  const bytes = (hex: string) => new Response(Buffer.from(hex, 'hex'));
  const chain = (name: string, pem: string) => ({ headers: { [name]: encodeURIComponent(pem) } });
  return [
    [
      /\/tdx\/certification\/v4\/tcb\?fmspc=90c06f000000$/,
      async () => {
        const { tcb_info: text, tcb_info_signature: signature, tcb_info_issuer_chain: pem } = await collateral();
        return new Response(`{"tcbInfo":${text},"signature":"${signature}"}`, chain('TCB-Info-Issuer-Chain', pem));
      },
    ],
    [
      /\/tdx\/certification\/v4\/qe\/identity$/,
      async () => {
        const {
          qe_identity: text,
          qe_identity_signature: signature,
          qe_identity_issuer_chain: pem,
        } = await collateral();
        const headers = chain('SGX-Enclave-Identity-Issuer-Chain', pem);
        return new Response(`{"enclaveIdentity":${text},"signature":"${signature}"}`, headers);
      },
    ],
    [/\/sgx\/certification\/v4\/pckcrl\?ca=platform&encoding=der$/, async () => bytes((await collateral()).pck_crl)],
    [/\/IntelSGXRootCA\.der$/, async () => bytes((await collateral()).root_ca_crl)],
  ];
}

export const vendorsWith = (answers: readonly VendorAnswer[]): VendorDocuments =>
  new VendorDocuments({
    now: clock.now,
    onExpiring: () => {},
    fetch: async (url) => {
      const found = answers.find(([path]) => path.test(url));
      return found === undefined ? new Response('', { status: 404 }) : found[1]();
    },
  });

/** A TDX guest whose kernel makes reports through configfs. */
export async function tdxGuest(machine: TdxMachine) {
  const configfs = await ConfigfsStandIn.make({
    provider: 'tdx_guest',
    report: (reportData) => machine.quote({ reportData }),
  });
  const source = configfsSource({ directory: configfs.directory, files: configfs.files });
  return { configfs, producer: hardwareProducer(source, vendorsWith(intelFor(machine))) };
}

export interface AttestedBroker {
  readonly origin: string;
  readonly keeper: TlsKeeper;
  /** Lets this many days pass. Keys rotate as they would in that time. */
  pass(days: number): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a broker on loopback that serves TLS with its own key and gets evidence from `producer`. */
export async function startAttestedBroker(
  producer: EvidenceProducer,
  provenance?: Provenance,
): Promise<AttestedBroker> {
  const port = await freePort();
  const origin = `https://127.0.0.1:${port}`;
  const keeper = await TlsKeeper.start({
    now: clock.now,
    makeKey: (validity) => makeTlsKey('127.0.0.1', validity),
  });
  const secret = (): string => randomBytes(32).toString('base64');
  const read = readBrokerConfigWithoutRedis({
    CONFIDENTIAL_ORIGIN: origin,
    TICKET_SEALING_KEY: secret(),
    SETTLEMENT_MAC_KEY: secret(),
  });
  if (!read.ok) throw new Error(read.message);
  const broker = await buildBroker({
    config: read.settings,
    state: createMemoryState({ store: new MemoryStore(Date.now) }),
    logger: pino({ level: 'silent' }),
    registryFile: { name: 'providers.yaml', bytes: Buffer.from(registry) },
    imageRegistry: { name: 'providers.yaml', bytes: Buffer.from(registry) },
    providerKey: () => undefined,
    tls: { ...tlsOptions, ...keeper.served },
    gateway: { origin, producer, tlsKeys: () => keeper.named, provenance },
    now: clock.now,
  });
  await broker.app.listen({ host: '127.0.0.1', port });
  return {
    origin,
    keeper,
    async pass(days) {
      clock.nowMs += days * 86_400_000;
      const { server } = broker.app;
      await keeper.refresh();
      if ('setSecureContext' in server && typeof server.setSecureContext === 'function') {
        server.setSecureContext({ ...tlsOptions, ...keeper.served });
      }
    },
    async stop() {
      await broker.app.close();
    },
  };
}

/** One connection as a verifier sees it. */
export interface Seen {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly document: unknown;
  /** The key that this connection proved. */
  readonly tlsSpki: Uint8Array;
}

export const freshNonce = (): string => randomBytes(32).toString('hex');

/** Asks for evidence on a new connection. */
export function askForEvidence(origin: string, nonce: string): Promise<Seen> {
  return new Promise((resolve, reject) => {
    const url = `${origin}/v1/gateway/attestation?nonce=${nonce}`;
    const asked = request(url, { agent: false, rejectUnauthorized: false }, (answer) => {
      const key = (answer.socket as TLSSocket).getPeerX509Certificate()?.publicKey;
      const tlsSpki = Uint8Array.from(key?.export({ type: 'spki', format: 'der' }) ?? []);
      let text = '';
      answer.on('data', (piece) => {
        text += piece;
      });
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, document: JSON.parse(text), tlsSpki }),
      );
    });
    asked.on('error', reject);
    asked.end();
  });
}

/** Verifies as a client does, under the stand-in machines' roots. */
export function verifier({ tdx, snp }: { readonly tdx?: TdxMachine; readonly snp?: SnpMachine }) {
  return (
    seen: { readonly document: unknown; readonly tlsSpki: Uint8Array | undefined },
    challenge: Pick<GatewayChallenge, 'origin' | 'nonce' | 'audiences' | 'channel'> & { pins?: GatewayPins },
  ) =>
    verifyGatewayUnder(
      {
        verifyTdx: (evidence, time, policy) =>
          tdx === undefined
            ? verifyTdx(evidence, time, policy)
            : verifyTdxUnder(tdx.root.anchor, evidence, time, policy),
        verifySnp: (evidence, time, policy) =>
          snp === undefined ? verifySnp(evidence, time, policy) : verifySnpUnder(snp.anchors, evidence, time, policy),
      },
      seen.document,
      { pins, now: new Date(clock.nowMs), tlsSpki: seen.tlsSpki, ...challenge },
    );
}

/** The digest of the key set in a document. */
export const digestOf = (document: unknown): string => keySetDigest((document as { key_set: unknown }).key_set);

/** The names of the checks with this outcome. */
export const outcomes = (checks: readonly Check[], outcome: Check['outcome']): string[] =>
  checks.filter((check) => check.outcome === outcome).map(({ name }) => name);

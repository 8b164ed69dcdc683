import { type Bytes, fromHex, toHex } from '../bytes.ts';
import { type TdxCollateral, tdxCollateralSchema } from '../tdx/collateral.ts';
import { pckPlatformOf } from '../tdx/pck-extension.ts';
import { parseTdxQuote } from '../tdx/quote.ts';
import { parsePemChain } from '../x509/certificate.ts';
import { crlPeriod } from '../x509/crl.ts';
import { parseInstant } from '../x509/der.ts';
import { type Fetch, type FetchedDocument, fetchDocument } from './bounded-fetch.ts';
import type { Dated } from './kept-documents.ts';
import { EvidenceError } from './producer.ts';

// Intel's Provisioning Certification Service, version 4. Intel signs all its answers, so a mirror (PCCS) can only
// withhold or delay them.
const intel = {
  service: 'https://api.trustedservices.intel.com',
  rootCrl: 'https://certificates.trustedservices.intel.com/IntelSGXRootCA.der',
} as const;

/**
 * Identifies the collateral that a quote needs: the platform's FMSPC and the Intel authority that certified it, as one
 * text.
 */
export function collateralKeyOf(quote: Uint8Array): string {
  const [leaf, authority] = parsePemChain(parseTdxQuote(quote).pckChain, 'the PCK chain');
  if (leaf === undefined || authority === undefined) throw new EvidenceError('quote_malformed', 'no PCK chain');
  const kind = authority.commonName?.includes('Processor') ? 'processor' : 'platform';
  return `${pckPlatformOf(leaf).fmspc}:${kind}`;
}

/**
 * Loads Intel's documents about a platform. `mirror` is the base address of a PCCS to ask instead. `until` is when the
 * first of the documents expires.
 */
export async function loadTdxCollateral(
  key: string,
  { fetch, mirror }: { readonly fetch: Fetch; readonly mirror: string | undefined },
): Promise<Dated<TdxCollateral>> {
  const [fmspc = '', authority = ''] = key.split(':');
  const base = mirror ?? intel.service;
  const [tcb, qe, pckCrl, rootCrl] = await Promise.all([
    fetchDocument(fetch, `${base}/tdx/certification/v4/tcb?fmspc=${fmspc}`),
    fetchDocument(fetch, `${base}/tdx/certification/v4/qe/identity`),
    fetchDocument(fetch, `${base}/sgx/certification/v4/pckcrl?ca=${authority}&encoding=der`),
    fetchDocument(fetch, mirror === undefined ? intel.rootCrl : `${mirror}/sgx/certification/v4/rootcacrl`),
  ]);
  const tcbInfo = signedText(tcb, 'tcbInfo');
  const qeIdentity = signedText(qe, 'enclaveIdentity');
  const [pck, root] = [derOf(pckCrl.body), derOf(rootCrl.body)];
  const document = tdxCollateralSchema.parse({
    root_ca_crl: toHex(root),
    pck_crl: toHex(pck),
    tcb_info_issuer_chain: chainOf(tcb, ['tcb-info-issuer-chain', 'sgx-tcb-info-issuer-chain']),
    tcb_info: tcbInfo.text,
    tcb_info_signature: tcbInfo.signature,
    qe_identity_issuer_chain: chainOf(qe, ['sgx-enclave-identity-issuer-chain']),
    qe_identity: qeIdentity.text,
    qe_identity_signature: qeIdentity.signature,
  });
  const ends = [crlPeriod(root).untilMs, crlPeriod(pck).untilMs, tcbInfo.untilMs, qeIdentity.untilMs];
  return { document, until: Math.min(...ends) };
}

/** The inner object exactly as Intel wrote and signed it. Parsing and writing it again would change the bytes. */
function signedText({ body }: FetchedDocument, member: string): { text: string; signature: string; untilMs: number } {
  const whole = new TextDecoder('utf-8', { fatal: true }).decode(body);
  const match = new RegExp(
    `^\\s*\\{\\s*"${member}"\\s*:\\s*(\\{.*\\})\\s*,\\s*"signature"\\s*:\\s*"([0-9a-fA-F]{128})"\\s*\\}\\s*$`,
    's',
  ).exec(whole);
  const [, text, signature] = match ?? [];
  if (text === undefined || signature === undefined) {
    throw new EvidenceError('collateral_malformed', `Intel's answer has no signed ${member}`);
  }
  const { nextUpdate } = JSON.parse(text) as { nextUpdate?: unknown };
  return { text, signature, untilMs: parseInstant(String(nextUpdate)) };
}

function chainOf({ headers }: FetchedDocument, names: readonly string[]): string {
  const chain = names.map((name) => headers.get(name)).find((value) => value !== null);
  if (chain === undefined || chain === null) throw new EvidenceError('collateral_malformed', 'no issuer chain');
  return decodeURIComponent(chain);
}

/** A list as DER. Mirrors answer in hex. */
function derOf(body: Bytes): Bytes {
  return body[0] === 0x30 ? body : fromHex(new TextDecoder().decode(body).trim(), 'the list');
}

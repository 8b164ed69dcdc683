import {
  providerFamilies,
  verifyGateway,
  verifyNvidia,
  verifyProvider,
  verifyProviderReceipt,
  verifySnp,
  verifyTdx,
} from '@sotto/attestation';
import { hashFile } from '@sotto/attestation/measure';
import {
  acpiDigests,
  acpiFiles,
  canonicalJson,
  type DerElement,
  derChildren,
  derInteger,
  derObjectIdentifier,
  derTime,
  fromBase64,
  fromHex,
  identityFromConfig,
  identityFromEvents,
  kernelEvents,
  launchDigest,
  madeFirmware,
  madeInitrd,
  madeKernel,
  memoryMap,
  mrTd,
  parseCertificate,
  parseEventLog,
  parsePemChain,
  parseSnpReport,
  parseTdxQuote,
  pckPlatformOf,
  platformEvents,
  Refusal,
  readDer,
  readEndorsement,
  readFirmware,
  requireAuthority,
  requireUnderstood,
  tdSectionsOf,
  toBase64,
  vcpusIn,
  vectorBytes,
  vectorCertificate,
  vectorDstackQuote,
  vectorInflated,
  vectorJson,
  vectorText,
} from '@sotto/attestation/testing';
import type { FuzzTarget } from '../engine/target.ts';

type Bytes = Uint8Array<ArrayBuffer>;

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
const bytes = (value: string): Bytes => new TextEncoder().encode(value);
const tdxQuotes = [
  vectorBytes('tdx/dcapqvl_tdx_quote_v4.bin'),
  vectorBytes('tdx/gotdx_quote_v5_sample.bin'),
  vectorDstackQuote('dstack/quote-report.json'),
];
const certificates = ['ms_milan_vcek.pem', 'ms_turin_vcek.pem', 'ar_milan_vlek.der', 'ar_genoa_ask.der'].map((name) =>
  vectorCertificate(`snp/${name}`),
);
const collateral = vectorJson<Record<string, string>>('tdx/collateral_2026-03_90c06f.json');
const pckChain = parsePemChain(parseTdxQuote(tdxQuotes[0]).pckChain, 'the PCK chain').map(({ raw }) => raw);
const revocationList = fromHex(collateral.pck_crl ?? '', 'the PCK CRL');
const eventLog = vectorJson<{ event_log: string }>('dstack/tdx-lite-getquote.json').event_log;
const tokens = vectorText('nvidia/hopperClaimsv3_detached_eat.json');
const time = { now: new Date('2026-03-25T00:00:00Z') };
const nonce = 'ab'.repeat(32);
const snpDocument = JSON.stringify({
  version: 'sotto.gateway.evidence.v1',
  key_set: {
    service: 'sotto',
    not_after: 1_780_000_000,
    provider_registry_digest: `sha256:${nonce}`,
    tls_public_keys: [{ origin: 'https://a.example', spki_sha256: nonce }],
    receipt_signing_keys: [],
    e2ee_public_keys: [{ key_id: 'k', algorithm: 'a', public_key: 'ab' }],
  },
  evidence: {
    tee_type: 'sev_snp',
    report: toBase64(vectorBytes('snp/ms_milan_report.bin')),
    endorsement_key: toBase64(certificates[0] ?? new Uint8Array()),
    intermediate: toBase64(vectorCertificate('snp/ms_milan_ask.pem')),
    machine_config: '{"compose_hash":""}',
  },
});

const tdxMachine = { tee_type: 'tdx', quote: toBase64(tdxQuotes[0] ?? new Uint8Array()), event_log: [] };
const providerEvidence = {
  near: { signing_algo: 'ed25519', signing_address: nonce, tls_spki_sha256: nonce, gpu: { payload: '{"nonce":""}' } },
  phala: {
    protocol: 'aci',
    key_set: { not_after: 1, e2ee_public_keys: [], tls_public_keys: [{ spki_sha256: nonce }] },
  },
  venice: { signing_public_key: '04'.padEnd(130, 'a') },
  tinfoil: {},
  chutes: {
    chute_id: 'c',
    instance_id: 'i',
    e2e_pubkey: 'AAAA',
    certificate: toBase64(certificates[2] ?? new Uint8Array()),
  },
};
const providerDocuments = Object.entries(providerEvidence).map(([family, evidence]) =>
  JSON.stringify({
    version: 'sotto.provider.evidence.v1',
    provider: 'p',
    model: 'm',
    upstream_model: 'm@c',
    privacy_class: 'e2ee',
    family,
    nonce,
    obtained_at: '2026-03-25T00:00:00Z',
    evidence: { ...evidence, machine: tdxMachine },
  }),
);
const receipt = vectorText('near/chat_signature_eip191.json');

const acpiTables = vectorInflated('measure/qemu_q35_2_vcpus_tables').slice(0, 9000);
const bootFiles = { kernel: madeKernel(), initrd: hashFile([madeInitrd()]), commandLine: '' };
const memory = memoryMap(2 ** 31);

interface EvidenceReader extends Pick<FuzzTarget, 'name' | 'share' | 'seeds'> {
  readonly read: (input: Bytes) => unknown;
}

const readers: readonly EvidenceReader[] = [
  { name: 'tdx-quote', share: 2, seeds: tdxQuotes, read: parseTdxQuote },
  { name: 'snp-report', share: 2.4, seeds: [vectorBytes('snp/ms_turin_report.bin')], read: parseSnpReport },
  { name: 'certificate', share: 2, seeds: [...certificates, ...pckChain], read: readCertificate },
  {
    name: 'der-tree',
    share: 0.3,
    seeds: [revocationList.slice(0, 1500), ...certificates],
    read: (input) => walk(input, 0),
  },
  {
    name: 'pem',
    share: 0.6,
    seeds: [bytes(collateral.tcb_info_issuer_chain ?? '')],
    read: (input) => parsePemChain(input, 'PEM'),
  },
  {
    name: 'base64',
    share: 0.6,
    seeds: [bytes(toBase64(new Uint8Array(300).map((_, at) => at)))],
    read: (input) => fromBase64(text(input), 'base64'),
  },
  {
    name: 'hex',
    share: 0.4,
    seeds: [bytes('0123456789abcdefABCDEF'.repeat(9))],
    read: (input) => fromHex(text(input), 'hex'),
  },
  {
    name: 'event-log',
    share: 0.5,
    seeds: [bytes(eventLog)],
    read: (input) => identityFromEvents(parseEventLog(text(input))),
  },
  {
    name: 'machine-configuration',
    share: 0.5,
    seeds: [bytes(machineConfig())],
    read: (input) => identityFromConfig(text(input)),
  },
  {
    name: 'canonical-json',
    share: 0.5,
    seeds: [bytes(collateral.tcb_info ?? '').slice(0, 900), bytes(snpDocument)],
    read: readJson,
  },
  { name: 'firmware-for-sev-snp', share: 0.03, seeds: [madeFirmware()], read: readSnpFirmware },
  { name: 'firmware-for-tdx', share: 0.03, seeds: [madeFirmware()], read: readTdxFirmware },
  {
    name: 'kernel',
    share: 0.1,
    seeds: [madeKernel()],
    read: (kernel) => kernelEvents({ ...bootFiles, kernel }, memory),
  },
  { name: 'acpi-tables', share: 0.1, seeds: [acpiTables], read: (tables) => [acpiFiles(tables), vcpusIn(tables)] },
  {
    name: 'whole-tdx-verification',
    share: 0.01,
    seeds: tdxQuotes,
    read: (quote) => verifyTdx({ quote, collateral }, time, {}),
  },
  { name: 'whole-tdx-collateral', share: 0.01, seeds: [bytes(JSON.stringify(collateral))], read: readCollateral },
  { name: 'whole-snp-verification', share: 0.03, seeds: certificates, read: readEndorsementKey },
  { name: 'whole-nvidia-verification', share: 0.03, seeds: [bytes(tokens)], read: readTokens },
  { name: 'whole-provider-verification', share: 0.03, seeds: providerDocuments.map(bytes), read: readProviderDocument },
  { name: 'provider-receipt', share: 0.03, seeds: [bytes(receipt)], read: readReceipt },
  { name: 'whole-gateway-verification', share: 0.03, seeds: [bytes(snpDocument)], read: readDocument },
];

/** Every reader of the evidence of hardware and enclaves. A refusal is an answer. */
export const evidenceTargets: readonly FuzzTarget[] = readers.map(({ read, name, ...target }) => ({
  ...target,
  name: `evidence-${name}`,
  grammar: 'bytes',
  async read(input) {
    try {
      await read(Uint8Array.from(input));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
    }
  },
}));

function readSnpFirmware(input: Bytes): Bytes {
  const firmware = readFirmware(input);
  return launchDigest({ firmware, boot: bootFiles, vcpus: 2, cpuSignature: 0, guestFeatures: 1 });
}

function readTdxFirmware(input: Bytes): unknown {
  const sections = tdSectionsOf(readFirmware(input));
  return [mrTd(sections, 'pages_first'), platformEvents(sections, memory, acpiDigests(acpiFiles(acpiTables)))];
}

function readCertificate(input: Bytes): void {
  const certificate = parseCertificate(input);
  // Calls every reader of extensions, even if an earlier one refuses.
  for (const read of [readEndorsement, pckPlatformOf, (of: typeof certificate) => requireAuthority(of, 0)]) {
    try {
      read(certificate);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
    }
  }
  requireUnderstood(certificate.extensions);
}

/** Tries each primitive on each element, down the tree. */
function walk(input: Bytes, depth: number): void {
  const element = readDer(input, input[0] ?? 0);
  for (const read of [derInteger, derObjectIdentifier, derTime] as ((of: DerElement) => unknown)[]) {
    try {
      read(element);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
    }
  }
  if ((element.tag & 0x20) !== 0 && depth < 12) for (const child of derChildren(element)) walk(child.raw, depth + 1);
}

function readJson(input: Bytes): string {
  return canonicalJson(jsonOr(input, undefined));
}

function readCollateral(input: Bytes) {
  return verifyTdx({ quote: tdxQuotes[1] ?? input, collateral: jsonOr(input, text(input)) }, time, {});
}

function readEndorsementKey(endorsementKey: Bytes) {
  const report = vectorBytes('snp/ms_milan_report.bin');
  return verifySnp({ report, endorsementKey, intermediate: vectorCertificate('snp/ms_milan_ask.pem') }, time, {});
}

function readTokens(input: Bytes) {
  const keySet = { keys: [{ kid: 'k', kty: 'EC', x5c: [] }] };
  return verifyNvidia({ tokens: jsonOr(input, text(input)), keySet }, nonce, time);
}

function readProviderDocument(input: Bytes) {
  const route = { provider: 'p', model: 'm', upstreamModel: 'm@c', privacyClass: 'e2ee', pins: undefined } as const;
  const document = jsonOr(input, text(input));
  // So that the readers of every family run. The verdict is not used.
  const family = providerFamilies.find((each) => text(input).includes(`"family":"${each}"`));
  return verifyProvider(document, { nonce, ...route, family, ...time });
}

function readReceipt(input: Bytes) {
  const key = { algorithm: 'secp256k1', publicKey: new Uint8Array(65) } as const;
  return verifyProviderReceipt(jsonOr(input, text(input)), { requestSha256: nonce, responseSha256: nonce, key });
}

function readDocument(input: Bytes) {
  return verifyGateway(jsonOr(input, text(input)), { nonce, origin: 'https://a.example', pins: {}, ...time });
}

/** Broken JSON usually does not parse. The inputs that still parse are the interesting ones. */
function jsonOr(input: Bytes, otherwise: unknown): unknown {
  try {
    return JSON.parse(text(input));
  } catch {
    return otherwise;
  }
}

function machineConfig(): string {
  const packed = new TextDecoder('latin1').decode(vectorBytes('dstack/sev_snp_attestation.bin'));
  return packed.slice(packed.indexOf('{"app_id"'), packed.indexOf('"version":3}') + 12);
}

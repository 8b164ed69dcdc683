import { ByteReader, type Bytes, sameBytes, toHex } from '../bytes.ts';
import type { SnpProduct } from '../pinned-roots.ts';
import { type Endorsement, productOfCpu, signerOf } from '../snp/endorsement.ts';
import { readTcb, type SnpReport } from '../snp/report.ts';
import { certificateBounds, parseCertificate, parsePemChain } from '../x509/certificate.ts';
import { crlPeriod } from '../x509/crl.ts';
import { type Fetch, fetchDocument } from './bounded-fetch.ts';
import type { Dated } from './kept-documents.ts';
import { EvidenceError } from './producer.ts';

/** The certificates between a report and AMD's root, in DER. */
export interface SnpEndorsement {
  readonly endorsementKey: Bytes;
  readonly intermediate: Bytes;
}

/**
 * AMD's Key Distribution Service. Its answers are signed under AMD's roots. It accepts about one request in ten
 * seconds.
 */
const service = 'https://kdsintf.amd.com';
const amdNames: Readonly<Record<SnpProduct, string>> = { milan: 'Milan', genoa: 'Genoa', turin: 'Turin' };

/** Names of entries in the certificate table (GHCB specification 2.03, table 7; AMD document 56421). */
const entries = {
  vcek: '63da758de6644564adc5f4b93be8accd',
  vlek: 'a8074bc2a25a483eaae639c045a0b8a1',
  ask: '4ab7b379bbac4fe4a02f05aef327c782',
} as const;

const maxEntries = 32;

/**
 * The certificates that the host put into the certificate table for a report: the signing key's and its issuer's.
 * Undefined unless both are present and one was issued by the other, because hosts can put anything there.
 */
export function endorsementFromTable(report: SnpReport, table: Bytes): SnpEndorsement | undefined {
  const found = entriesOf(table);
  const endorsementKey = found.get(entries[kindOf(report)]);
  const intermediate = found.get(entries.ask);
  if (endorsementKey === undefined || intermediate === undefined) return undefined;
  try {
    const isIssuer = sameBytes(parseCertificate(endorsementKey).issuer, parseCertificate(intermediate).subject);
    return isIssuer ? { endorsementKey, intermediate } : undefined;
  } catch {
    return undefined;
  }
}

function entriesOf(table: Bytes): ReadonlyMap<string, Bytes> {
  const found = new Map<string, Bytes>();
  const reader = new ByteReader(table, 'the certificate table');
  for (let entry = 0; entry < maxEntries && reader.remaining >= 24; entry += 1) {
    const name = toHex(reader.take(16));
    const [offset, length] = [reader.u32(), reader.u32()];
    if (/^0+$/.test(name)) break;
    if (offset + length <= table.length && length <= certificateBounds.bytes) {
      found.set(name, table.slice(offset, offset + length));
    }
  }
  return found;
}

function kindOf({ signerInfo }: SnpReport): Endorsement['kind'] {
  const kind = signerOf(signerInfo);
  if (kind === undefined) throw new EvidenceError('signer_unknown', 'the report is signed with no known kind of key');
  return kind;
}

/** The processor line of a report. Reports before version 3 do not state it; they are from Milan. */
function productOf({ cpu }: SnpReport): SnpProduct {
  const product = cpu === undefined ? 'milan' : productOfCpu(cpu);
  if (product === undefined) throw new EvidenceError('processor_unknown', 'AMD has no key service for this processor');
  return product;
}

/**
 * The path, below AMD's service, of the certificate for the chip's key at the report's TCB. Undefined for a hoster's
 * key, which only the host has.
 */
export function vcekPathOf(report: SnpReport): string | undefined {
  if (kindOf(report) !== 'vcek') return undefined;
  const product = productOf(report);
  const { fmc, bootloader, tee, snp, microcode } = readTcb(report.reportedTcb, product);
  // On Turin, chip ids are eight bytes, then zeros.
  const chip = toHex(product === 'turin' ? report.chipId.subarray(0, 8) : report.chipId);
  const first = fmc === undefined ? '' : `fmcSPL=${fmc}&`;
  return `vcek/v1/${amdNames[product]}/${chip}?${first}blSPL=${bootloader}&teeSPL=${tee}&snpSPL=${snp}&ucodeSPL=${microcode}`;
}

/** Loads the chip's certificate and its issuer's from AMD. `key` comes from `vcekPathOf`. */
export async function loadEndorsement(key: string, fetch: Fetch): Promise<Dated<SnpEndorsement>> {
  const { body } = await fetchDocument(fetch, `${service}/${key}`, 16_384);
  const leaf = parseCertificate(body);
  const line = key.slice(0, key.lastIndexOf('/'));
  const chain = await fetchDocument(fetch, `${service}/${line}/cert_chain`, 65_536);
  const intermediate = parsePemChain(chain.body, "AMD's chain").find(({ subject }) => sameBytes(subject, leaf.issuer));
  if (intermediate === undefined) throw new EvidenceError('chain_malformed', "AMD's chain is not that of its key");
  return {
    document: { endorsementKey: leaf.raw, intermediate: intermediate.raw },
    until: Math.min(leaf.validity.untilMs, intermediate.validity.untilMs),
  };
}

/** The path, below AMD's service, of the revocation list for a report. */
export const listPathOf = (report: SnpReport): string => `${kindOf(report)}/v1/${amdNames[productOf(report)]}/crl`;

/** Loads one of AMD's revocation lists. `key` comes from `listPathOf`. */
export async function loadRevocationList(key: string, fetch: Fetch): Promise<Dated<Bytes>> {
  const { body } = await fetchDocument(fetch, `${service}/${key}`);
  return { document: body, until: crlPeriod(body).untilMs };
}

import { ByteReader, type Bytes, ownBytes, toHex } from '../bytes.ts';
import { Refusal } from '../refusal.ts';

/** The TDX module's report about the virtual machine: Intel's TDREPORT body. `mr*`, `rtmrs`: 48 bytes each. */
export interface TdReport {
  readonly teeTcbSvn: Bytes;
  readonly mrSeam: Bytes;
  readonly mrSignerSeam: Bytes;
  readonly seamAttributes: bigint;
  readonly tdAttributes: bigint;
  readonly xfam: bigint;
  readonly mrTd: Bytes;
  readonly mrConfigId: Bytes;
  readonly mrOwner: Bytes;
  readonly mrOwnerConfig: Bytes;
  readonly rtmrs: readonly [Bytes, Bytes, Bytes, Bytes];
  /** 64 bytes that the caller chooses. */
  readonly reportData: Bytes;
  /** Only with TDX 1.5: the measurement of a service TD, which could migrate this one. */
  readonly mrServiceTd: Bytes | undefined;
}

/** The report of the quoting enclave, which vouches for the attestation key. */
export interface QeReport {
  readonly raw: Bytes;
  readonly miscSelect: Bytes;
  readonly attributes: Bytes;
  readonly mrSigner: Bytes;
  readonly isvProdId: number;
  readonly isvSvn: number;
  readonly reportData: Bytes;
}

export interface TdxQuote {
  readonly version: 4 | 5;
  readonly report: TdReport;
  /** The bytes that the attestation key signed. */
  readonly signed: Bytes;
  /** r and s, 32 bytes each. */
  readonly signature: Bytes;
  /** x and y on P-256, 32 bytes each. */
  readonly attestationKey: Bytes;
  readonly qeReport: QeReport;
  readonly qeReportSignature: Bytes;
  readonly qeAuthData: Bytes;
  /** PEM, leaf first. */
  readonly pckChain: Bytes;
  /** The bytes after the quote in its buffer. */
  readonly trailing: Bytes;
}

const maximumBytes = 65_536;
const intelQeVendor = '939a7233f79c4ca9940a0db3957f0607';
const teeTypeTdx = 0x81;
const ecdsaP256 = 2;
const certificationData = { pckChain: 5, qeReport: 6 } as const;
/** Version 5 states the type of its body: 2 is a TD report of TDX 1.0, 3 of TDX 1.5. (1 is an SGX enclave's.) */
const v5BodySizes: ReadonlyMap<number, number> = new Map([
  [2, 584],
  [3, 648],
]);

/**
 * Reads an Intel TDX quote, version 4 or 5, with an ECDSA P-256 attestation key and the PCK chain inside. Does not
 * verify anything. Source: Intel TDX DCAP Quoting Library API, appendix 3 and 4.
 */
export function parseTdxQuote(quote: unknown): TdxQuote {
  const bytes = ownBytes(quote, 'the quote', maximumBytes);
  const reader = new ByteReader(bytes, 'the quote');
  const version = reader.u16();
  if (version !== 4 && version !== 5) throw new Refusal(`the quote is of version ${version}, not 4 or 5`);
  if (reader.u16() !== ecdsaP256) throw new Refusal('the attestation key is not on P-256');
  const teeType = reader.u32();
  if (teeType !== teeTypeTdx) throw new Refusal(`the quote is of TEE type ${teeType}, not TDX (129)`);
  reader.take(4); // reserved
  if (toHex(reader.take(16)) !== intelQeVendor) throw new Refusal('the quoting enclave is not of Intel');
  reader.take(20); // user data
  const report = version === 4 ? readTdReport(reader, 584) : readTypedTdReport(reader);
  const signed = bytes.subarray(0, reader.offset);
  const signatureReader = new ByteReader(reader.take(reader.u32()), 'the signature data');
  const signature = readSignature(signatureReader);
  return { version, report, signed, ...signature, trailing: reader.take(reader.remaining) };
}

function readTypedTdReport(reader: ByteReader): TdReport {
  const type = reader.u16();
  const size = reader.u32();
  if (v5BodySizes.get(type) !== size) throw new Refusal(`the quote has a body of type ${type} and ${size} bytes`);
  return readTdReport(reader, size);
}

function readTdReport(reader: ByteReader, size: number): TdReport {
  return {
    teeTcbSvn: reader.take(16),
    mrSeam: reader.take(48),
    mrSignerSeam: reader.take(48),
    seamAttributes: reader.u64(),
    tdAttributes: reader.u64(),
    xfam: reader.u64(),
    mrTd: reader.take(48),
    mrConfigId: reader.take(48),
    mrOwner: reader.take(48),
    mrOwnerConfig: reader.take(48),
    rtmrs: [reader.take(48), reader.take(48), reader.take(48), reader.take(48)],
    reportData: reader.take(64),
    // tee_tcb_svn2 (16 bytes) only says that a relaunch would be advised.
    mrServiceTd: size === 648 ? reader.take(16 + 48).subarray(16) : undefined,
  };
}

function readSignature(reader: ByteReader) {
  const signature = reader.take(64);
  const attestationKey = reader.take(64);
  const certification = readCertification(reader, certificationData.qeReport);
  const qeReport = readQeReport(certification.take(384));
  const qeReportSignature = certification.take(64);
  const qeAuthData = certification.take(certification.u16());
  const chain = readCertification(certification, certificationData.pckChain);
  return {
    signature,
    attestationKey,
    qeReport,
    qeReportSignature,
    qeAuthData,
    pckChain: chain.take(chain.remaining),
  };
}

/** Reads one block of certification data. It must be of `type` and the last element in its container. */
function readCertification(reader: ByteReader, type: number): ByteReader {
  const actual = reader.u16();
  if (actual !== type) throw new Refusal(`certification data is of type ${actual}, not ${type}`);
  const block = reader.take(reader.u32());
  if (reader.remaining > 0) throw new Refusal('certification data is followed by bytes that belong to nothing');
  return new ByteReader(block, 'the certification data');
}

function readQeReport(raw: Bytes): QeReport {
  const reader = new ByteReader(raw, 'the QE report');
  reader.take(16); // CPUSVN: the PCK certificate's counts
  const miscSelect = reader.take(4);
  reader.take(28);
  const attributes = reader.take(16);
  reader.take(32 + 32); // MRENCLAVE and reserved
  const mrSigner = reader.take(32);
  reader.take(96);
  const isvProdId = reader.u16();
  const isvSvn = reader.u16();
  reader.take(60);
  return { raw, miscSelect, attributes, mrSigner, isvProdId, isvSvn, reportData: reader.take(64) };
}

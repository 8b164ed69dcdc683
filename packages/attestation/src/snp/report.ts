import * as z from 'zod';
import { allZero, ByteReader, type Bytes, concatBytes, ownBytes } from '../bytes.ts';
import type { SnpProduct } from '../pinned-roots.ts';
import { Refusal } from '../refusal.ts';

/** Security version numbers of the parts of a platform. `fmc` exists from Turin on. */
export interface SnpTcb {
  readonly fmc: number | undefined;
  readonly bootloader: number;
  readonly tee: number;
  readonly snp: number;
  readonly microcode: number;
}

const version = z.int().min(0).max(255).optional();
const minimumTcb = z.strictObject({
  fmc: version,
  bootloader: version,
  tee: version,
  snp: version,
  microcode: version,
});

/** The lowest accepted version of each part. Omitted parts are not checked. */
export type MinimumTcb = Readonly<z.infer<typeof minimumTcb>>;

/** The oldest firmware that pins accept, by product. */
export const minimumTcbSchema = z.strictObject({
  milan: minimumTcb.optional(),
  genoa: minimumTcb.optional(),
  turin: minimumTcb.optional(),
});

/**
 * An attestation report of AMD SEV-SNP, ABI 1.58 table 23. TCB versions are raw, because `readTcb` needs the product.
 */
export interface SnpReport {
  readonly version: number;
  readonly guestSvn: number;
  readonly policy: bigint;
  readonly vmpl: number;
  readonly signerInfo: number;
  /** 64 bytes that the caller chooses. */
  readonly reportData: Bytes;
  /** The launch measurement: 48 bytes. */
  readonly measurement: Bytes;
  readonly hostData: Bytes;
  readonly idKeyDigest: Bytes;
  readonly authorKeyDigest: Bytes;
  readonly reportedTcb: Bytes;
  readonly committedTcb: Bytes;
  /** CPUID family and model. Reports before version 3 do not have them. */
  readonly cpu: { readonly family: number; readonly model: number } | undefined;
  readonly chipId: Bytes;
  readonly signed: Bytes;
  /** r and s, 48 bytes each, big-endian. */
  readonly signature: Bytes;
}

const size = 1184;
const signatureAt = 0x2a0;
const ecdsaP384 = 1;
const firstVersionWithCpu = 3;
const versions = { oldest: 2, newest: 5 } as const;

/** Reads a report of version 2 to 5, of exactly 1184 bytes. Does not verify anything. */
export function parseSnpReport(report: unknown): SnpReport {
  const bytes = ownBytes(report, 'the report', size);
  if (bytes.length !== size) throw new Refusal(`the report has ${bytes.length} bytes, not ${size}`);
  const reader = new ByteReader(bytes, 'the report');
  const version = reader.u32();
  if (version < versions.oldest || version > versions.newest) {
    throw new Refusal(`the report is of version ${version}, not ${versions.oldest} to ${versions.newest}`);
  }
  const guestSvn = reader.u32();
  const policy = reader.u64();
  reader.take(32); // family id and image id: the guest owner's own names
  const vmpl = reader.u32();
  if (reader.u32() !== ecdsaP384) throw new Refusal('the report is not signed with ECDSA on P-384');
  reader.take(16); // current TCB and platform information
  const signerInfo = reader.u32();
  reader.take(4);
  const reportData = reader.take(64);
  const measurement = reader.take(48);
  const hostData = reader.take(32);
  const idKeyDigest = reader.take(48);
  const authorKeyDigest = reader.take(48);
  reader.take(64); // report ids
  const reportedTcb = reader.take(8);
  const [family = 0, model = 0] = reader.take(24);
  const chipId = reader.take(64);
  const committedTcb = reader.take(8);
  return {
    version,
    guestSvn,
    policy,
    vmpl,
    signerInfo,
    reportData,
    measurement,
    hostData,
    idKeyDigest,
    authorKeyDigest,
    reportedTcb,
    committedTcb,
    cpu: version >= firstVersionWithCpu ? { family, model } : undefined,
    chipId,
    signed: bytes.subarray(0, signatureAt),
    signature: bigEndianSignature(bytes.subarray(signatureAt)),
  };
}

/** AMD writes r and s little-endian in 72 bytes each. All bytes above 384 bits, and after them, must be zero. */
function bigEndianSignature(field: Bytes): Bytes {
  const numbers = [field.subarray(0, 72), field.subarray(72, 144)];
  if (!allZero(field.subarray(144)) || !numbers.every((number) => allZero(number.subarray(48)))) {
    throw new Refusal("the report's signature is out of range");
  }
  return concatBytes(...numbers.map((number) => number.slice(0, 48).reverse()));
}

/** Reads the eight bytes of a TCB version. Their layout changed with Turin. */
export function readTcb(bytes: Bytes, product: SnpProduct): SnpTcb {
  const [b0 = 0, b1 = 0, b2 = 0, b3 = 0, , , b6 = 0, b7 = 0] = bytes;
  return product === 'turin'
    ? { fmc: b0, bootloader: b1, tee: b2, snp: b3, microcode: b7 }
    : { fmc: undefined, bootloader: b0, tee: b1, snp: b6, microcode: b7 };
}

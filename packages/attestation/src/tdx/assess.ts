import { type Bytes, fromHex, masked, sameBytes } from '../bytes.ts';
import { Refusal } from '../refusal.ts';
import type { QeIdentity, TcbAssessment, TcbInfo, TcbStatus } from './collateral.ts';
import type { PckPlatform } from './pck-extension.ts';
import type { QeReport, TdReport } from './quote.ts';

interface Level {
  readonly tcbStatus: TcbStatus;
  readonly advisoryIDs: readonly string[];
}

/** The platform's level: the first whose components are all at most the platform's. */
export function assessPlatform(info: TcbInfo, platform: PckPlatform, report: TdReport): TcbAssessment {
  // From module version 1 on, components 0 and 1 belong to the module, and its identity judges them.
  const firstOfTdx = (report.teeTcbSvn[1] ?? 0) > 0 ? 2 : 0;
  const level = info.tcbLevels.find(
    ({ tcb }) =>
      tcb.pcesvn <= platform.pceSvn &&
      tcb.sgxtcbcomponents.every(({ svn }, index) => svn <= (platform.cpuSvn[index] ?? -1)) &&
      tcb.tdxtcbcomponents.every(({ svn }, index) => index < firstOfTdx || svn <= (report.teeTcbSvn[index] ?? -1)),
  );
  if (level === undefined) throw new Refusal('no TCB level of Intel matches this platform');
  return assessment(level);
}

/**
 * Assesses the TDX module: it must be signed by Intel and have the required attributes. From version 1 on, it has its
 * own level.
 */
export function assessModule(info: TcbInfo, report: TdReport): TcbAssessment {
  const [isvSvn = 0, version = 0] = report.teeTcbSvn;
  const id = `TDX_${version.toString(16).toUpperCase().padStart(2, '0')}`;
  const identity = info.tdxModuleIdentities.find((candidate) => candidate.id === id);
  if (version > 0 && identity === undefined) throw new Refusal(`Intel's TCB info does not know TDX module ${id}`);
  const expected = version > 0 && identity !== undefined ? identity : info.tdxModule;
  if (!sameBytes(report.mrSignerSeam, fromHex(expected.mrsigner, 'the module signer'))) {
    throw new Refusal('the TDX module is signed by someone else than Intel names');
  }
  const attributes = littleEndian(report.seamAttributes);
  if (!equalsUnderMask(attributes, expected.attributes, expected.attributesMask)) {
    throw new Refusal('the TDX module has attributes that Intel does not allow');
  }
  if (version === 0 || identity === undefined) return { status: 'UpToDate', advisories: [] };
  const level = identity.tcbLevels.find(({ tcb }) => tcb.isvsvn <= isvSvn);
  if (level === undefined) throw new Refusal(`TDX module ${id} is below every level that Intel lists`);
  return assessment(level);
}

/** Assesses the quoting enclave: it must be Intel's and have the required attributes. Returns its level. */
export function assessQuotingEnclave(identity: QeIdentity, report: QeReport): TcbAssessment {
  if (!sameBytes(report.mrSigner, fromHex(identity.mrsigner, 'the QE signer'))) {
    throw new Refusal('the quoting enclave is signed by someone else than Intel names');
  }
  if (report.isvProdId !== identity.isvprodid) throw new Refusal('the quoting enclave is another product');
  if (!equalsUnderMask(report.miscSelect, identity.miscselect, identity.miscselectMask)) {
    throw new Refusal('the quoting enclave has a MISCSELECT that Intel does not allow');
  }
  if (!equalsUnderMask(report.attributes, identity.attributes, identity.attributesMask)) {
    throw new Refusal('the quoting enclave has attributes that Intel does not allow');
  }
  const level = identity.tcbLevels.find(({ tcb }) => tcb.isvsvn <= report.isvSvn);
  if (level === undefined) throw new Refusal('the quoting enclave is below every level that Intel lists');
  return assessment(level);
}

function assessment({ tcbStatus, advisoryIDs }: Level): TcbAssessment {
  return { status: tcbStatus, advisories: advisoryIDs };
}

function equalsUnderMask(actual: Bytes, expected: string, mask: string): boolean {
  const kept = masked(actual, fromHex(mask, 'a mask', actual.length));
  return sameBytes(kept, fromHex(expected, 'a value', actual.length));
}

function littleEndian(value: bigint): Bytes {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, value, true);
  return bytes;
}

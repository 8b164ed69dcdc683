import { sha256 } from '@noble/hashes/sha2.js';
import { allZero, type Bytes, concatBytes, fromHex, sameBytes } from '../bytes.ts';
import { firstEnd, type Moment, momentAt, requireCurrent, type VerificationTime } from '../moment.ts';
import { Refusal, readAs, Unmade } from '../refusal.ts';
import { type Check, CheckList } from '../verdict.ts';
import { type Certificate, parsePemChain } from '../x509/certificate.ts';
import { type TrustAnchor, verifyChain } from '../x509/chain.ts';
import { type RevocationList, requireUnrevoked, verifyRevocationList } from '../x509/crl.ts';
import { verifyEcdsa } from '../x509/signature.ts';
import { assessModule, assessPlatform, assessQuotingEnclave } from './assess.ts';
import {
  isAcceptable,
  type QeIdentity,
  type SignedDocument,
  type TcbAssessment,
  type TcbInfo,
  tdxCollateralSchema,
  verifyQeIdentity,
  verifyTcbInfo,
  worstOf,
} from './collateral.ts';
import { type PckPlatform, pckPlatformOf } from './pck-extension.ts';
import { parseTdxQuote, type TdReport, type TdxQuote } from './quote.ts';

/** The checks of the quote itself: genuine, and from a machine whose memory its host cannot read. */
export const tdxQuoteChecks = [
  'tdx.format',
  'tdx.nothing_after',
  'tdx.td_attributes',
  'tdx.xfam',
  'tdx.seam_attributes',
  'tdx.no_service_td',
  'tdx.pck_chain',
  'tdx.qe_signature',
  'tdx.qe_binding',
  'tdx.quote_signature',
] as const;

/** The checks that need Intel's current collateral: not revoked, not out of date. */
export const tdxCollateralChecks = [
  'tdx.collateral_format',
  'tdx.tcb_info',
  'tdx.qe_identity',
  'tdx.root_crl',
  'tdx.pck_crl',
  'tdx.collateral_dates',
  'tdx.evaluation_number',
  'tdx.platform_level',
  'tdx.module_level',
  'tdx.qe_level',
  'tdx.tcb_status',
] as const;

export type TdxCheckName = (typeof tdxQuoteChecks)[number] | (typeof tdxCollateralChecks)[number];

export interface TdxPolicy {
  /** The oldest accepted tcbEvaluationDataNumber. Without it, the check is skipped. */
  readonly minimumEvaluationNumber?: number | undefined;
  /**
   * Advisories that the client's software answers, for any part of the platform. SWHardeningNeeded is accepted if these
   * explain it completely. None by default.
   */
  readonly acceptedAdvisories?: readonly string[] | undefined;
}

export interface TdxEvidence {
  readonly quote: Uint8Array;
  /** Has the shape of `tdxCollateralSchema`. Without it, the checks that need it are skipped. */
  readonly collateral?: unknown;
}

export interface TdxVerification {
  readonly checks: readonly Check<TdxCheckName>[];
  /** The parsed quote, if it could be read. Rely on it only as far as the checks passed. */
  readonly quote: TdxQuote | undefined;
  /** Intel's certification of the platform, once its chain was checked. */
  readonly platform: PckPlatform | undefined;
  readonly tcb: TcbAssessment | undefined;
  /** When the first of Intel's documents and certificates ends (Unix ms), once they were read. It may be past. */
  readonly untilMs: number | undefined;
}

/** The most zero padding that may follow a quote: hosts reserve room before they know its size. */
const maximumPadding = 1024;

/**
 * Verifies an Intel TDX quote (v4, v5) with its collateral, under `anchor` as Intel's root. Never throws: every input
 * leads to the list of checks. The public function is `verifyTdx`, which fixes the root.
 */
export async function verifyTdxUnder(
  anchor: TrustAnchor,
  evidence: TdxEvidence,
  time: VerificationTime,
  policy: TdxPolicy = {},
): Promise<TdxVerification> {
  const checks = new CheckList<TdxCheckName>([...tdxQuoteChecks, ...tdxCollateralChecks]);
  const moment = momentAt(time);
  const shown = await checkQuote(checks, evidence, anchor, moment);
  const { tcb, untilMs } = await checkCollateral(checks, { evidence, anchor, moment, policy, ...shown });
  return {
    checks: checks.list(),
    quote: shown.quote,
    platform: shown.pck?.platform,
    tcb,
    untilMs,
  };
}

interface PckChain {
  readonly leaf: Certificate;
  readonly authority: Certificate;
  readonly platform: PckPlatform;
}

interface ShownByQuote {
  readonly quote: TdxQuote | undefined;
  readonly pck: PckChain | undefined;
}

async function checkQuote(
  checks: CheckList<TdxCheckName>,
  evidence: TdxEvidence,
  anchor: TrustAnchor,
  moment: Moment,
): Promise<ShownByQuote> {
  const quote = await checks.make('tdx.format', () => parseTdxQuote(evidence.quote));
  if (quote === undefined) return { quote, pck: undefined };
  await checks.make('tdx.nothing_after', () => requirePadding(quote.trailing));
  await checks.make('tdx.td_attributes', () => requireTdAttributes(quote.report));
  await checks.make('tdx.xfam', () => requireXfam(quote.report));
  await checks.make('tdx.seam_attributes', () => requireSeamAttributes(quote.report));
  await checks.make('tdx.no_service_td', () => requireNoServiceTd(quote.report));
  const pck = await checks.make('tdx.pck_chain', () => readPckChain(quote, anchor, moment));
  if (pck !== undefined) {
    await checks.make('tdx.qe_signature', () =>
      requireSignature('the QE report', pck.leaf.spki, quote.qeReportSignature, quote.qeReport.raw),
    );
  }
  await checks.make('tdx.qe_binding', () => requireQeBinding(quote));
  await checks.make('tdx.quote_signature', () =>
    requireSignature('the quote', p256Spki(quote.attestationKey), quote.signature, quote.signed),
  );
  return { quote, pck };
}

interface CollateralTask extends ShownByQuote {
  readonly evidence: TdxEvidence;
  readonly anchor: TrustAnchor;
  readonly moment: Moment;
  readonly policy: TdxPolicy;
}

async function checkCollateral(
  checks: CheckList<TdxCheckName>,
  task: CollateralTask,
): Promise<{ readonly tcb: TcbAssessment | undefined; readonly untilMs: number | undefined }> {
  const { evidence, anchor, moment, policy, quote, pck } = task;
  const collateral = await checks.make('tdx.collateral_format', () => parseCollateral(evidence.collateral));
  if (collateral === undefined) return { tcb: undefined, untilMs: undefined };
  const tcbInfo = await checks.make('tdx.tcb_info', async () => {
    const { tcb_info: text, tcb_info_signature: signature, tcb_info_issuer_chain: issuerChain } = collateral;
    return requireOfPlatform(await verifyTcbInfo({ text, signature, issuerChain }, anchor, moment), pck?.platform);
  });
  const qeIdentity = await checks.make('tdx.qe_identity', () => {
    const { qe_identity: text, qe_identity_signature: signature, qe_identity_issuer_chain: issuerChain } = collateral;
    return verifyQeIdentity({ text, signature, issuerChain }, anchor, moment);
  });
  const rootCrl = await checks.make('tdx.root_crl', async () => {
    const list = await verifyRevocationList(fromHex(collateral.root_ca_crl, 'the root CRL'), anchor);
    const issued = [pck?.authority, tcbInfo?.signer, qeIdentity?.signer];
    requireUnrevoked(
      list,
      issued.filter((certificate) => certificate !== undefined),
    );
    return list;
  });
  const pckCrl =
    pck &&
    (await checks.make('tdx.pck_crl', async () => {
      const list = await verifyRevocationList(fromHex(collateral.pck_crl, 'the PCK CRL'), pck.authority);
      requireUnrevoked(list, [pck.leaf]);
      return list;
    }));
  if (tcbInfo === undefined || qeIdentity === undefined) return { tcb: undefined, untilMs: undefined };
  const certificates = [pck?.leaf, pck?.authority, tcbInfo.signer, qeIdentity.signer];
  const untilMs = firstEnd([
    ...[tcbInfo, qeIdentity, rootCrl, pckCrl].map((dated) => dated?.currency),
    ...certificates.map((certificate) => certificate?.validity),
  ]);
  await checks.make('tdx.collateral_dates', () => requireAllCurrent({ tcbInfo, qeIdentity, rootCrl, pckCrl }, moment));
  await checks.make('tdx.evaluation_number', () => requireEvaluation([tcbInfo, qeIdentity], policy));
  if (quote === undefined || pck === undefined) return { tcb: undefined, untilMs };
  const assessments = [
    await checks.make('tdx.platform_level', () => assessPlatform(tcbInfo.document, pck.platform, quote.report)),
    await checks.make('tdx.module_level', () => assessModule(tcbInfo.document, quote.report)),
    await checks.make('tdx.qe_level', () => assessQuotingEnclave(qeIdentity.document, quote.qeReport)),
  ].filter((assessment) => assessment !== undefined);
  if (assessments.length < 3) return { tcb: undefined, untilMs };
  await checks.make('tdx.tcb_status', () => requireAcceptable(assessments, policy));
  return { tcb: worstOf(assessments), untilMs };
}

function requirePadding(trailing: Bytes): void {
  if (trailing.length > maximumPadding || !allZero(trailing)) {
    throw new Refusal('the quote is followed by bytes that nothing signs');
  }
}

async function readPckChain(quote: TdxQuote, anchor: TrustAnchor, moment: Moment): Promise<PckChain> {
  const chain = await verifyChain(parsePemChain(quote.pckChain, 'the PCK chain'), anchor, moment);
  const [leaf, authority] = chain;
  if (authority === undefined || chain.length !== 2 || !isPckAuthority(authority)) {
    throw new Refusal('the PCK certificate was not issued by a PCK CA of Intel');
  }
  return { leaf, authority, platform: pckPlatformOf(leaf) };
}

function isPckAuthority({ commonName }: Certificate): boolean {
  return commonName === 'Intel SGX PCK Platform CA' || commonName === 'Intel SGX PCK Processor CA';
}

async function requireSignature(what: string, spki: Bytes, signature: Bytes, signed: Bytes): Promise<void> {
  if (!(await verifyEcdsa(spki, 'SHA-256', signature, signed))) throw new Refusal(`${what} has a bad signature`);
}

/** The quoting enclave names the attestation key in its report: SHA-256 of key and auth data, then zeros. */
function requireQeBinding({ qeReport, attestationKey, qeAuthData }: TdxQuote): void {
  const digest = sha256(concatBytes(attestationKey, qeAuthData));
  if (!sameBytes(qeReport.reportData, concatBytes(digest, new Uint8Array(32)))) {
    throw new Refusal('the quoting enclave does not vouch for the attestation key');
  }
}

function p256Spki(point: Bytes): Bytes {
  return concatBytes(fromHex('3059301306072a8648ce3d020106082a8648ce3d03010703420004', 'P-256'), point);
}

function parseCollateral(collateral: unknown) {
  if (collateral === undefined || collateral === null) throw new Unmade('no collateral was given');
  return readAs(tdxCollateralSchema, collateral, 'the collateral is');
}

function requireOfPlatform(info: SignedDocument<TcbInfo>, platform: PckPlatform | undefined) {
  if (platform === undefined) throw new Unmade('it is not known of which platform it has to be');
  const { fmspc, pceId } = info.document;
  if (fmspc.toLowerCase() !== platform.fmspc)
    throw new Refusal(`the TCB info is of FMSPC ${fmspc}, not ${platform.fmspc}`);
  if (pceId.toLowerCase() !== platform.pceId)
    throw new Refusal(`the TCB info is of PCEID ${pceId}, not ${platform.pceId}`);
  return info;
}

function requireAllCurrent(
  used: {
    readonly tcbInfo: SignedDocument<TcbInfo>;
    readonly qeIdentity: SignedDocument<QeIdentity>;
    readonly rootCrl: RevocationList | undefined;
    readonly pckCrl: RevocationList | undefined;
  },
  moment: Moment,
): void {
  const { tcbInfo, qeIdentity, rootCrl, pckCrl } = used;
  const documents = { 'the TCB info': tcbInfo.currency, 'the QE identity': qeIdentity.currency };
  const lists = {
    ...(rootCrl && { 'the root CRL': rootCrl.currency }),
    ...(pckCrl && { 'the PCK CRL': pckCrl.currency }),
  };
  requireCurrent({ ...documents, ...lists }, moment);
  if (rootCrl === undefined || pckCrl === undefined) throw new Unmade('a revocation list could not be used');
}

function requireEvaluation(documents: readonly SignedDocument<TcbInfo | QeIdentity>[], policy: TdxPolicy): void {
  const minimum = policy.minimumEvaluationNumber;
  if (minimum === undefined) throw new Unmade('no minimum evaluation number was given');
  const oldest = Math.min(...documents.map(({ document }) => document.tcbEvaluationDataNumber));
  if (!(oldest >= minimum)) throw new Refusal(`the collateral is of evaluation ${oldest}, older than ${minimum}`);
}

/** Judges each assessment separately: advisories that explain one status do not explain another that names none. */
function requireAcceptable(assessments: readonly TcbAssessment[], { acceptedAdvisories = [] }: TdxPolicy): void {
  if (assessments.every((assessment) => isAcceptable(assessment, acceptedAdvisories))) return;
  const { status, advisories } = worstOf(assessments);
  const because = advisories.length > 0 ? ` (${advisories.join(', ')})` : '';
  throw new Refusal(`Intel calls this platform ${status}${because}`);
}

const septVeDisable = 1n << 28n;
const protectionKeys = 1n << 30n;
/** Bits of XFAM that TDX always sets, and those that it may set (Intel TDX module base specification, 11.8). */
const xfamAlways = 0x3n;
const xfamAllowed = 0x6dbe7n;

/**
 * Refuses a debuggable or migratable machine, reserved bits, and a machine whose host may inject #VE on private memory.
 */
function requireTdAttributes({ tdAttributes }: TdReport): void {
  if ((tdAttributes & 0xffn) !== 0n) throw new Refusal('the machine can be debugged by its host');
  if ((tdAttributes & septVeDisable) === 0n) throw new Refusal('SEPT_VE_DISABLE is not set');
  const others = tdAttributes & ~(septVeDisable | protectionKeys);
  if (others !== 0n) throw new Refusal(`TD attributes have bits that are not accepted: 0x${others.toString(16)}`);
}

function requireXfam({ xfam }: TdReport): void {
  if ((xfam & xfamAlways) !== xfamAlways || (xfam & ~xfamAllowed) !== 0n) {
    throw new Refusal(`XFAM has a value that TDX does not allow: 0x${xfam.toString(16)}`);
  }
}

function requireSeamAttributes({ seamAttributes }: TdReport): void {
  if (seamAttributes !== 0n) throw new Refusal('SEAM attributes are not zero');
}

/** A service TD could migrate the machine elsewhere. Accepted machines do not have one. */
function requireNoServiceTd({ mrServiceTd }: TdReport): void {
  if (mrServiceTd !== undefined && !allZero(mrServiceTd)) throw new Refusal('a service TD is bound to the machine');
}

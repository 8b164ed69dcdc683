import { allZero, ownBytes, sameBytes } from '../bytes.ts';
import { firstEnd, type Moment, momentAt, requireCurrent, type VerificationTime } from '../moment.ts';
import { type SnpProduct, snpProducts } from '../pinned-roots.ts';
import { Refusal, Unmade } from '../refusal.ts';
import { type Check, CheckList } from '../verdict.ts';
import { type Certificate, certificateBounds, parseCertificate } from '../x509/certificate.ts';
import { type TrustAnchor, verifyChain } from '../x509/chain.ts';
import { crlBounds, type RevocationList, requireUnrevoked, verifyRevocationList } from '../x509/crl.ts';
import { curveOf, verifyEcdsa } from '../x509/signature.ts';
import {
  type Endorsement,
  isChip,
  productOfCpu,
  readEndorsement,
  sameTcb,
  signerOf,
  tcbReaches,
} from './endorsement.ts';
import { type MinimumTcb, parseSnpReport, readTcb, type SnpReport, type SnpTcb } from './report.ts';

/**
 * The checks of the report and its chain: genuine, from this chip at this TCB, and from a machine whose memory its host
 * cannot read.
 */
export const snpReportChecks = [
  'snp.format',
  'snp.guest_policy',
  'snp.vmpl',
  'snp.chain',
  'snp.endorsement',
  'snp.signer',
  'snp.signature',
  'snp.product',
  'snp.tcb_binding',
  'snp.chip_binding',
] as const;

/** The checks that need AMD's current list, or the client's own minimum versions. */
export const snpCurrencyChecks = ['snp.revocation', 'snp.revocation_date', 'snp.minimum_tcb'] as const;

export type SnpCheckName = (typeof snpReportChecks)[number] | (typeof snpCurrencyChecks)[number];

export interface SnpEvidence {
  /** 1184 bytes. */
  readonly report: Uint8Array;
  /** The VCEK's or VLEK's certificate, DER. */
  readonly endorsementKey: Uint8Array;
  /** The certificate of the ASK (for a VCEK) or ASVK, DER. AMD's root is pinned and not part of the evidence. */
  readonly intermediate: Uint8Array;
  /** AMD's revocation list for the processor line, DER. Without it, revocation is not checked. */
  readonly revocationList?: Uint8Array | undefined;
}

export interface SnpPolicy {
  /** The privilege level that the report must come from. 0 by default. */
  readonly vmpl?: number | undefined;
  /** The kinds of keys that may sign. By default only a chip's. */
  readonly signers?: readonly Endorsement['kind'][] | undefined;
  /** The oldest accepted versions for each processor line. For a line without them, the check is skipped. */
  readonly minimumTcb?: { readonly [Line in SnpProduct]?: MinimumTcb | undefined } | undefined;
}

export interface SnpVerification {
  readonly checks: readonly Check<SnpCheckName>[];
  /** The parsed report, if it could be read. Rely on it only as far as the checks passed. */
  readonly report: SnpReport | undefined;
  readonly product: SnpProduct | undefined;
  /** The versions that the report claims and AMD certified. */
  readonly tcb: SnpTcb | undefined;
  /** When the first of the certificates and the revocation list ends (Unix ms), once they were read. It may be past. */
  readonly untilMs: number | undefined;
}

export type AmdAnchors = Readonly<Record<SnpProduct, TrustAnchor>>;

/**
 * Verifies an AMD SEV-SNP report with its chain, under `anchors` as AMD's roots. Never throws: every input leads to the
 * list of checks. The public function is `verifySnp`, which fixes the roots.
 */
export async function verifySnpUnder(
  anchors: AmdAnchors,
  evidence: SnpEvidence,
  time: VerificationTime,
  policy: SnpPolicy = {},
): Promise<SnpVerification> {
  const checks = new CheckList<SnpCheckName>([...snpReportChecks, ...snpCurrencyChecks]);
  const moment = momentAt(time);
  const report = await checks.make('snp.format', () => parseSnpReport(evidence.report));
  if (report !== undefined) {
    await checks.make('snp.guest_policy', () => requireGuestPolicy(report.policy));
    await checks.make('snp.vmpl', () => requireVmpl(report.vmpl, policy.vmpl ?? 0));
  }
  const chain = await checks.make('snp.chain', () => readChain(anchors, evidence, moment));
  if (chain === undefined) {
    return { checks: checks.list(), report, product: undefined, tcb: undefined, untilMs: undefined };
  }
  const { product, leaf, intermediate } = chain;
  const list = await checkRevocation(checks, { evidence, chain, moment });
  const untilMs = firstEnd([leaf.validity, intermediate.validity, list?.currency]);
  const endorsement = await checks.make('snp.endorsement', () => endorsementOf(chain));
  if (endorsement === undefined || report === undefined) {
    return { checks: checks.list(), report, product, tcb: undefined, untilMs };
  }
  await checks.make('snp.signer', () => requireSigner(report.signerInfo, endorsement, policy.signers ?? ['vcek']));
  await checks.make('snp.signature', () => requireReportSignature(report, leaf));
  await checks.make('snp.product', () => requireProduct(report, product));
  const tcb = await checks.make('snp.tcb_binding', () => requireTcb(report, endorsement));
  await checks.make('snp.chip_binding', () => requireChip(report, endorsement));
  if (tcb !== undefined) {
    await checks.make('snp.minimum_tcb', () => requireMinimumTcb(report, tcb, product, policy));
  }
  return { checks: checks.list(), report, product, tcb, untilMs };
}

interface AmdChain {
  readonly product: SnpProduct;
  readonly anchor: TrustAnchor;
  readonly leaf: Certificate;
  readonly intermediate: Certificate;
}

/** The line is that of the root which signed the intermediate, so a chain across lines does not reach a root. */
async function readChain(anchors: AmdAnchors, evidence: SnpEvidence, moment: Moment): Promise<AmdChain> {
  const leaf = certificateFrom(evidence.endorsementKey, "the endorsement key's certificate");
  const intermediate = certificateFrom(evidence.intermediate, "the intermediate's certificate");
  const product = snpProducts.find((line) => sameBytes(anchors[line].subject, intermediate.issuer));
  if (product === undefined) throw new Refusal("the chain ends at no root of AMD's");
  const chain = await verifyChain([leaf, intermediate], anchors[product], moment);
  if (chain.length !== 2) throw new Refusal('the endorsement key was issued by the root itself');
  return { product, anchor: anchors[product], leaf, intermediate };
}

function certificateFrom(bytes: unknown, what: string): Certificate {
  return parseCertificate(ownBytes(bytes, what, certificateBounds.bytes));
}

async function checkRevocation(
  checks: CheckList<SnpCheckName>,
  { evidence, chain, moment }: { evidence: SnpEvidence; chain: AmdChain; moment: Moment },
): Promise<RevocationList | undefined> {
  const list = await checks.make('snp.revocation', async () => {
    if (evidence.revocationList === undefined) throw new Unmade("AMD's revocation list was not given");
    const bytes = ownBytes(evidence.revocationList, 'the revocation list', crlBounds.bytes);
    const verified = await verifyRevocationList(bytes, chain.anchor);
    requireUnrevoked(verified, [chain.intermediate]);
    return verified;
  });
  if (list !== undefined) {
    await checks.make('snp.revocation_date', () => requireCurrent({ "AMD's revocation list": list.currency }, moment));
  }
  return list;
}

function endorsementOf({ leaf, product }: AmdChain): Endorsement {
  const endorsement = readEndorsement(leaf);
  if (endorsement.product !== product) {
    throw new Refusal(`the key is of a ${endorsement.product}, certified by the root of ${product}`);
  }
  if (curveOf(leaf.spki) !== 'P-384') throw new Refusal('the endorsement key is not on P-384');
  return endorsement;
}

const guestPolicy = { alwaysOne: 1n << 17n, migrationAgent: 1n << 18n, debug: 1n << 19n, reservedFrom: 26n };

function requireGuestPolicy(policy: bigint): void {
  if ((policy & guestPolicy.debug) !== 0n) throw new Refusal('the machine can be debugged by its host');
  if ((policy & guestPolicy.migrationAgent) !== 0n) throw new Refusal('the machine can be migrated by an agent');
  if ((policy & guestPolicy.alwaysOne) === 0n || policy >> guestPolicy.reservedFrom !== 0n) {
    throw new Refusal('the guest policy has reserved bits that are not as they must be');
  }
}

function requireVmpl(actual: number, wanted: number): void {
  if (actual !== wanted) throw new Refusal(`the report comes from privilege level ${actual}, not ${wanted}`);
}

/**
 * Bit 0 says whether an author key is in use, bit 1 that the chip's key is masked. Bits 2 to 4 say which key signed.
 */
function requireSigner(signerInfo: number, endorsement: Endorsement, accepted: readonly Endorsement['kind'][]): void {
  if ((signerInfo & 0b10) !== 0) throw new Refusal("the chip's key is masked");
  if (signerInfo >>> 5 !== 0) throw new Refusal('the signer information has reserved bits set');
  const kind = signerOf(signerInfo);
  if (kind !== endorsement.kind) throw new Refusal('the report names another kind of key than signed it');
  if (!accepted.includes(kind)) throw new Refusal(`a ${kind.toUpperCase()} signed the report, which is not accepted`);
}

async function requireReportSignature(report: SnpReport, leaf: Certificate): Promise<void> {
  if (!(await verifyEcdsa(leaf.spki, 'SHA-384', report.signature, report.signed))) {
    throw new Refusal('the report has a bad signature');
  }
}

function requireProduct({ cpu }: SnpReport, product: SnpProduct): void {
  if (cpu !== undefined && productOfCpu(cpu) !== product) {
    throw new Refusal(`the report is of CPU family ${cpu.family}, model ${cpu.model}, which is no ${product}`);
  }
}

/** The key is derived from the TCB that it was certified for, so a report must claim exactly that TCB. */
function requireTcb(report: SnpReport, endorsement: Endorsement): SnpTcb {
  const reported = readTcb(report.reportedTcb, endorsement.product);
  if (!sameTcb(reported, endorsement.tcb))
    throw new Refusal('the report claims another TCB than its key was certified for');
  return reported;
}

function requireChip({ chipId }: SnpReport, { kind, hardwareId }: Endorsement): void {
  if (kind === 'vlek') return; // a hoster's key is of no one chip
  if (allZero(chipId)) throw new Refusal('the chip id is masked');
  if (hardwareId === undefined || !isChip(chipId, hardwareId)) {
    throw new Refusal('the report is of another chip than its key');
  }
}

function requireMinimumTcb(report: SnpReport, reported: SnpTcb, product: SnpProduct, policy: SnpPolicy): void {
  const minimum = policy.minimumTcb?.[product];
  if (minimum === undefined || Object.keys(minimum).length === 0)
    throw new Unmade(`no minimum TCB was given for ${product}`);
  if (!tcbReaches(reported, minimum)) throw new Refusal('the platform is older than the minimum TCB');
  if (!tcbReaches(readTcb(report.committedTcb, product), minimum)) {
    throw new Refusal('the platform can be rolled back below the minimum TCB');
  }
}

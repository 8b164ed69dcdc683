import * as z from 'zod';
import { fromHex } from '../bytes.ts';
import type { Moment, Period } from '../moment.ts';
import { parseJson, Refusal } from '../refusal.ts';
import { type Certificate, parsePemChain } from '../x509/certificate.ts';
import { type TrustAnchor, verifyChain } from '../x509/chain.ts';
import { crlBounds } from '../x509/crl.ts';
import { parseInstant } from '../x509/der.ts';
import { verifyEcdsa } from '../x509/signature.ts';

/** Intel's statuses of a platform, best first. */
const tcbStatuses = [
  'UpToDate',
  'SWHardeningNeeded',
  'ConfigurationNeeded',
  'ConfigurationAndSWHardeningNeeded',
  'OutOfDate',
  'OutOfDateConfigurationNeeded',
  'Revoked',
] as const;
export type TcbStatus = (typeof tcbStatuses)[number];

/** A status with the advisories that explain it. */
export interface TcbAssessment {
  readonly status: TcbStatus;
  readonly advisories: readonly string[];
}

/** Combines several assessments of one platform: the worst status and all advisories. */
export function worstOf(assessments: readonly TcbAssessment[]): TcbAssessment {
  const worst = Math.max(...assessments.map(({ status }) => tcbStatuses.indexOf(status)));
  return {
    status: tcbStatuses[worst] ?? 'Revoked',
    advisories: [...new Set(assessments.flatMap(({ advisories }) => advisories))].sort(),
  };
}

/**
 * Whether one assessment is accepted. It must be up to date, or need only software hardening. In the second case it
 * must name advisories, and the client's software must answer all of them. Everything else is refused.
 */
export function isAcceptable({ status, advisories }: TcbAssessment, acceptedAdvisories: readonly string[]): boolean {
  if (status === 'UpToDate') return true;
  return (
    status === 'SWHardeningNeeded' &&
    advisories.length > 0 &&
    advisories.every((advisory) => acceptedAdvisories.includes(advisory))
  );
}

const document = z.string().max(262_144);
const hexList = z.string().max(2 * crlBounds.bytes);
const chain = z.string().max(65_536);

/**
 * Intel's signed documents about platforms, in the shape that PCCS mirrors and dcap-qvl use. `tcb_info` and
 * `qe_identity` are the exact texts that Intel signed: the inner objects, not parsed and written again. Revocation
 * lists are DER in hex.
 */
export const tdxCollateralSchema = z.object({
  root_ca_crl: hexList,
  pck_crl: hexList,
  tcb_info_issuer_chain: chain,
  tcb_info: document,
  tcb_info_signature: z.string().max(256),
  qe_identity_issuer_chain: chain,
  qe_identity: document,
  qe_identity_signature: z.string().max(256),
});
export type TdxCollateral = z.infer<typeof tdxCollateralSchema>;

const svn = z.int().min(0).max(255);
const wideSvn = z.int().min(0).max(65_535);
const hex = (bytes: number) => z.string().regex(new RegExp(`^[0-9a-fA-F]{${2 * bytes}}$`));
const components = z.array(z.object({ svn })).length(16);
const level = { tcbStatus: z.enum(tcbStatuses), advisoryIDs: z.array(z.string()).default([]) };
const isvLevels = z.array(z.object({ tcb: z.object({ isvsvn: wideSvn }), ...level })).min(1);
const moduleIdentity = { mrsigner: hex(48), attributes: hex(8), attributesMask: hex(8) };

const tcbInfoSchema = z.object({
  id: z.literal('TDX'),
  version: z.literal(3),
  issueDate: z.string(),
  nextUpdate: z.string(),
  fmspc: hex(6),
  pceId: hex(2),
  tcbEvaluationDataNumber: z.int().min(0),
  tdxModule: z.object(moduleIdentity),
  tdxModuleIdentities: z.array(z.object({ id: z.string(), ...moduleIdentity, tcbLevels: isvLevels })).default([]),
  tcbLevels: z
    .array(
      z.object({
        tcb: z.object({ sgxtcbcomponents: components, pcesvn: wideSvn, tdxtcbcomponents: components }),
        ...level,
      }),
    )
    .min(1),
});
export type TcbInfo = z.infer<typeof tcbInfoSchema>;

const qeIdentitySchema = z.object({
  id: z.literal('TD_QE'),
  version: z.literal(2),
  issueDate: z.string(),
  nextUpdate: z.string(),
  tcbEvaluationDataNumber: z.int().min(0),
  miscselect: hex(4),
  miscselectMask: hex(4),
  attributes: hex(16),
  attributesMask: hex(16),
  mrsigner: hex(32),
  isvprodid: wideSvn,
  tcbLevels: isvLevels,
});
export type QeIdentity = z.infer<typeof qeIdentitySchema>;

/** A document that Intel signed, with its validity and the certificate that signed it. */
export interface SignedDocument<T> {
  readonly document: T;
  readonly currency: Period;
  readonly signer: Certificate;
}

interface SignedText {
  readonly text: string;
  readonly signature: string;
  readonly issuerChain: string;
}

/** Intel's TCB info of a platform family. Checks the signature over the received bytes. */
export function verifyTcbInfo(signed: SignedText, anchor: TrustAnchor, moment: Moment) {
  return verifySignedDocument({ signed, schema: tcbInfoSchema, what: 'the TCB info', anchor, moment });
}

/** Intel's identity of the TDX quoting enclave. Checks the signature over the received bytes. */
export function verifyQeIdentity(signed: SignedText, anchor: TrustAnchor, moment: Moment) {
  return verifySignedDocument({ signed, schema: qeIdentitySchema, what: 'the QE identity', anchor, moment });
}

async function verifySignedDocument<T extends { issueDate: string; nextUpdate: string }>(task: {
  readonly signed: SignedText;
  readonly schema: z.ZodType<T>;
  readonly what: string;
  readonly anchor: TrustAnchor;
  readonly moment: Moment;
}): Promise<SignedDocument<T>> {
  const { signed, schema, what, anchor, moment } = task;
  const issuers = await verifyChain(parsePemChain(signed.issuerChain, `the chain of ${what}`), anchor, moment);
  const [signer] = issuers;
  // A platform's own PCK certificate has the same root. Only the name shows which certificate may sign TCB levels.
  if (issuers.length !== 1 || signer.commonName !== 'Intel SGX TCB Signing') {
    throw new Refusal(`${what} is signed by ${signer.commonName ?? 'an unnamed key'}, not by Intel SGX TCB Signing`);
  }
  const signature = fromHex(signed.signature, `the signature of ${what}`, 64);
  if (!(await verifyEcdsa(signer.spki, 'SHA-256', signature, new TextEncoder().encode(signed.text)))) {
    throw new Refusal(`${what} has a bad signature`);
  }
  const parsed = schema.safeParse(parseJson(signed.text, what));
  if (!parsed.success) {
    const path = parsed.error.issues[0]?.path.join('.');
    throw new Refusal(`${what} is not of the form that TDX needs${path ? ` (at ${path})` : ''}`);
  }
  const { issueDate, nextUpdate } = parsed.data;
  const currency = { fromMs: parseInstant(issueDate), untilMs: parseInstant(nextUpdate) };
  return { document: parsed.data, currency, signer };
}

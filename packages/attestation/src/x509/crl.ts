import { type Bytes, sameBytes, toHex } from '../bytes.ts';
import type { Period } from '../moment.ts';
import { Refusal } from '../refusal.ts';
import {
  type Certificate,
  parseExtensions,
  parseSigned,
  requireSameAlgorithm,
  requireUnderstood,
} from './certificate.ts';
import { type DerElement, derChildren, derInteger, derSmallInteger, derTag, derTime, expectTag } from './der.ts';
import { verifyX509Signature } from './signature.ts';

/** A revocation list (RFC 5280 5) whose signature by its issuer was checked. */
export interface RevocationList {
  readonly currency: Period;
  /** Serial numbers in hex, as `toHex` of a certificate's `serialNumber`. */
  readonly revoked: ReadonlySet<string>;
}

export const crlBounds = { bytes: 4_194_304 } as const;

/** Reads a list and checks that `issuer` signed it. The caller must check its dates. */
export async function verifyRevocationList(
  der: Bytes,
  issuer: { readonly subject: Bytes; readonly spki: Bytes },
): Promise<RevocationList> {
  if (der.length > crlBounds.bytes) throw new Refusal('a revocation list is too large');
  const { signed, fields, signatureAlgorithm, signature } = parseSigned(der);
  const [version, algorithm, issuerName, thisUpdate, nextUpdate, ...rest] = fields;
  if (derSmallInteger(version) !== 1) throw new Refusal('a revocation list is not v2');
  requireSameAlgorithm(algorithm, signatureAlgorithm);
  if (!sameBytes(expectTag(issuerName, derTag.sequence).raw, issuer.subject)) {
    throw new Refusal('a revocation list is of another issuer');
  }
  if (!(await verifyX509Signature(signatureAlgorithm, issuer.spki, signature, signed))) {
    throw new Refusal('a revocation list has a bad signature');
  }
  const entries = rest[0]?.tag === derTag.sequence ? rest[0] : undefined;
  const [extensions, ...more] = entries === undefined ? rest : rest.slice(1);
  if (more.length > 0) throw new Refusal('a revocation list has fields that are not accepted');
  if (extensions !== undefined) requireUnderstood(parseExtensions(contextZero(extensions)));
  return {
    currency: { fromMs: derTime(thisUpdate), untilMs: derTime(nextUpdate) },
    // No limit, because only entries that the issuer signed are read here.
    revoked: new Set(entries === undefined ? [] : derChildren(entries, Number.POSITIVE_INFINITY).map(revokedSerial)),
  };
}

/**
 * When a list was made and when the next one is due, according to the list. Unproven until its signature is checked.
 */
export function crlPeriod(der: Bytes): Period {
  const [, , , thisUpdate, nextUpdate] = parseSigned(der).fields;
  return { fromMs: derTime(thisUpdate), untilMs: derTime(nextUpdate) };
}

/** Refuses if one of the certificates is on the list. */
export function requireUnrevoked(list: RevocationList, certificates: readonly Certificate[]): void {
  for (const { serialNumber, commonName } of certificates) {
    if (list.revoked.has(toHex(serialNumber))) throw new Refusal(`${commonName ?? 'a certificate'} is revoked`);
  }
}

function revokedSerial(entry: DerElement): string {
  const [serialNumber, revokedAt, extensions] = derChildren(expectTag(entry, derTag.sequence));
  derTime(revokedAt);
  if (extensions !== undefined) requireUnderstood(parseExtensions(extensions));
  return toHex(derInteger(serialNumber));
}

function contextZero(element: DerElement): DerElement {
  const [list, ...more] = derChildren(expectTag(element, 0xa0));
  if (list === undefined || more.length > 0) throw new Refusal('a revocation list has bad extensions');
  return list;
}

import { type Bytes, sameBytes } from '../bytes/bytes.ts';
import type { Period } from '../moment.ts';
import { Refusal } from '../refusal.ts';
import {
  type DerElement,
  derBitString,
  derBoolean,
  derChildren,
  derInteger,
  derObjectIdentifier,
  derSmallInteger,
  derTag,
  derTime,
  expectTag,
  readDer,
} from './der.ts';

export interface Extension {
  readonly critical: boolean;
  /** What is inside the OCTET STRING. */
  readonly value: Bytes;
}

/** An X.509 v3 certificate (RFC 5280), as far as chains of attestation keys need it. Byte fields are views on `raw`. */
export interface Certificate {
  readonly raw: Bytes;
  readonly signed: Bytes;
  readonly serialNumber: Bytes;
  /** DER of the distinguished name: names are compared byte for byte. */
  readonly issuer: Bytes;
  readonly subject: Bytes;
  readonly commonName: string | undefined;
  readonly validity: Period;
  readonly spki: Bytes;
  readonly signatureAlgorithm: Bytes;
  readonly signature: Bytes;
  readonly extensions: ReadonlyMap<string, Extension>;
}

export const certificateBounds = { bytes: 16_384 } as const;

const oid = {
  commonName: '2.5.4.3',
  basicConstraints: '2.5.29.19',
  keyUsage: '2.5.29.15',
  extendedKeyUsage: '2.5.29.37',
};

/** Reads one certificate; refuses whatever is not DER, not v3, repeated or left over. It proves nothing by itself. */
export function parseCertificate(der: Bytes): Certificate {
  if (der.length > certificateBounds.bytes) throw new Refusal('a certificate is too large');
  const { signed, fields, signatureAlgorithm, signature } = parseSigned(der);
  const [version, serialNumber, algorithm, issuer, validity, subject, spki, ...rest] = fields;
  if (version?.tag !== 0xa0 || derSmallInteger(onlyChild(version)) !== 2) throw new Refusal('a certificate is not v3');
  requireSameAlgorithm(algorithm, signatureAlgorithm);
  // Unique identifiers ([1], [2]) are obsolete; what may follow the key is the extensions alone.
  if (rest.length > 1 || (rest[0] !== undefined && rest[0].tag !== 0xa3)) {
    throw new Refusal('a certificate has fields that are not accepted');
  }
  const times = derChildren(expectTag(validity, derTag.sequence));
  if (times.length !== 2) throw new Refusal('a certificate has a bad validity');
  return {
    raw: der,
    signed,
    serialNumber: derInteger(serialNumber),
    issuer: expectTag(issuer, derTag.sequence).raw,
    subject: expectTag(subject, derTag.sequence).raw,
    commonName: commonNameOf(expectTag(subject, derTag.sequence)),
    // notAfter is inclusive, to the second.
    validity: { fromMs: derTime(times[0]), untilMs: derTime(times[1]) + 1000 },
    spki: expectTag(spki, derTag.sequence).raw,
    signatureAlgorithm,
    signature,
    extensions: rest[0] === undefined ? new Map() : parseExtensions(onlyChild(rest[0])),
  };
}

/** What certificates and revocation lists share: SEQUENCE { signed part, algorithm, signature }. */
export function parseSigned(der: Bytes): {
  signed: Bytes;
  fields: DerElement[];
  signatureAlgorithm: Bytes;
  signature: Bytes;
} {
  const parts = derChildren(readDer(der, derTag.sequence));
  if (parts.length !== 3) throw new Refusal('a certificate or list has not three parts');
  const signed = expectTag(parts[0], derTag.sequence);
  return {
    signed: signed.raw,
    fields: derChildren(signed),
    signatureAlgorithm: expectTag(parts[1], derTag.sequence).raw,
    signature: derBitString(parts[2]),
  };
}

/** The algorithm inside the signed part must be the one outside, which nothing signs. */
export function requireSameAlgorithm(inside: DerElement | undefined, outside: Bytes): void {
  if (!sameBytes(expectTag(inside, derTag.sequence).raw, outside)) {
    throw new Refusal('a certificate or list names two signature algorithms');
  }
}

/** Extensions by dotted object identifier. */
export function parseExtensions(list: DerElement): Map<string, Extension> {
  const extensions = new Map<string, Extension>();
  for (const entry of derChildren(expectTag(list, derTag.sequence))) {
    const parts = derChildren(expectTag(entry, derTag.sequence));
    const [identifier, second, third] = parts;
    const hasCritical = second?.tag === derTag.boolean;
    if (parts.length !== (hasCritical ? 3 : 2)) throw new Refusal('an extension has a bad form');
    const name = derObjectIdentifier(identifier);
    if (extensions.has(name)) throw new Refusal(`extension ${name} comes twice`);
    extensions.set(name, {
      critical: hasCritical && derBoolean(second),
      value: expectTag(hasCritical ? third : second, derTag.octetString).content,
    });
  }
  return extensions;
}

/** Refuses a certificate whose key may not sign others, or (by `pathLength`) not that many below it. */
export function requireAuthority(certificate: Certificate, authoritiesBelow: number): void {
  const constraints = certificate.extensions.get(oid.basicConstraints);
  const [authority, pathLength] = constraints ? derChildren(readDer(constraints.value, derTag.sequence)) : [];
  if (authority?.tag !== derTag.boolean || !derBoolean(authority)) {
    throw new Refusal(`${certificate.commonName ?? 'a certificate'} is no certificate authority`);
  }
  if (pathLength !== undefined && derSmallInteger(pathLength) < authoritiesBelow) {
    throw new Refusal(`${certificate.commonName ?? 'a certificate'} has more authorities below it than it allows`);
  }
  const usage = certificate.extensions.get(oid.keyUsage);
  // keyCertSign is bit 5; bits count from the top of the first byte after the count of unused bits.
  if (usage !== undefined && ((readDer(usage.value, derTag.bitString).content[1] ?? 0) & 0x04) === 0) {
    throw new Refusal(`the key of ${certificate.commonName ?? 'a certificate'} may not sign certificates`);
  }
}

const understood: ReadonlySet<string> = new Set([oid.basicConstraints, oid.keyUsage, oid.extendedKeyUsage]);

/** A critical extension that is not understood is a reason to refuse (RFC 5280 4.2). */
export function requireUnderstood(extensions: ReadonlyMap<string, Extension>): void {
  for (const [name, { critical }] of extensions) {
    if (critical && !understood.has(name)) throw new Refusal(`critical extension ${name} is not understood`);
  }
}

function onlyChild(element: DerElement): DerElement {
  const [child, ...more] = derChildren(element);
  if (child === undefined || more.length > 0) throw new Refusal('DER has not exactly one element where one belongs');
  return child;
}

/** X.520's bound. */
const longestCommonName = 64;
const textTags: ReadonlySet<number> = new Set([derTag.utf8String, derTag.printableString, derTag.ia5String]);

function commonNameOf(name: DerElement): string | undefined {
  for (const set of derChildren(name)) {
    for (const attribute of derChildren(expectTag(set, derTag.set))) {
      const [type, value] = derChildren(expectTag(attribute, derTag.sequence));
      if (derObjectIdentifier(type) !== oid.commonName) continue;
      if (value === undefined || !textTags.has(value.tag) || value.content.length > longestCommonName) {
        throw new Refusal('a common name is no text, or too long');
      }
      const name = String.fromCharCode(...value.content);
      // The vendors' names are ASCII; anything else could look like one of them and not be it.
      if (!/^[ -~]*$/.test(name)) throw new Refusal('a common name is not plain ASCII');
      return name;
    }
  }
  return undefined;
}

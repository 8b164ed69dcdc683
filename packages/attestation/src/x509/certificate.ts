import { type Bytes, fromBase64, sameBytes } from '../bytes.ts';
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

interface Extension {
  readonly critical: boolean;
  /** The content of the OCTET STRING. */
  readonly value: Bytes;
}

/**
 * An X.509 v3 certificate (RFC 5280), with the fields that chains of attestation keys need. Byte fields are views on
 * `raw`.
 */
export interface Certificate {
  readonly raw: Bytes;
  readonly signed: Bytes;
  readonly serialNumber: Bytes;
  /** DER of the distinguished name, because names are compared byte for byte. */
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

/**
 * Reads one certificate. Refuses input that is not DER or not v3, that repeats elements or that has extra bytes. Does
 * not verify anything.
 */
export function parseCertificate(der: Bytes): Certificate {
  if (der.length > certificateBounds.bytes) throw new Refusal('a certificate is too large');
  const { signed, fields, signatureAlgorithm, signature } = parseSigned(der);
  const [version, serialNumber, algorithm, issuer, validity, subject, spki, ...rest] = fields;
  if (version?.tag !== 0xa0 || derSmallInteger(onlyChild(version)) !== 2) throw new Refusal('a certificate is not v3');
  requireSameAlgorithm(algorithm, signatureAlgorithm);
  // Unique identifiers ([1], [2]) are obsolete. Only the extensions may follow the key.
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

/** The structure that certificates and revocation lists share: SEQUENCE { signed part, algorithm, signature }. */
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

/** The algorithm inside the signed part must equal the outer one, which is not signed. */
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
  // keyCertSign is bit 5. Bits count from the top of the first byte after the count of unused bits.
  if (usage !== undefined && ((readDer(usage.value, derTag.bitString).content[1] ?? 0) & 0x04) === 0) {
    throw new Refusal(`the key of ${certificate.commonName ?? 'a certificate'} may not sign certificates`);
  }
}

const understood: ReadonlySet<string> = new Set([oid.basicConstraints, oid.keyUsage, oid.extendedKeyUsage]);

/** RFC 5280 4.2 requires refusing a critical extension that is not understood. */
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

/** The limit of X.520. */
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
      // The vendors' names are ASCII. Other characters could look like one of these names without being equal.
      if (!/^[ -~]*$/.test(name)) throw new Refusal('a common name is not plain ASCII');
      return name;
    }
  }
  return undefined;
}

const begin = '-----BEGIN CERTIFICATE-----';
const end = '-----END CERTIFICATE-----';
const maximumCertificates = 5;

/**
 * The certificates of a PEM text, in its order. Allows BEGIN, lines of base64, END, line ends of either kind, blank
 * lines between blocks, and the NUL that ends the text in quotes. Refuses any other byte.
 */
export function parsePemChain(pem: Bytes | string, what: string): Certificate[] {
  const text = typeof pem === 'string' ? pem : asciiText(pem, what);
  if (text.length > maximumCertificates * certificateBounds.bytes) throw new Refusal(`${what} is too large`);
  const certificates: Certificate[] = [];
  let body: string | undefined;
  for (const line of text.replace(/\0$/, '').split(/\r?\n/)) {
    if (line === begin && body === undefined) body = '';
    else if (line === end && body !== undefined) {
      if (certificates.length === maximumCertificates) throw new Refusal(`${what} has too many certificates`);
      certificates.push(parseCertificate(fromBase64(body, what)));
      body = undefined;
    } else if (body !== undefined) body += line;
    else if (line !== '') throw new Refusal(`${what} has something outside its certificates`);
  }
  if (body !== undefined) throw new Refusal(`${what} ends inside a certificate`);
  if (certificates.length === 0) throw new Refusal(`${what} has no certificate`);
  return certificates;
}

function asciiText(bytes: Bytes, what: string): string {
  if (bytes.some((byte) => byte > 0x7f)) throw new Refusal(`${what} is not ASCII`);
  return new TextDecoder().decode(bytes);
}

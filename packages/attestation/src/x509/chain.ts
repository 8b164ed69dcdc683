import { type Bytes, sameBytes } from '../bytes.ts';
import { type Moment, requireValid } from '../moment.ts';
import { Refusal } from '../refusal.ts';
import { type Certificate, requireAuthority, requireUnderstood } from './certificate.ts';
import { verifyX509Signature } from './signature.ts';

/** A vendor's root as in RFC 5280 6.1.1: a name and a key that are known in advance. Both DER. */
export interface TrustAnchor {
  readonly name: string;
  readonly subject: Bytes;
  readonly spki: Bytes;
}

const maximumLength = 5;

/**
 * Checks a chain, leaf first, up to the anchor: names, signatures, validity, and the right to sign. The anchor's own
 * certificate may end the chain; then its key must be the pinned one. Returns the chain without it, never empty.
 */
export async function verifyChain(
  chain: readonly Certificate[],
  anchor: TrustAnchor,
  moment: Moment,
): Promise<readonly [Certificate, ...Certificate[]]> {
  if (chain.length > maximumLength) throw new Refusal('a chain has too many certificates');
  const last = chain.at(-1);
  const showsAnchor = last !== undefined && isAnchor(last, anchor);
  for (const [index, certificate] of chain.entries()) {
    const issuer = chain[index + 1];
    await requireIssuedBy(certificate, issuer ?? anchor, anchor);
    requireValid(`the certificate of ${certificate.commonName ?? 'an unnamed key'}`, certificate.validity, moment);
    requireUnderstood(certificate.extensions);
    if (index > 0) requireAuthority(certificate, index - 1);
  }
  const [leaf, ...rest] = showsAnchor ? chain.slice(0, -1) : chain;
  if (leaf === undefined) throw new Refusal('a chain has no certificate below the root');
  return [leaf, ...rest];
}

function isAnchor(certificate: Certificate, anchor: TrustAnchor): boolean {
  return sameBytes(certificate.spki, anchor.spki) && sameBytes(certificate.subject, anchor.subject);
}

async function requireIssuedBy(
  certificate: Certificate,
  issuer: Certificate | TrustAnchor,
  anchor: TrustAnchor,
): Promise<void> {
  if (!sameBytes(certificate.issuer, issuer.subject)) {
    throw new Refusal(
      issuer === anchor
        ? `the chain does not end at ${anchor.name}`
        : `${certificate.commonName ?? 'a certificate'} was not issued by the certificate after it`,
    );
  }
  const { signatureAlgorithm, signature, signed } = certificate;
  if (!(await verifyX509Signature(signatureAlgorithm, issuer.spki, signature, signed))) {
    throw new Refusal(`the certificate of ${certificate.commonName ?? 'an unnamed key'} has a bad signature`);
  }
}

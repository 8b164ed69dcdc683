import { type Bytes, toHex } from '../bytes.ts';
import { Refusal } from '../refusal.ts';
import { derChildren, derInteger, derTag, readDer } from './der.ts';

type EcCurve = 'P-256' | 'P-384';
type SignatureScheme =
  | { readonly kind: 'ecdsa'; readonly hash: 'SHA-256' | 'SHA-384' }
  | { readonly kind: 'rsa'; readonly hash: 'SHA-256' }
  | { readonly kind: 'rsa-pss'; readonly hash: 'SHA-384'; readonly saltLength: 48 };

const pss = { kind: 'rsa-pss', hash: 'SHA-384', saltLength: 48 } as const;

/**
 * Every AlgorithmIdentifier that the vendors sign with, by its whole encoding, so that parameters cannot vary. AMD
 * writes its one RSASSA-PSS both with and without the default trailer field.
 */
const signatureSchemes: ReadonlyMap<string, SignatureScheme> = new Map<string, SignatureScheme>([
  ['300a06082a8648ce3d040302', { kind: 'ecdsa', hash: 'SHA-256' }],
  ['300a06082a8648ce3d040303', { kind: 'ecdsa', hash: 'SHA-384' }],
  ['300d06092a864886f70d01010b0500', { kind: 'rsa', hash: 'SHA-256' }],
  [
    '304106092a864886f70d01010a3034a00f300d06096086480165030402020500a11c301a06092a864886f70d010108300d06096086480165030402020500a203020130',
    pss,
  ],
  [
    '304606092a864886f70d01010a3039a00f300d06096086480165030402020500a11c301a06092a864886f70d010108300d06096086480165030402020500a203020130a303020101',
    pss,
  ],
]);

const ecCurves: ReadonlyMap<string, EcCurve> = new Map<string, EcCurve>([
  ['301306072a8648ce3d020106082a8648ce3d030107', 'P-256'],
  ['301006072a8648ce3d020106052b81040022', 'P-384'],
]);
const rsaKey = '300d06092a864886f70d0101010500';

const coordinateLengths: Record<EcCurve, number> = { 'P-256': 32, 'P-384': 48 };

/**
 * Checks a signature in X.509 form. `algorithm` is the DER of the AlgorithmIdentifier, `spki` the DER of the signer's
 * public key. False if it does not verify. Refuses algorithms and keys that no supported vendor uses.
 */
export async function verifyX509Signature(
  algorithm: Bytes,
  spki: Bytes,
  signature: Bytes,
  signed: Bytes,
): Promise<boolean> {
  const scheme = signatureSchemes.get(toHex(algorithm));
  if (scheme === undefined) throw new Refusal('a certificate is signed with an algorithm that is not accepted');
  if (scheme.kind === 'ecdsa') {
    const curve = curveOf(spki);
    return verifyEcdsa(spki, scheme.hash, fixedLengthSignature(signature, coordinateLengths[curve]), signed);
  }
  if (toHex(derChildren(readDer(spki, derTag.sequence))[0]?.raw ?? spki) !== rsaKey) {
    throw new Refusal('a certificate has a key of another kind than its signature');
  }
  const name = scheme.kind === 'rsa' ? 'RSASSA-PKCS1-v1_5' : 'RSA-PSS';
  const key = await crypto.subtle.importKey('spki', spki, { name, hash: scheme.hash }, false, ['verify']);
  const parameters = scheme.kind === 'rsa' ? { name } : { name, saltLength: scheme.saltLength };
  return crypto.subtle.verify(parameters, key, signature, signed);
}

/** ECDSA with the key in `spki`. The signature is r and s, each as long as the curve's coordinates, big-endian. */
export async function verifyEcdsa(
  spki: Bytes,
  hash: 'SHA-256' | 'SHA-384',
  signature: Bytes,
  signed: Bytes,
): Promise<boolean> {
  const key = await crypto.subtle.importKey('spki', spki, { name: 'ECDSA', namedCurve: curveOf(spki) }, false, [
    'verify',
  ]);
  return crypto.subtle.verify({ name: 'ECDSA', hash }, key, signature, signed);
}

/** The curve of an EC public key. */
export function curveOf(spki: Bytes): EcCurve {
  const [algorithm] = derChildren(readDer(spki, derTag.sequence));
  const curve = algorithm && ecCurves.get(toHex(algorithm.raw));
  if (curve === undefined) throw new Refusal('a certificate has a key that is not on P-256 or P-384');
  return curve;
}

/** DER's SEQUENCE of r and s to two big-endian numbers of `length` bytes. */
function fixedLengthSignature(signature: Bytes, length: number): Bytes {
  const numbers = derChildren(readDer(signature, derTag.sequence));
  if (numbers.length !== 2) throw new Refusal('an ECDSA signature has not two numbers');
  const fixed = new Uint8Array(2 * length);
  for (const [index, number] of numbers.entries()) {
    const content = derInteger(number);
    const digits = content[0] === 0 ? content.subarray(1) : content;
    if ((content[0] ?? 0) >= 0x80 || digits.length > length) throw new Refusal('an ECDSA signature is out of range');
    fixed.set(digits, (index + 1) * length - digits.length);
  }
  return fixed;
}

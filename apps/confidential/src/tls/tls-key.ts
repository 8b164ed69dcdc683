import 'reflect-metadata';
import { createPublicKey, hash, webcrypto } from 'node:crypto';
import {
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  Pkcs10CertificateRequest,
  Pkcs10CertificateRequestGenerator,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';

/** A TLS key that was made in this process and never leaves it, with its public parts. Texts are PEM. */
export interface TlsKey {
  readonly keyPem: string;
  /** Signed by the key itself. It proves nothing without attestation, which names the key. */
  readonly certificatePem: string;
  /** For an authority that is to sign a certificate. */
  readonly requestPem: string;
  /** SHA-256 of the DER-encoded SubjectPublicKeyInfo, in lower-case hex. Attestation names the key by it. */
  readonly spkiSha256: string;
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

/** The time in which a certificate is valid, in Unix ms. */
export interface Validity {
  readonly from: number;
  readonly until: number;
}

/**
 * Makes a P-256 key with a certificate for one host name or address.
 *
 * @param keyPem - A key that this function made before, which gets another certificate.
 */
export async function makeTlsKey(host: string, validity: Validity, keyPem?: string): Promise<TlsKey> {
  const keys = await (keyPem === undefined
    ? webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
    : importPair(keyPem));
  const names = new SubjectAlternativeNameExtension([{ type: isAddress(host) ? 'ip' : 'dns', value: bare(host) }]);
  // A common name holds at most 64 characters. Clients look at the alternative names.
  const name = [{ CN: [bare(host).slice(0, 64)] }];
  const usages = [
    new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
    new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
  ];
  const certificate = await X509CertificateGenerator.createSelfSigned(
    {
      name,
      notBefore: new Date(validity.from),
      notAfter: new Date(validity.until),
      signingAlgorithm: algorithm,
      keys,
      extensions: [names, ...usages],
    },
    webcrypto,
  );
  const request = await Pkcs10CertificateRequestGenerator.create(
    { name, keys, signingAlgorithm: algorithm, extensions: [names, ...usages] },
    webcrypto,
  );
  const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  const spki = await webcrypto.subtle.exportKey('spki', keys.publicKey);
  return {
    keyPem: PemConverter.encode(pkcs8, 'PRIVATE KEY'),
    certificatePem: certificate.toString('pem'),
    requestPem: request.toString('pem'),
    spkiSha256: hash('sha256', Buffer.from(spki)),
  };
}

async function importPair(keyPem: string): Promise<webcrypto.CryptoKeyPair> {
  const [pkcs8 = new ArrayBuffer(0)] = PemConverter.decode(keyPem);
  const spki = createPublicKey(keyPem).export({ type: 'spki', format: 'der' });
  return {
    privateKey: await webcrypto.subtle.importKey('pkcs8', pkcs8, algorithm, true, ['sign']),
    publicKey: await webcrypto.subtle.importKey('spki', spki, algorithm, true, ['verify']),
  };
}

/** Whether two requests are for the same key and the same name. Their signatures differ each time. */
export function areForTheSame(oneRequestPem: string, otherRequestPem: string): boolean {
  const one = subjectOf(oneRequestPem);
  return one !== undefined && one === subjectOf(otherRequestPem);
}

/** Undefined if the text is not a request. */
function subjectOf(requestPem: string): string | undefined {
  try {
    const request = new Pkcs10CertificateRequest(requestPem);
    const names = request.extensions.find((extension) => extension instanceof SubjectAlternativeNameExtension);
    const parts = [request.publicKey.rawData, names?.rawData ?? new ArrayBuffer(0)];
    return parts.map((part) => Buffer.from(part).toString('base64')).join();
  } catch {
    return undefined;
  }
}

const bare = (host: string): string => host.replace(/^\[|\]$/g, '');
const isAddress = (host: string): boolean => host.startsWith('[') || /^\d{1,3}(\.\d{1,3}){3}$/.test(host);

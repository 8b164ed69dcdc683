import 'reflect-metadata';
import { createHash, webcrypto } from 'node:crypto';
import {
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  Pkcs10CertificateRequestGenerator,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
/**
 * Makes a P-256 key with a certificate for one host name or address.
 *
 * @param validity.from - Unix ms; the certificate begins then.
 * @param validity.until - Unix ms; it ends then.
 */
export async function makeTlsKey(host, validity) {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const names = new SubjectAlternativeNameExtension([{ type: isAddress(host) ? 'ip' : 'dns', value: bare(host) }]);
  // A name longer than 64 characters does not fit a common name; the alternative names are what is looked at.
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
    spkiSha256: createHash('sha256').update(Buffer.from(spki)).digest('hex'),
  };
}
const bare = (host) => host.replace(/^\[|\]$/g, '');
const isAddress = (host) => host.startsWith('[') || /^\d{1,3}(\.\d{1,3}){3}$/.test(host);
//# sourceMappingURL=tls-key.js.map

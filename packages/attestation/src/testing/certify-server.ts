import { concatBytes } from '../bytes/bytes.ts';
import { der, sequence, text } from './der-writer.ts';
import { extension, Issuer, toPem } from './issuer.ts';

/** What a TLS server on loopback needs. PEM. */
export interface ServerCredentials {
  readonly cert: string;
  readonly key: string;
  /** DER of its SubjectPublicKeyInfo. */
  readonly spki: Uint8Array;
  /** DER of its certificate. */
  readonly certificate: Uint8Array;
}

/** Makes a key and a certificate of an authority for a TLS server on loopback. */
export async function certifyServer(authority: Issuer): Promise<ServerCredentials> {
  const own = await Issuer.make('a stand-in provider');
  const names = sequence(text('localhost', 0x82), der(0x87, Uint8Array.of(127, 0, 0, 1)));
  const certificate = await authority.certify({
    subject: own.name,
    spki: own.spki,
    serial: 1 + Math.floor(Math.random() * 1_000_000),
    extensions: [extension('2.5.29.17', names)],
  });
  const pkcs8 = new Uint8Array(await crypto.subtle.exportKey('pkcs8', own.privateKey));
  const body = btoa(String.fromCharCode(...concatBytes(pkcs8))).match(/.{1,64}/g) ?? [];
  const key = `-----BEGIN PRIVATE KEY-----\n${body.join('\n')}\n-----END PRIVATE KEY-----\n`;
  return { cert: toPem(certificate), key, spki: own.spki, certificate };
}

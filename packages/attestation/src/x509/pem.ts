import type { Bytes } from '../bytes/bytes.ts';
import { fromBase64 } from '../bytes/encodings.ts';
import { Refusal } from '../refusal.ts';
import { type Certificate, certificateBounds, parseCertificate } from './certificate.ts';

const begin = '-----BEGIN CERTIFICATE-----';
const end = '-----END CERTIFICATE-----';
const maximumCertificates = 5;

/**
 * The certificates of a PEM text, in its order: BEGIN, lines of base64, END, line ends of either kind, blank lines
 * between blocks, and the NUL with which quotes end theirs. Any other byte is refused.
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

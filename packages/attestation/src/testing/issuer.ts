import { type Bytes, concatBytes, fromHex } from '../bytes.ts';
import type { TrustAnchor } from '../x509/chain.ts';
import {
  bits,
  commonName,
  der,
  integer,
  objectIdentifier,
  octets,
  sequence,
  text,
  time,
  unsigned,
} from './der-writer.ts';

type Algorithm = 'p256' | 'p384' | 'amd-pss' | 'rsa';

const algorithms = {
  p256: {
    identifier: '300a06082a8648ce3d040302',
    generate: { name: 'ECDSA', namedCurve: 'P-256' },
    sign: { name: 'ECDSA', hash: 'SHA-256' },
  },
  p384: {
    identifier: '300a06082a8648ce3d040303',
    generate: { name: 'ECDSA', namedCurve: 'P-384' },
    sign: { name: 'ECDSA', hash: 'SHA-384' },
  },
  'amd-pss': {
    identifier:
      '304106092a864886f70d01010a3034a00f300d06096086480165030402020500a11c301a06092a864886f70d010108300d06096086480165030402020500a203020130',
    generate: { name: 'RSA-PSS', modulusLength: 2048, publicExponent: Uint8Array.of(1, 0, 1), hash: 'SHA-384' },
    sign: { name: 'RSA-PSS', saltLength: 48 },
  },
  rsa: {
    identifier: '300d06092a864886f70d01010b0500',
    generate: {
      name: 'RSASSA-PKCS1-v1_5',
      modulusLength: 2048,
      publicExponent: Uint8Array.of(1, 0, 1),
      hash: 'SHA-256',
    },
    sign: { name: 'RSASSA-PKCS1-v1_5' },
  },
} as const;

interface CertificateRequest {
  readonly subject: string;
  readonly spki: Bytes;
  readonly authority?: boolean;
  readonly serial?: number;
  readonly from?: string;
  readonly until?: string;
  readonly extensions?: readonly Bytes[];
}

interface RevocationRequest {
  readonly revoked?: readonly number[];
  readonly from?: string;
  readonly until?: string;
}

/** A named key that signs certificates, revocation lists and documents for tests. */
export class Issuer {
  readonly name: string;
  readonly algorithm: Algorithm;
  readonly spki: Bytes;
  readonly privateKey: CryptoKey;

  private constructor(name: string, algorithm: Algorithm, spki: Bytes, privateKey: CryptoKey) {
    this.name = name;
    this.algorithm = algorithm;
    this.spki = spki;
    this.privateKey = privateKey;
  }

  static async make(name: string, algorithm: Algorithm = 'p256'): Promise<Issuer> {
    const pair = await crypto.subtle.generateKey(algorithms[algorithm].generate, true, ['sign', 'verify']);
    if (!('privateKey' in pair)) throw new Error('a key pair was wanted');
    const spki = new Uint8Array(await crypto.subtle.exportKey('spki', pair.publicKey));
    // Node writes RSA-PSS keys as plain RSA keys, and AMD certifies them in the same form.
    return new Issuer(name, algorithm, spki, pair.privateKey);
  }

  get anchor(): TrustAnchor {
    return { name: this.name, subject: commonName(this.name), spki: this.spki };
  }

  /** x and y of an EC key, without the bytes before them. */
  get point(): Bytes {
    return this.spki.subarray(this.spki.length - (this.algorithm === 'p384' ? 96 : 64));
  }

  /** A raw signature: for ECDSA, r and s at full length. */
  async sign(content: Uint8Array): Promise<Bytes> {
    const signature = await crypto.subtle.sign(
      algorithms[this.algorithm].sign,
      this.privateKey,
      Uint8Array.from(content),
    );
    return new Uint8Array(signature);
  }

  async certify(request: CertificateRequest): Promise<Bytes> {
    const { subject, spki, authority = false, serial = 1, extensions = [] } = request;
    const { from = '2020-01-01T00:00:00Z', until = '2040-01-01T00:00:00Z' } = request;
    const constraints = extension('2.5.29.19', sequence(...(authority ? [der(0x01, Uint8Array.of(0xff))] : [])), true);
    return this.#signed(
      sequence(
        der(0xa0, integer(2)),
        integer(serial),
        this.#identifier,
        commonName(this.name),
        sequence(time(from), time(until)),
        commonName(subject),
        spki,
        der(0xa3, sequence(constraints, ...extensions)),
      ),
    );
  }

  /** Its own certificate, signed by itself. */
  certifySelf(): Promise<Bytes> {
    return this.certify({ subject: this.name, spki: this.spki, authority: true });
  }

  async revoke(request: RevocationRequest = {}): Promise<Bytes> {
    const { revoked = [], from = '2026-01-01T00:00:00Z', until = '2026-02-01T00:00:00Z' } = request;
    const entries = revoked.map((serial) => sequence(integer(serial), time(from)));
    return this.#signed(
      sequence(
        integer(1),
        this.#identifier,
        commonName(this.name),
        time(from),
        time(until),
        ...(entries.length > 0 ? [sequence(...entries)] : []),
        der(0xa0, sequence(extension('2.5.29.20', integer(1)))),
      ),
    );
  }

  get #identifier(): Bytes {
    return fromHex(algorithms[this.algorithm].identifier, 'the algorithm');
  }

  async #signed(content: Bytes): Promise<Bytes> {
    return sequence(content, this.#identifier, bits(await this.#x509Signature(content)));
  }

  async #x509Signature(content: Bytes): Promise<Bytes> {
    const signature = await this.sign(content);
    if (this.algorithm === 'amd-pss' || this.algorithm === 'rsa') return signature;
    const half = signature.length / 2;
    return sequence(unsigned(signature.subarray(0, half)), unsigned(signature.subarray(half)));
  }
}

export function extension(identifier: string, value: Uint8Array, critical = false): Bytes {
  const flag = critical ? [der(0x01, Uint8Array.of(0xff))] : [];
  return sequence(objectIdentifier(identifier), ...flag, octets(value));
}

export function toPem(...certificates: readonly Bytes[]): string {
  return certificates
    .map((certificate) => {
      const lines = btoa(String.fromCharCode(...certificate)).match(/.{1,64}/g) ?? [];
      return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
    })
    .join('');
}

/** Little-endian numbers of a given width, for building reports. */
export function littleEndian(value: number | bigint, width: number): Bytes {
  return Uint8Array.from({ length: width }, (_, index) => Number((BigInt(value) >> BigInt(8 * index)) & 0xffn));
}

/** The credentials of a TLS server on loopback. PEM. */
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

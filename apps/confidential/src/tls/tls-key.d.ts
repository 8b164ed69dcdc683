import 'reflect-metadata';
/** A key for TLS that was made in this process and never leaves it, and what others may know of it. PEM texts. */
export interface TlsKey {
  readonly keyPem: string;
  /** Signed by the key itself: it proves nothing without attestation, which names the key. */
  readonly certificatePem: string;
  /** For an authority that shall sign a certificate. */
  readonly requestPem: string;
  /** SHA-256 of the DER-encoded SubjectPublicKeyInfo, lower-case hex: how attestation names the key. */
  readonly spkiSha256: string;
}
/**
 * Makes a P-256 key with a certificate for one host name or address.
 *
 * @param validity.from - Unix ms; the certificate begins then.
 * @param validity.until - Unix ms; it ends then.
 */
export declare function makeTlsKey(
  host: string,
  validity: {
    readonly from: number;
    readonly until: number;
  },
): Promise<TlsKey>;
//# sourceMappingURL=tls-key.d.ts.map

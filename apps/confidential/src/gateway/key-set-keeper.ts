import type { KeySet } from '@sotto/attestation';
import type { NamedTlsKeys } from '../tls/open-tls.ts';
import type { ReceiptKey } from './receipt-key.ts';

export interface KeySetSources {
  /** The public address of this broker, without a path. */
  readonly origin: string;
  /** The keys that a connection may meet; undefined where none was made here. */
  readonly tlsKeys: (() => NamedTlsKeys) | undefined;
  readonly receiptKey: ReceiptKey['named'];
  /** SHA-256 of the provider registry in hex. */
  readonly registryDigest: string;
  readonly now: () => number;
}

/** Clients accept up to 90 days; a month is what a TLS key is served for. */
const longestMs = 30 * 86_400_000;

/**
 * The key set that attestation binds (`KeySet`). It stays the same, byte for byte, until a key changes or half of its time is
 * over, so that whoever has verified it recognises it.
 */
export class KeySetKeeper {
  readonly #sources: KeySetSources;
  #current: { readonly set: KeySet; readonly renewAt: number } | undefined;

  constructor(sources: KeySetSources) {
    this.#sources = sources;
  }

  /** The set as of now: one snapshot, for the statement and the document alike. */
  current(): KeySet {
    const { origin, tlsKeys, receiptKey, registryDigest, now } = this.#sources;
    const at = now();
    const tls = tlsKeys?.() ?? { spkiSha256: [], until: Number.POSITIVE_INFINITY };
    const known = this.#current;
    if (known !== undefined && at < known.renewAt && sameKeys(known.set, tls.spkiSha256)) return known.set;
    const notAfter = Math.floor(Math.min(tls.until, at + longestMs) / 1000);
    const set: KeySet = {
      service: 'sotto',
      not_after: notAfter,
      provider_registry_digest: `sha256:${registryDigest}`,
      tls_public_keys: tls.spkiSha256.map((spki_sha256) => ({ origin, spki_sha256 })),
      receipt_signing_keys: [receiptKey],
      e2ee_public_keys: [],
    };
    this.#current = { set, renewAt: at + (notAfter * 1000 - at) / 2 };
    return set;
  }
}

const sameKeys = ({ tls_public_keys }: KeySet, spkis: readonly string[]): boolean =>
  tls_public_keys.length === spkis.length &&
  tls_public_keys.every(({ spki_sha256 }, index) => spki_sha256 === spkis[index]);

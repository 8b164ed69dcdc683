import { generateKeyPairSync, hash, sign } from 'node:crypto';
import { channelBinding, type KeySet } from '@sotto/attestation';
import type { NamedTlsKeys } from '../tls/tls-keeper.ts';

export interface KeySetSources {
  /** The public address of this broker, without a path. */
  readonly origin: string;
  /** The keys that a connection may meet; undefined if none was made here. */
  readonly tlsKeys: (() => NamedTlsKeys) | undefined;
  readonly receiptKey: ReceiptKey['named'];
  /** SHA-256 of the provider registry in hex. */
  readonly registryDigest: string;
  readonly now: () => number;
}

/** Clients accept up to 90 days. A TLS key is served for a month. */
const longestMs = 30 * 86_400_000;

/**
 * Keeps the key set that attestation binds (`KeySet`). The set stays the same, byte for byte, until a key changes or
 * half of its time is over. A client that has verified it thus recognizes it.
 */
export class KeySetKeeper {
  readonly #sources: KeySetSources;
  #current: { readonly set: KeySet; readonly renewAt: number } | undefined;

  constructor(sources: KeySetSources) {
    this.#sources = sources;
  }

  /** Returns the current set: one snapshot for both the statement and the document. */
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
      // Where a key was made here, no other machine ends TLS with it, so every connection can be bound.
      ...(tlsKeys && { channel_bindings: [channelBinding] }),
    };
    this.#current = { set, renewAt: at + (notAfter * 1000 - at) / 2 };
    return set;
  }
}

const sameKeys = ({ tls_public_keys }: KeySet, spkis: readonly string[]): boolean =>
  tls_public_keys.length === spkis.length &&
  tls_public_keys.every(({ spki_sha256 }, index) => spki_sha256 === spkis[index]);

/** Signs the broker's receipts with a key that the attested key set names. */
export interface ReceiptSigner {
  readonly keyId: string;
  /** Returns an Ed25519 signature of 64 bytes. */
  sign(bytes: Uint8Array): Uint8Array;
}

/** A key for receipts, and its entry in the key set. */
export interface ReceiptKey {
  readonly signer: ReceiptSigner;
  readonly named: { readonly key_id: string; readonly algorithm: 'ed25519'; readonly public_key: string };
}

/** Makes a key that lives as long as this process and never leaves it. */
export function makeReceiptKey(): ReceiptKey {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const raw = publicKey.export({ type: 'spki', format: 'der' }).subarray(-32);
  const keyId = `receipt-${hash('sha256', raw).slice(0, 16)}`;
  return {
    signer: { keyId, sign: (bytes) => sign(null, bytes, privateKey) },
    named: { key_id: keyId, algorithm: 'ed25519', public_key: raw.toString('hex') },
  };
}

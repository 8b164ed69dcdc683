import { createHash, generateKeyPairSync, sign } from 'node:crypto';

/** Signs the broker's receipts with a key that the attested key set names. */
export interface ReceiptSigner {
  readonly keyId: string;
  /** An Ed25519 signature: 64 bytes. */
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
  const keyId = `receipt-${createHash('sha256').update(raw).digest('hex').slice(0, 16)}`;
  return {
    signer: { keyId, sign: (bytes) => sign(null, bytes, privateKey) },
    named: { key_id: keyId, algorithm: 'ed25519', public_key: raw.toString('hex') },
  };
}

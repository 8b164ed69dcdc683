export type ReceiptKind = 'provider' | 'gateway';

/**
 * Receipts that clients can fetch for a while after a request: hashes, signatures and ids, never content or identity. A receipt is
 * encrypted with its secret, and its id is the hash of that secret (`sealReceipt`, `receiptIdOf`).
 */
export interface ReceiptPort {
  /** Stores a document of at most 32,768 characters for `ttlMs`. Replaces an earlier one with the same id. */
  keepReceipt(kind: ReceiptKind, id: string, document: string, ttlMs: number): Promise<void>;
  /** Returns the document. Undefined if there is none or it has expired. */
  readReceipt(kind: ReceiptKind, id: string): Promise<string | undefined>;
}

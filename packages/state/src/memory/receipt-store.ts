/** The receipts that the processes share, in memory: each is gone when its time is up, as in Redis. */
export class ReceiptStore {
  readonly #now: () => number;
  /** Oldest first: all of a kind are kept for the same time. */
  readonly #receipts = new Map<string, { readonly document: string; readonly expiresAt: number }>();

  constructor(now: () => number) {
    this.#now = now;
  }

  keep(name: string, document: string, ttlMs: number): void {
    for (const [old, { expiresAt }] of this.#receipts) {
      if (expiresAt > this.#now()) break;
      this.#receipts.delete(old);
    }
    this.#receipts.delete(name);
    this.#receipts.set(name, { document, expiresAt: this.#now() + ttlMs });
  }

  read(name: string): string | undefined {
    const receipt = this.#receipts.get(name);
    return receipt !== undefined && receipt.expiresAt > this.#now() ? receipt.document : undefined;
  }
}

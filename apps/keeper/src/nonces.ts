import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

export interface NoncesOptions {
  /** How long a nonce is good, in ms. */
  readonly lifeMs: number;
  /** Unix ms. */
  readonly now: () => number;
}

const timeBytes = 6;
const randomLength = 10;
const headBytes = timeBytes + randomLength;

/**
 * Nonces (64 lower-case hex digits) for one client key each, good for a while and once. What was given out is not remembered,
 * so that nobody can use them up: a nonce is a time and random bits, and a MAC over both and the key. Only used ones are.
 */
export class Nonces {
  readonly #options: NoncesOptions;
  readonly #macKey = randomBytes(32);
  /** Until when each is remembered, Unix ms; the oldest first. */
  readonly #used = new Map<string, number>();

  constructor(options: NoncesOptions) {
    this.#options = options;
  }

  /** @param clientKey - DER of its SubjectPublicKeyInfo. */
  give(clientKey: Uint8Array): string {
    const head = Buffer.alloc(headBytes);
    head.writeUIntBE(this.#options.now(), 0, timeBytes);
    randomBytes(randomLength).copy(head, timeBytes);
    return Buffer.concat([head, this.#mac(head, clientKey)]).toString('hex');
  }

  /** Whether it was given to this key, in time, and not used since. */
  isGood(nonce: string, clientKey: Uint8Array): boolean {
    const bytes = Buffer.from(nonce, 'hex');
    if (bytes.length !== 32 || bytes.toString('hex') !== nonce) return false;
    const head = bytes.subarray(0, headBytes);
    if (!timingSafeEqual(bytes.subarray(headBytes), this.#mac(head, clientKey))) return false;
    const age = this.#options.now() - head.readUIntBE(0, timeBytes);
    return age >= 0 && age < this.#options.lifeMs && !this.#used.has(nonce);
  }

  /** Uses one that is good; false where somebody else was faster. */
  use(nonce: string): boolean {
    const { lifeMs, now } = this.#options;
    for (const [old, until] of this.#used) {
      if (until > now()) break;
      this.#used.delete(old);
    }
    if (this.#used.has(nonce)) return false;
    this.#used.set(nonce, now() + lifeMs);
    return true;
  }

  #mac(head: Uint8Array, clientKey: Uint8Array): Buffer {
    return createHmac('sha256', this.#macKey).update(head).update(clientKey).digest().subarray(0, 16);
  }
}

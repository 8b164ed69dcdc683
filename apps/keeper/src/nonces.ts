import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

export interface NoncesOptions {
  /** How long a nonce is valid, in ms. */
  readonly lifeMs: number;
  /** Unix ms. */
  readonly now: () => number;
}

const timeBytes = 6;
const randomLength = 10;
const headBytes = timeBytes + randomLength;

/**
 * Nonces of 64 lower-case hex digits. Each is valid once, for a limited time and for one client key. A nonce is a time,
 * random bits, and a MAC over both and the key. The keeper remembers only used nonces, so a client that asks for many
 * cannot exhaust its memory.
 */
export class Nonces {
  readonly #options: NoncesOptions;
  readonly #macKey = randomBytes(32);
  /** When each used nonce may be forgotten, in Unix ms; oldest first. */
  readonly #used = new Map<string, number>();

  constructor(options: NoncesOptions) {
    this.#options = options;
  }

  /** @param clientKey - DER of the client's SubjectPublicKeyInfo. */
  give(clientKey: Uint8Array): string {
    const head = Buffer.alloc(headBytes);
    head.writeUIntBE(this.#options.now(), 0, timeBytes);
    randomBytes(randomLength).copy(head, timeBytes);
    return Buffer.concat([head, this.#mac(head, clientKey)]).toString('hex');
  }

  /** Whether the nonce was given to this key, has not expired and has not been used. */
  isGood(nonce: string, clientKey: Uint8Array): boolean {
    const bytes = Buffer.from(nonce, 'hex');
    if (bytes.length !== 32 || bytes.toString('hex') !== nonce) return false;
    const head = bytes.subarray(0, headBytes);
    if (!timingSafeEqual(bytes.subarray(headBytes), this.#mac(head, clientKey))) return false;
    const age = this.#options.now() - head.readUIntBE(0, timeBytes);
    return age >= 0 && age < this.#options.lifeMs && !this.#used.has(nonce);
  }

  /** Marks a valid nonce as used. Returns false if another request used it first. */
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

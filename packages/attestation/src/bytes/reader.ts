import { Refusal } from '../refusal.ts';
import type { Bytes } from './bytes.ts';

/** Reads little-endian structures in order. Every length is compared with what is left before it is used. */
export class ByteReader {
  readonly #bytes: Bytes;
  readonly #what: string;
  #offset = 0;

  constructor(bytes: Bytes, what: string) {
    this.#bytes = bytes;
    this.#what = what;
  }

  get remaining(): number {
    return this.#bytes.length - this.#offset;
  }

  get offset(): number {
    return this.#offset;
  }

  /** The next `length` bytes, as a view. */
  take(length: number): Bytes {
    if (length > this.remaining) {
      throw new Refusal(`${this.#what} ends early: ${length} bytes wanted, ${this.remaining} left`);
    }
    const taken = this.#bytes.subarray(this.#offset, this.#offset + length);
    this.#offset += length;
    return taken;
  }

  u16(): number {
    const [low = 0, high = 0] = this.take(2);
    return low | (high << 8);
  }

  u32(): number {
    return this.u16() + this.u16() * 0x1_0000;
  }

  u64(): bigint {
    return BigInt(this.u32()) + (BigInt(this.u32()) << 32n);
  }
}

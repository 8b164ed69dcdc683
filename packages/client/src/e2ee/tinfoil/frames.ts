import { ClientError } from '../../errors.ts';
import { type Bytes, concat } from '../bytes.ts';

/** Limit of a frame, in bytes. No server writes more at once. */
const maxFrameBytes = 16 * 1024 * 1024;

/** Puts the length, four bytes big-endian, before a ciphertext (EHBP 4.3). */
export function frame(ciphertext: Uint8Array): Bytes {
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, ciphertext.length);
  return concat(length, ciphertext);
}

/** Splits a body into the ciphertexts of its frames. The body may arrive in any pieces. Empty frames are skipped. */
export class FrameReader {
  /**
   * The received bytes of the current frame. They are joined once it is complete: a long frame may arrive in many
   * pieces.
   */
  #parts: Uint8Array[] = [];
  #length = 0;
  /** The number of bytes needed before the next step. */
  #wanted = 4;

  /** Throws `e2ee_reply_too_large` if a frame announces more than the limit. */
  push(bytes: Uint8Array): Bytes[] {
    this.#parts.push(bytes);
    this.#length += bytes.length;
    const frames: Bytes[] = [];
    if (this.#length < this.#wanted) return frames;
    const whole = concat(...this.#parts);
    const view = new DataView(whole.buffer);
    let at = 0;
    let wanted = 4;
    while (whole.length - at >= 4) {
      const length = view.getUint32(at);
      if (length > maxFrameBytes) throw new ClientError('e2ee_reply_too_large');
      wanted = 4 + length;
      if (whole.length - at < wanted) break;
      if (length > 0) frames.push(whole.slice(at + 4, at + wanted));
      at += wanted;
      wanted = 4;
    }
    this.#keep(whole.subarray(at), wanted);
    return frames;
  }

  /** Throws `e2ee_reply_truncated` if the body ended within a frame. */
  end(): void {
    if (this.#length > 0) throw new ClientError('e2ee_reply_truncated');
  }

  #keep(rest: Uint8Array, wanted: number): void {
    this.#parts = [rest];
    this.#length = rest.length;
    this.#wanted = wanted;
  }
}

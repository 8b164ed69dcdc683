import { ClientError } from '../../errors.ts';
import { type Bytes, concat } from '../bytes.ts';

/** The longest frame that is taken in: more than any server writes at once. */
const maxFrameBytes = 16 * 1024 * 1024;

/** Puts the length, four bytes big-endian, before a ciphertext (EHBP 4.3). */
export function frame(ciphertext: Uint8Array): Bytes {
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, ciphertext.length);
  return concat(length, ciphertext);
}

/** Cuts a body in any split into the ciphertexts of its frames; empty ones say nothing and are skipped. */
export class FrameReader {
  #rest: Bytes = new Uint8Array(0);

  /** Throws `e2ee_reply_too_large` where a frame announces more than is taken in. */
  push(bytes: Uint8Array): Bytes[] {
    let rest = concat(this.#rest, bytes);
    const frames: Bytes[] = [];
    while (rest.length >= 4) {
      const length = new DataView(rest.buffer, rest.byteOffset).getUint32(0);
      if (length > maxFrameBytes) throw new ClientError('e2ee_reply_too_large');
      if (rest.length < 4 + length) break;
      if (length > 0) frames.push(rest.slice(4, 4 + length));
      rest = rest.subarray(4 + length);
    }
    this.#rest = rest;
    return frames;
  }

  /** Throws `e2ee_reply_truncated` where the body ended within a frame. */
  end(): void {
    if (this.#rest.length > 0) throw new ClientError('e2ee_reply_truncated');
  }
}

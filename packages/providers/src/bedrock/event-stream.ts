import { crc32 } from 'node:zlib';
import { utf8 } from '../translate/copied-events.ts';

export interface EventStreamMessage {
  /** Headers with string values, by name: `:message-type`, `:event-type`, `:exception-type`. */
  readonly headers: ReadonlyMap<string, string>;
  /** Decoded as UTF-8. */
  readonly payload: string;
}

/** Two lengths and a checksum precede the headers. A checksum follows the payload. */
const preludeBytes = 12;
const checksumBytes = 4;
/** Far above the longest piece that a model sends. */
const maxMessageBytes = 4 * 1024 * 1024;

/**
 * Incremental parser of the binary framing of AWS streams. Takes bytes in any split, one character for each byte.
 * Throws if a length or a checksum is wrong, because the boundaries of later messages are then unknown.
 *
 * @see https://docs.aws.amazon.com/AmazonS3/latest/API/RESTSelectObjectAppendix.html and Smithy's
 *   `vnd.amazon.eventstream` (https://smithy.io/2.0/aws/amazon-eventstream.html)
 */
export class EventStreamParser {
  readonly #onMessage: (message: EventStreamMessage) => void;
  /**
   * The received bytes of the current message. They are joined once it is complete: a long one may arrive in many
   * pieces.
   */
  #parts: Buffer[] = [];
  #length = 0;
  /** The number of bytes needed before the next step. */
  #wanted = preludeBytes;

  constructor(onMessage: (message: EventStreamMessage) => void) {
    this.#onMessage = onMessage;
  }

  push(bytes: string): void {
    this.#parts.push(Buffer.from(bytes, 'latin1'));
    this.#length += bytes.length;
    if (this.#length < this.#wanted) return;
    let buffer = this.#parts.length === 1 ? (this.#parts[0] ?? Buffer.alloc(0)) : Buffer.concat(this.#parts);
    this.#wanted = preludeBytes;
    while (buffer.length >= preludeBytes) {
      const length = messageLength(buffer);
      this.#wanted = length;
      if (buffer.length < length) break;
      this.#onMessage(readMessage(buffer.subarray(0, length)));
      buffer = buffer.subarray(length);
      this.#wanted = preludeBytes;
    }
    this.#parts = [buffer];
    this.#length = buffer.length;
  }

  /** Whether all pushed bytes formed whole messages. */
  get isBetweenMessages(): boolean {
    return this.#length === 0;
  }
}

function messageLength(buffer: Buffer): number {
  const length = buffer.readUInt32BE(0);
  const isSane = length >= preludeBytes + checksumBytes && length <= maxMessageBytes;
  if (!isSane || crc32(buffer.subarray(0, 8)) !== buffer.readUInt32BE(8)) throw new Error('no event stream');
  return length;
}

function readMessage(message: Buffer): EventStreamMessage {
  const end = message.length - checksumBytes;
  const headersEnd = preludeBytes + message.readUInt32BE(4);
  if (headersEnd > end || crc32(message.subarray(0, end)) !== message.readUInt32BE(end)) {
    throw new Error('no message of an event stream');
  }
  return {
    headers: readHeaders(message.subarray(preludeBytes, headersEnd)),
    payload: utf8(message.toString('latin1', headersEnd, end)),
  };
}

const stringType = 7;
/** Value lengths of the other types, by type. Values of bytes (6) and strings (7) carry their own length. */
const valueBytes: readonly (number | undefined)[] = [0, 0, 1, 2, 4, 8, undefined, undefined, 8, 16];

function readHeaders(bytes: Buffer): Map<string, string> {
  const headers = new Map<string, string>();
  let at = 0;
  while (at < bytes.length) {
    const nameEnd = at + 1 + bytes.readUInt8(at);
    const name = bytes.toString('utf8', at + 1, nameEnd);
    const type = bytes.readUInt8(nameEnd);
    const fixed = valueBytes[type];
    if (fixed === undefined && type !== stringType && type !== stringType - 1) throw new Error('no header');
    const start = nameEnd + 1 + (fixed === undefined ? 2 : 0);
    at = start + (fixed ?? bytes.readUInt16BE(nameEnd + 1));
    if (type === stringType) headers.set(name, bytes.toString('utf8', start, at));
  }
  return headers;
}

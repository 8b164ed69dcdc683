import type { SealedChat } from './sealed-chat.ts';

/** UTF-8 bytes of all contents of a request that was sealed field by field: exact. */
export function sealedContentBytes(chat: SealedChat, fieldOverheadBytes: number): number {
  return chat.messages.reduce((sum, { content }) => sum + content.length / 2 - fieldOverheadBytes, 0);
}

/**
 * UTF-8 bytes of the text in a completion or in one chunk that was sealed field by field: what such an answer is metered
 * by. Reads loosely: a value of another form is the client's to refuse, and counts nothing here.
 */
export function sealedAnswerBytes(answer: unknown, fieldOverheadBytes: number): number {
  const { choices } = asFields(answer);
  if (!Array.isArray(choices)) return 0;
  let bytes = 0;
  for (const choice of choices as readonly unknown[]) {
    const { delta, message } = asFields(choice);
    const said = asFields(delta ?? message);
    const lengthOf = (name: string): number => {
      const value = said[name];
      return typeof value === 'string' ? Math.max(0, Math.floor(value.length / 2) - fieldOverheadBytes) : 0;
    };
    // The same reasoning may come under two names.
    bytes += lengthOf('content') + lengthOf('refusal') + Math.max(lengthOf('reasoning'), lengthOf('reasoning_content'));
  }
  return bytes;
}

const asFields = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

/**
 * An estimate from lengths may be this many times too high, because tokens or events are long. A body that is sealed
 * whole hides how much output it asks for (`n`, `max_tokens`). The broker sets aside the route's output ceiling times
 * this, and ends the answer there.
 */
export const sealedOutputSlack = 3;

const frameTagBytes = 16;

/** Counts the plaintext bytes of a body made of sealed frames (EHBP: a length of four bytes, then as much ciphertext). */
export class FrameMeter {
  #header = 0;
  #headerBytes = 0;
  #left = 0;
  /** Plaintext bytes of the frames that have begun so far. */
  plaintextBytes = 0;

  /** Whether everything pushed so far was whole frames. */
  get isBetweenFrames(): boolean {
    return this.#left === 0 && this.#headerBytes === 0;
  }

  push(bytes: Uint8Array): void {
    let at = 0;
    while (at < bytes.length) {
      if (this.#left > 0) {
        const taken = Math.min(this.#left, bytes.length - at);
        this.#left -= taken;
        at += taken;
        continue;
      }
      this.#header = this.#header * 256 + (bytes[at] ?? 0);
      this.#headerBytes += 1;
      at += 1;
      if (this.#headerBytes < 4) continue;
      this.#left = this.#header;
      this.plaintextBytes += Math.max(0, this.#header - frameTagBytes);
      this.#header = 0;
      this.#headerBytes = 0;
    }
  }
}

/** About the JSON around the text of a whole completion. */
const completionEnvelopeBytes = 512;
/** About an event of one token, as the common servers write it. */
const eventBytes = 256;
const bytesPerToken = 4;

/**
 * Bytes of text in an answer of which only the length of its JSON or of its event stream is known: an estimate. A stream
 * counts by its bytes alone, because how a server or the network joins events to frames says nothing of the text.
 */
export const framedTextBytes = (plaintextBytes: number, isStream: boolean): number =>
  isStream
    ? Math.ceil(plaintextBytes / eventBytes) * bytesPerToken
    : Math.max(0, plaintextBytes - completionEnvelopeBytes);

/** Bytes on the wire that a packed answer has at most for each token: as events in base64, and as JSON. */
const packedTokenBytes = { stream: 1536, whole: 8 } as const;

/** The fewest output tokens that an answer of a body that was sealed whole and packed can have, by its bytes on the wire. */
export const leastPackedTokens = (bytes: number, isStream: boolean): number =>
  Math.floor(bytes / packedTokenBytes[isStream ? 'stream' : 'whole']);

import type { SealedChat } from './sealed-chat.ts';

/** Exact number of UTF-8 bytes of all contents of a request whose fields are encrypted one by one. */
export function sealedContentBytes(chat: SealedChat, fieldOverheadBytes: number): number {
  return chat.messages.reduce((sum, { content }) => sum + content.length / 2 - fieldOverheadBytes, 0);
}

/**
 * UTF-8 bytes of the text in a completion or chunk whose fields are encrypted one by one. Such answers are metered by it.
 * Values of another form count nothing here, because the client refuses them.
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
    // Providers may send the same reasoning under two names.
    bytes += lengthOf('content') + lengthOf('refusal') + Math.max(lengthOf('reasoning'), lengthOf('reasoning_content'));
  }
  return bytes;
}

const asFields = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

/**
 * Estimates from lengths may be too high by this factor, because tokens or events are long. A body that is encrypted as a whole
 * hides `n` and `max_tokens`, so the broker holds the route's output ceiling times this factor and ends the answer there.
 */
export const sealedOutputSlack = 3;

const frameTagBytes = 16;

/** Counts the plaintext bytes of a body of encrypted frames (EHBP: four bytes of length, then that much ciphertext). */
export class FrameMeter {
  #header = 0;
  #headerBytes = 0;
  #left = 0;
  /** Plaintext bytes of the frames that have begun so far. */
  plaintextBytes = 0;

  /** Whether the bytes pushed so far end with a complete frame. */
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

/** Approximate size of the JSON around the text of a whole completion. */
const completionEnvelopeBytes = 512;
/** Approximate size of an event of one token, as common servers write it. */
const eventBytes = 256;
const bytesPerToken = 4;

/**
 * Estimates the bytes of text in an answer from the length of its JSON or event stream. For a stream, the number of frames does
 * not matter, because servers and networks split events into frames arbitrarily.
 */
export const framedTextBytes = (plaintextBytes: number, isStream: boolean): number =>
  isStream
    ? Math.ceil(plaintextBytes / eventBytes) * bytesPerToken
    : Math.max(0, plaintextBytes - completionEnvelopeBytes);

/** Most bytes on the wire per token of a compressed answer: as events in base64, and as JSON. */
const packedTokenBytes = { stream: 1536, whole: 8 } as const;

/** The fewest output tokens that a compressed and encrypted answer of this length can have. */
export const leastPackedTokens = (bytes: number, isStream: boolean): number =>
  Math.floor(bytes / packedTokenBytes[isStream ? 'stream' : 'whole']);

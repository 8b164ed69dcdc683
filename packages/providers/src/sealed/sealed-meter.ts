import { bytesPerToken } from '@sotto/money';
import {
  asObject,
  FrameMeter,
  framedTextBytes,
  type JsonObject,
  leastPackedTokens,
  parseJson,
  type RelayRule,
  type RelayVariant,
  SseEventTooLargeError,
  SseParser,
  sealedAnswerBytes,
} from '@sotto/wire';

/** Measures a sealed answer that passes a relay. It keeps nothing once the answer has ended. */
export interface SealedMeter {
  /** The answer begins with this content type, which counts for more than the announcement of a sealed body. */
  begin?(contentType: string): void;
  /** Takes bytes as they come. Returns false if they are not an answer of this kind; does not throw for that. */
  push(bytes: Buffer): boolean;
  /** The body has ended. Returns whether it was whole, as far as that shows. */
  end(): boolean;
  /** An estimate of the text so far, in UTF-8 bytes. */
  readonly producedBytes: number;
  /** The fewest output tokens that the answer so far can have; undefined if no limit depends on it. */
  readonly leastTokens?: number;
  /** The provider has said, in clear, that nothing more follows. */
  readonly isTerminated: boolean;
}

export function openSealedMeter(rule: RelayRule, { fieldOverheadBytes }: RelayVariant, stream: boolean): SealedMeter {
  if (fieldOverheadBytes !== undefined) {
    return stream ? new FieldStreamMeter(fieldOverheadBytes) : new FieldJsonMeter(fieldOverheadBytes);
  }
  return rule.metering === 'frames' ? new FrameAnswerMeter() : new OpaqueMeter();
}

const isEventStream = (contentType: string): boolean => contentType.toLowerCase().startsWith('text/event-stream');

const parseObject = (text: string): JsonObject | undefined => asObject(parseJson(text));

/** Events whose fields are sealed one by one. Their framing, ends and errors are in clear. */
class FieldStreamMeter implements SealedMeter {
  readonly #overheadBytes: number;
  readonly #parser: SseParser;
  #hasFailed = false;
  #hasFinished = false;
  producedBytes = 0;
  isTerminated = false;

  constructor(overheadBytes: number) {
    this.#overheadBytes = overheadBytes;
    this.#parser = new SseParser({ onEvent: (data) => this.#take(data) });
  }

  push(bytes: Buffer): boolean {
    try {
      this.#parser.push(bytes.toString('latin1'));
      return true;
    } catch (error) {
      if (error instanceof SseEventTooLargeError) return false;
      throw error;
    }
  }

  end(): boolean {
    this.#parser.end();
    return !this.#hasFailed && (this.isTerminated || this.#hasFinished);
  }

  #take(data: string): void {
    if (data === '[DONE]') {
      this.isTerminated = true;
      return;
    }
    const event = parseObject(data);
    if (event === undefined) return;
    if (event.error != null) this.#hasFailed = true;
    const { choices } = event;
    if (Array.isArray(choices) && choices.some((choice: JsonObject | null) => choice?.finish_reason != null)) {
      this.#hasFinished = true;
    }
    this.producedBytes += sealedAnswerBytes(event, this.#overheadBytes);
  }
}

/** One completion whose fields are sealed one by one. */
class FieldJsonMeter implements SealedMeter {
  readonly #overheadBytes: number;
  readonly #pieces: Buffer[] = [];
  readonly isTerminated = false;
  producedBytes = 0;

  constructor(overheadBytes: number) {
    this.#overheadBytes = overheadBytes;
  }

  push(bytes: Buffer): boolean {
    this.#pieces.push(bytes);
    return true;
  }

  end(): boolean {
    const answer = parseObject(Buffer.concat(this.#pieces.splice(0)).toString('latin1'));
    if (!Array.isArray(answer?.choices) || answer.choices.length === 0) return false;
    this.producedBytes = sealedAnswerBytes(answer, this.#overheadBytes);
    return true;
  }
}

/** Frames around JSON or events. Only their lengths can be seen. */
class FrameAnswerMeter implements SealedMeter {
  readonly #frames = new FrameMeter();
  #isStream = false;
  readonly isTerminated = false;

  get producedBytes(): number {
    return framedTextBytes(this.#frames.plaintextBytes, this.#isStream);
  }

  get leastTokens(): number {
    return Math.floor(this.producedBytes / bytesPerToken);
  }

  begin(contentType: string): void {
    this.#isStream = isEventStream(contentType);
  }

  push(bytes: Buffer): boolean {
    this.#frames.push(bytes);
    return true;
  }

  end(): boolean {
    return this.#frames.isBetweenFrames;
  }
}

/** Bytes of which only the number is known. */
class OpaqueMeter implements SealedMeter {
  #bytes = 0;
  #isStream = false;
  readonly producedBytes = 0;
  readonly isTerminated = false;

  get leastTokens(): number {
    return leastPackedTokens(this.#bytes, this.#isStream);
  }

  begin(contentType: string): void {
    this.#isStream = isEventStream(contentType);
  }

  push(bytes: Buffer): boolean {
    this.#bytes += bytes.length;
    return true;
  }

  end(): boolean {
    return true;
  }
}

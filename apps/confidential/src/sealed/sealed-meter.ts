import { bytesPerToken } from '@sotto/money';
import {
  FrameMeter,
  framedTextBytes,
  leastPackedTokens,
  type RelayRule,
  type RelayVariant,
  SseEventTooLargeError,
  SseParser,
  sealedAnswerBytes,
} from '@sotto/wire';

/** What a relay learns of a sealed answer that passes it. It keeps nothing of it. */
export interface SealedMeter {
  /** The answer begins, as what its content type says: it counts for more than what was announced of a sealed body. */
  begin?(contentType: string): void;
  /** Takes bytes as they come; false where they are no answer of this kind. Never throws. */
  push(bytes: Buffer): boolean;
  /** The body has ended; whether it was whole, as far as that shows. */
  end(): boolean;
  /** An estimate of the text so far, in UTF-8 bytes. */
  readonly producedBytes: number;
  /** The fewest output tokens that the answer so far can have; undefined where that does not matter. */
  readonly leastTokens?: number;
  /** The provider has said, in clear, that nothing more follows. */
  readonly isTerminated: boolean;
}

/** Opens the meter for one answer. */
export function openSealedMeter(rule: RelayRule, { fieldOverheadBytes }: RelayVariant, stream: boolean): SealedMeter {
  if (fieldOverheadBytes !== undefined) {
    return stream ? new FieldStreamMeter(fieldOverheadBytes) : new FieldJsonMeter(fieldOverheadBytes);
  }
  return rule.metering === 'frames' ? new FrameAnswerMeter() : new OpaqueMeter();
}

const isEventStream = (contentType: string): boolean => contentType.toLowerCase().startsWith('text/event-stream');

type Fields = Readonly<Record<string, unknown>>;

function parseObject(text: string): Fields | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? (parsed as Fields) : undefined;
  } catch {
    return undefined;
  }
}

/** Events whose fields are sealed one by one: their framing, ends and errors are in clear. */
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
    if (Array.isArray(choices) && choices.some((choice: Fields | null) => choice?.finish_reason != null)) {
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

/** Frames around JSON or events: their lengths are all there is to see. */
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

/** Bytes of which nothing is known but how many they are. */
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

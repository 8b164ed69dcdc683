import type { SpeechAdapter, UpstreamHeaders } from '@sotto/providers';
import { FlowingAttempt, type FlowingAttemptOptions } from '../attempts/flowing-attempt.ts';

interface AudioAttemptOptions extends FlowingAttemptOptions {
  readonly speech: SpeechAdapter;
}

/** The longest text at the highest bit rate of the format takes a quarter of this. */
const maxAudioBytes = 256 * 1024 * 1024;
/** The most that is read of an answer that is not audio, to classify it. */
const maxOtherBytes = 64 * 1024;

/** An attempt that wants raw audio. Its first byte is output. From there on it is passed on as it comes. */
export class AudioAttempt extends FlowingAttempt {
  readonly #speech: SpeechAdapter;
  #bytes = 0;
  /** The body of an answer that is not audio. */
  #other: Buffer[] | undefined;

  constructor(options: AudioAttemptOptions) {
    super(options);
    this.#speech = options.speech;
  }

  protected override onSuccess({ contentType, isDelimited }: UpstreamHeaders): void {
    if (!this.#speech.isAudio(contentType)) this.#other = [];
    // Raw audio has no closing words. Without a length or chunks, a truncated answer would pass for whole.
    else if (!isDelimited) this.giveUp('malformed_answer');
  }

  protected override onAnswerBytes(bytes: Buffer): void {
    this.#bytes += bytes.length;
    if (this.#other !== undefined) {
      this.#other.push(bytes);
      if (this.#bytes > maxOtherBytes) this.giveUp('malformed_answer');
      return;
    }
    if (this.#bytes > maxAudioBytes) {
      this.giveUp('malformed_answer');
      return;
    }
    this.outlet.write(bytes);
    if (this.hasStarted) {
      this.heard();
      return;
    }
    this.awaitMore();
    this.begin();
  }

  protected override onAnswerEnd(): void {
    if (this.#other !== undefined) this.onBroken(this.#speech.classifyBody(Buffer.concat(this.#other)));
    else if (!this.hasStarted) this.onBroken('malformed_answer');
    else {
      this.finish();
      this.outlet.end('complete');
    }
  }
}

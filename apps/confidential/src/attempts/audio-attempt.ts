import type { Adapter, SpeechAdapter, UpstreamHeaders } from '@sotto/providers';
import type { AttemptOutcome } from '@sotto/router';
import { Attempt, type AttemptLimits } from './attempt.ts';
import { Outlet, type StreamSink } from './outlet.ts';
import type { StreamStart } from './stream-attempt.ts';

export interface AudioAttemptOptions {
  readonly adapter: Adapter;
  readonly speech: SpeechAdapter;
  readonly limits: AttemptLimits;
  /** Called once: with the first byte of audio, or with the failure before it. */
  readonly onStart: (start: StreamStart) => void;
}

/** The longest text at the highest bit rate of the format is a quarter of this. */
const maxAudioBytes = 256 * 1024 * 1024;
/** Of an answer that is no audio, what is read to tell what it means. */
const maxOtherBytes = 64 * 1024;

/** An attempt that wants raw audio. Its first byte is output; from there on it is passed on as it comes. */
export class AudioAttempt extends Attempt {
  readonly #options: AudioAttemptOptions;
  readonly #outlet = new Outlet();
  #started = false;
  #bytes = 0;
  /** The body of an answer that is no audio. */
  #other: Buffer[] | undefined;

  constructor(options: AudioAttemptOptions) {
    super(options.adapter, options.limits);
    this.#options = options;
  }

  /** Lets the audio flow: what was kept back goes out first. Call once, after a successful start. */
  flowTo(sink: StreamSink): void {
    this.#outlet.flowTo(sink);
  }

  protected override onSuccess({ contentType, isDelimited }: UpstreamHeaders): void {
    if (!this.#options.speech.isAudio(contentType)) this.#other = [];
    // Raw audio has no closing words: without a length or chunks, one that is cut short would pass for whole.
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
    this.#outlet.write(bytes);
    if (this.#started) {
      this.heard();
      return;
    }
    this.#started = true;
    this.awaitMore();
    this.#options.onStart({ ok: true });
  }

  protected override onAnswerEnd(): void {
    if (this.#other !== undefined) this.onBroken(this.#options.speech.classifyBody(Buffer.concat(this.#other)));
    else if (!this.#started) this.onBroken('malformed_answer');
    else {
      this.finish();
      this.#outlet.end('complete');
    }
  }

  protected override onBroken(outcome: AttemptOutcome, retryAfterS?: number): void {
    this.finish();
    if (this.#started) {
      this.#outlet.end('broke');
      return;
    }
    this.#started = true;
    this.#options.onStart({ ok: false, outcome, retryAfterS });
  }
}

import type { ChatStreamReader, UpstreamHeaders } from '@sotto/providers';
import type { AttemptOutcome } from '@sotto/router';
import { FlowingAttempt, type FlowingAttemptOptions } from './flowing-attempt.ts';

export interface StreamAttemptOptions extends FlowingAttemptOptions {
  readonly reader: ChatStreamReader;
}

/** How much may come without being output before the answer counts as malformed (design 6, "first byte"). */
const maxSilentEvents = 64;
const maxSilentBytes = 256 * 1024;
/** A piece beyond this is many tokens already, and joining it to others costs more than it saves. */
const largePiece = 1024;
/** After the terminator the provider should close; its connection is given this long to be kept for reuse. */
const lingerMs = 1000;

/** An attempt that wants a stream. Until there is output everything is kept back, so that another route can follow. */
export class StreamAttempt extends FlowingAttempt {
  readonly reader: ChatStreamReader;
  #silentBytes = 0;
  #unread = '';
  #json: Buffer[] | undefined;

  constructor(options: StreamAttemptOptions) {
    super(options);
    this.reader = options.reader;
  }

  /** Whether only closing words can still come: the usage, the terminator. */
  get isWhole(): boolean {
    return !this.isOver && this.reader.isComplete;
  }

  /** Whether the answer is whole and only its usage is still to come: whoever leaves now has had all of it. */
  get awaitsUsage(): boolean {
    const { reported, reportedAtBytes, producedBytes } = this.reader;
    return this.isWhole && (reported === undefined || reportedAtBytes < producedBytes);
  }

  protected override onSuccess({ contentType }: UpstreamHeaders): void {
    // Some gateways answer a stream request with a JSON error under status 200.
    if (contentType.startsWith('application/json')) this.#json = [];
  }

  protected override onAnswerBytes(bytes: Buffer): void {
    if (this.#json !== undefined) {
      this.#json.push(bytes);
      this.#silentBytes += bytes.length;
      if (this.#silentBytes > maxSilentBytes) this.giveUp('malformed_answer');
      return;
    }
    // One read of the connection often brings many pieces, one a token: they are parsed, and leave, together;
    // but for those before the output, which are counted one by one.
    if (this.#unread === '') process.nextTick(() => this.#readAll());
    this.#unread += bytes.toString('latin1');
    if (!this.hasStarted || bytes.length > largePiece) this.#readAll();
  }

  protected override onAnswerEnd(): void {
    if (this.#json !== undefined) {
      const reading = this.adapter.readChat(Buffer.concat(this.#json), {
        identity: { id: '', created: 0, model: '' },
        stripReasoning: true,
      });
      this.onBroken(reading.ok ? 'malformed_answer' : reading.outcome);
      return;
    }
    this.#readAll();
    if (this.isOver) return;
    this.#take(this.reader.end(), 0);
    if (this.isOver) return;
    if (this.reader.isComplete) this.#complete();
    else this.onBroken('malformed_answer');
  }

  protected override onBroken(outcome: AttemptOutcome, retryAfterS?: number): void {
    this.#readAll();
    if (this.isOver) return;
    const { isComplete, failure } = this.reader;
    if (!this.hasStarted || !isComplete || failure !== undefined) {
      super.onBroken(outcome, retryAfterS);
      return;
    }
    // The answer was whole; only its closing words (usage, the terminator) never came.
    this.finish();
    this.outlet.end('complete');
  }

  /** Reads what came since the last turn of the event loop. */
  #readAll(): void {
    const bytes = this.#unread;
    this.#unread = '';
    if (bytes !== '' && !this.isOver) this.#take(this.reader.push(bytes), bytes.length);
  }

  #take(frames: string, bytes: number): void {
    const { reader } = this;
    if (this.hasStarted) this.heard();
    if (frames !== '') this.outlet.write(frames);
    if (reader.failure !== undefined) {
      this.giveUp(reader.failure);
      return;
    }
    if (!this.hasStarted) {
      if (reader.hasOutput) {
        this.awaitMore();
        this.begin();
      } else {
        this.#silentBytes += bytes;
        if (reader.events > maxSilentEvents || this.#silentBytes > maxSilentBytes) this.giveUp('malformed_answer');
      }
    }
    if (reader.isTerminated && !this.isOver) this.#complete();
  }

  #complete(): void {
    if (!this.hasStarted) {
      // A terminator without any output is an empty success, which nobody is served.
      this.onBroken('malformed_answer');
      return;
    }
    this.finishAndLinger(lingerMs);
    this.outlet.end('complete');
  }
}

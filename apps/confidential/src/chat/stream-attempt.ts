import type { ChatStreamReader, ReportedUsage, UpstreamHeaders } from '@sotto/providers';
import type { AttemptOutcome } from '@sotto/router';
import type { FailedAnswer } from '../attempts/attempt.ts';
import { FlowingAttempt, type FlowingAttemptOptions } from '../attempts/flowing-attempt.ts';

export interface StreamAttemptOptions extends FlowingAttemptOptions {
  readonly reader: ChatStreamReader;
}

/** The most that may come before output. Beyond this the answer counts as malformed. */
const maxSilentEvents = 64;
const maxSilentBytes = 256 * 1024;
/** A larger piece already holds many tokens, and joining it to others costs more than it saves. */
const largePiece = 1024;
/** The most text that the operator pays for while the usage of a client that left is awaited, in bytes. */
const maxUnpaidBytes = 8 * 1024;
/** Time that the provider has to close after the terminator, so that its connection can be reused. */
const lingerMs = 1000;

/** Time for further calls and the usage after a finish reason. A provider that has any sends them at once. */
const closingMs = 5_000;

/** An attempt that wants a stream. It holds everything back until there is output, so that another route can follow. */
export class StreamAttempt extends FlowingAttempt {
  readonly reader: ChatStreamReader;
  #silentBytes = 0;
  #unread = '';
  #json: Buffer[] | undefined;
  #takenBytes: number | undefined;
  #isClosing = false;
  #lastUsage: ReportedUsage | undefined;

  constructor(options: StreamAttemptOptions) {
    super(options);
    this.reader = options.reader;
  }

  /**
   * Sends what is left of an answer that lacks at most its closing words: the usage and the terminator. Returns false if more
   * than that is missing.
   */
  sendRest(): boolean {
    if (this.isOver || !this.reader.isComplete) return false;
    const rest = this.reader.end();
    if (rest !== '') this.outlet.write(rest);
    return this.reader.failure === undefined;
  }

  /** Notes that the client has left. Returns whether the usage of what it took is still to come. */
  clientLeft(): boolean {
    this.#readAll();
    // A client that leaves after the finish reason has taken all of the answer.
    if (!this.reader.isComplete) this.#takenBytes = this.reader.producedBytes;
    return !this.isOver && this.reported === undefined;
  }

  /** The bytes of text that the client took before it left. Undefined unless it left in the middle of the answer. */
  get takenBytes(): number | undefined {
    return this.#takenBytes;
  }

  /**
   * The provider's usage if it covers all that the client took. Some providers send a usage with the first piece. By
   * that, a client that left before the last one would have the answer for free. A usage without output covers no answer that
   * has begun, even if its output was encrypted reasoning, which has no bytes of text.
   */
  get reported(): ReportedUsage | undefined {
    const { reported, reportedAtBytes, producedBytes, isComplete } = this.reader;
    if (!isComplete && reported?.usage.completionTokens === 0) return undefined;
    return reportedAtBytes < (this.#takenBytes ?? producedBytes) ? undefined : reported;
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
    // One read of the connection often brings many pieces, one per token. Parse and send them together. Before the
    // first output, parse each piece at once, because silent events are counted.
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

  protected override onBroken(outcome: AttemptOutcome, answer?: FailedAnswer): void {
    this.#readAll();
    if (this.isOver) return;
    if (!this.hasStarted || this.reader.failure !== undefined || !this.sendRest()) {
      super.onBroken(outcome, answer);
      return;
    }
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
    // After the finish reason, comments must not postpone the end.
    const saysMore = frames !== '' || reader.reported !== this.#lastUsage;
    this.#lastUsage = reader.reported;
    if (this.hasStarted && (saysMore || !this.#isClosing)) this.heard();
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
    if (this.isOver) return;
    if (reader.isTerminated) this.#complete();
    else if (reader.isComplete) this.#awaitClose();
    // Only the usage was awaited. Each further token would be the operator's.
    else if (this.#waitedEnough) {
      this.abort();
      this.outlet.end('complete');
    }
  }

  /** The answer is whole. Clients get its end even if the provider leaves the stream open. */
  #awaitClose(): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.awaitMore(closingMs);
  }

  get #waitedEnough(): boolean {
    const takenBytes = this.#takenBytes;
    if (takenBytes === undefined) return false;
    return this.reported !== undefined || this.reader.producedBytes - takenBytes > maxUnpaidBytes;
  }

  #complete(): void {
    if (!this.hasStarted) {
      // A terminator without output is an empty answer. Let another route follow.
      this.onBroken('malformed_answer');
      return;
    }
    this.finishAndLinger(lingerMs);
    this.outlet.end('complete');
  }
}

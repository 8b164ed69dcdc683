import type { SealedMeter, UpstreamHeaders } from '@sotto/providers';
import type { AttemptOutcome } from '@sotto/router';
import type { RelayRule } from '@sotto/wire';
import type { FailedAnswer } from '../attempts/attempt.ts';
import { FlowingAttempt, type FlowingAttemptOptions } from '../attempts/flowing-attempt.ts';

export interface SealedAttemptOptions extends FlowingAttemptOptions {
  readonly rule: RelayRule;
  readonly meter: SealedMeter;
  /**
   * Whether a stream was asked for. The first byte of a stream is output. A whole answer is output once all of it has
   * come.
   */
  readonly stream: boolean;
  /** The attempt ends an answer that must have more output tokens than this. Undefined: no limit. */
  readonly mostOutputTokens: number | undefined;
}

/** A larger whole answer is rejected as malformed. */
const maxWholeBytes = 64 * 1024 * 1024;
/** The most that may follow a stream's terminator, in bytes and in ms. */
const maxTailBytes = 64 * 1024;
const lingerMs = 1000;
/** Types of sealed answers, without parameters in which words could hide. A web page is not among them. */
const answerType =
  /^(?:application\/json|application\/octet-stream|text\/event-stream)(?:; ?charset=[a-z0-9-]{1,16})?$/i;

/** An attempt whose answer is passed on unread, byte for byte, while a meter measures it. */
export class SealedAttempt extends FlowingAttempt {
  readonly #options: SealedAttemptOptions;
  #bytes = 0;
  #tail: Buffer[] | undefined;
  #tailBytes = 0;
  #lingering: NodeJS.Timeout | undefined;
  /** Whether the attempt ended the answer because it had more output than its hold covers. */
  isTooLong = false;
  contentType = '';
  /** The family's headers of the answer, as name, value, name, value. */
  relayedHeaders: readonly string[] = [];

  constructor(options: SealedAttemptOptions) {
    super(options);
    this.#options = options;
  }

  /**
   * The end of a complete answer, which leaves after the settlement: a stream's terminator, if it could be recognized.
   */
  get tail(): Buffer {
    return Buffer.concat(this.#tail ?? []);
  }

  protected override classifyFailure(status: number, body: Buffer): AttemptOutcome {
    // The enclave may no longer have the key. The provider is not at fault: fresh attestation finds the new key.
    if (status < 500 && staleKey.test(body.toString('latin1'))) return 'other_client_error';
    return this.adapter.classifyFailure(status, body);
  }

  protected override onSuccess({ contentType, isDelimited, relayed = [] }: UpstreamHeaders): void {
    const { rule, stream, meter } = this.#options;
    this.contentType = contentType;
    meter.begin?.(contentType);
    this.relayedHeaders = relayed;
    // Without a length or chunks, an answer that shows its end in no other way could be truncated and pass for whole.
    const hasEnd = isDelimited || rule.metering === 'fields';
    const hasType = answerType.test(contentType) && (rule.metering !== 'fields' || isTypeOf(contentType, stream));
    // The client needs these headers to open an answer that is sealed whole. Without them it is in clear, whatever it
    // claims.
    const isSealed = rule.metering === 'fields' || relayed.length === rule.responseHeaders.length * 2;
    if (!hasEnd || !hasType || !isSealed) this.giveUp('malformed_answer');
  }

  protected override onAnswerBytes(bytes: Buffer): void {
    const { meter, stream } = this.#options;
    this.#bytes += bytes.length;
    if (!meter.push(bytes)) {
      this.giveUp('malformed_answer');
      return;
    }
    const { mostOutputTokens = Number.POSITIVE_INFINITY } = this.#options;
    if ((meter.leastTokens ?? 0) > mostOutputTokens) {
      this.isTooLong = true;
      this.giveUp('invalid_request');
      return;
    }
    if (!stream) {
      if (this.#bytes === bytes.length) this.awaitMore();
      else this.heard();
      this.outlet.write(bytes);
      if (this.#bytes > maxWholeBytes) this.giveUp('malformed_answer');
      return;
    }
    this.#pass(bytes);
    if (this.isOver) return;
    if (this.hasStarted) {
      this.heard();
      return;
    }
    this.awaitMore();
    this.begin();
  }

  protected override onAnswerEnd(): void {
    if (this.#bytes === 0 || !this.#options.meter.end()) {
      this.onBroken('malformed_answer');
      return;
    }
    this.#complete();
  }

  protected override onBroken(outcome: AttemptOutcome, answer?: FailedAnswer): void {
    // After its terminator a stream is whole, however its connection ends.
    if (outcome === 'network_failure' && this.#tail !== undefined && this.#options.meter.end()) this.#complete();
    else super.onBroken(outcome, answer);
  }

  /** Passes on a piece of a stream, except the terminator and what follows it. */
  #pass(bytes: Buffer): void {
    if (this.#tail !== undefined) {
      this.#tail.push(bytes);
      this.#tailBytes += bytes.length;
      if (this.#tailBytes > maxTailBytes) this.giveUp('malformed_answer');
      return;
    }
    if (!this.#options.meter.isTerminated) {
      this.outlet.write(bytes);
      return;
    }
    const at = Math.max(0, bytes.lastIndexOf('data:'));
    if (at > 0) this.outlet.write(bytes.subarray(0, at));
    this.#tail = [bytes.subarray(at)];
    this.#lingering = setTimeout(() => {
      this.abort();
      if (this.#options.meter.end()) this.outlet.end('complete');
      else this.outlet.end('broke');
    }, lingerMs).unref();
    this.readOn();
  }

  protected override finish(): void {
    super.finish();
    clearTimeout(this.#lingering);
  }

  #complete(): void {
    this.finish();
    if (!this.hasStarted) this.begin();
    this.outlet.end('complete');
  }
}

/** The families' errors for a request that was sealed for a key that the enclave does not have. */
const staleKey = /ehbp:error:key-config|e2ee_model_key_mismatch|e2ee_decryption_failed|Decryption failed/;

const isTypeOf = (contentType: string, stream: boolean): boolean =>
  contentType.toLowerCase().startsWith(stream ? 'text/event-stream' : 'application/json');

import type {
  Adapter,
  RelayedRequest,
  Upstream,
  UpstreamCall,
  UpstreamFailure,
  UpstreamHandler,
  UpstreamHeaders,
  UpstreamRequest,
} from '@sotto/providers';
import type { AttemptOutcome } from '@sotto/router';
import type { Served } from '../settlement/request-settlement.ts';

/** How an attempt failed before output. */
export interface AttemptFailure {
  readonly outcome: AttemptOutcome;
  /** The provider's `retry-after` in seconds, where it sent one. */
  readonly retryAfterS?: number | undefined;
  /** What the client is told in place of the usual words, where the request is at fault; and which field of it. */
  readonly message?: string | undefined;
  readonly param?: string | undefined;
  /**
   * The provider did what the client asked, and no answer can come of it: what the client pays for. Another provider
   * would do the same work again, so none is asked.
   */
  readonly spent?: Served | undefined;
}

export interface AttemptLimits {
  /** Bounds the wait for the first output; undefined for the last candidate, which may be silent. */
  readonly firstByteMs: number | undefined;
  /** Bounds the silence between two pieces of an answer. */
  readonly idleMs: number;
}

/** A failed answer's body is read up to here, to tell a refusal from a bad request; the rest is not waited for. */
const maxFailureBytes = 64 * 1024;
/** And for this long: what it means is in its status already. */
const maxFailureMs = 1000;

/**
 * One call to one route: its timers, its failed answers, and its end, which comes exactly once. What is common to
 * whole and streamed answers; nothing of it outlives the attempt.
 */
export abstract class Attempt implements UpstreamHandler {
  readonly #limits: AttemptLimits;
  readonly adapter: Adapter;
  #call: UpstreamCall | undefined;
  #timer: NodeJS.Timeout | undefined;
  #failing:
    | { readonly status: number; readonly retryAfterS: number | undefined; readonly body: Buffer[]; bytes: number }
    | undefined;
  #over = false;
  /** Whether the provider has said all that it will. */
  #hasEnded = false;

  constructor(adapter: Adapter, limits: AttemptLimits) {
    this.adapter = adapter;
    this.#limits = limits;
  }

  get isOver(): boolean {
    return this.#over;
  }

  start(upstream: Upstream, request: UpstreamRequest | RelayedRequest): void {
    const { firstByteMs } = this.#limits;
    if (firstByteMs !== undefined) this.#timer = setTimeout(() => this.#timeOut(), firstByteMs);
    this.#call = upstream.call(request, this);
    if (this.#over) this.#call.abort();
  }

  /** Ends the attempt from our side: the provider's connection is closed, and nothing more is heard of it. */
  abort(): void {
    this.finish();
    this.#call?.abort();
  }

  pause(): void {
    this.#call?.pause();
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  resume(): void {
    this.awaitMore();
    this.#call?.resume();
  }

  onResponse(status: number, headers: UpstreamHeaders): void {
    if (status >= 200 && status < 300) {
      this.onSuccess(headers);
      return;
    }
    this.#failing = { status, retryAfterS: readRetryAfter(headers.retryAfter), body: [], bytes: 0 };
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#timeOut(), Math.min(maxFailureMs, this.#limits.firstByteMs ?? maxFailureMs));
  }

  onBytes(bytes: Buffer): void {
    if (this.#over) return;
    const failing = this.#failing;
    if (failing === undefined) {
      this.onAnswerBytes(bytes);
      return;
    }
    failing.body.push(bytes);
    failing.bytes += bytes.length;
    if (failing.bytes > maxFailureBytes) this.#failByAnswer();
  }

  onEnd(): void {
    this.#hasEnded = true;
    if (this.#over) this.#rest();
    else if (this.#failing === undefined) this.onAnswerEnd();
    else this.#failByAnswer();
  }

  onFailure(outcome: UpstreamFailure): void {
    this.#hasEnded = true;
    if (this.#over) this.#rest();
    else if (this.#failing === undefined) this.onBroken(outcome);
    else this.#failByAnswer();
  }

  /** What a failed answer means. */
  protected classifyFailure(status: number, body: Buffer): AttemptOutcome {
    return this.adapter.classifyFailure(status, body);
  }

  /** A 2xx answer begins. */
  protected abstract onSuccess(headers: UpstreamHeaders): void;
  protected abstract onAnswerBytes(bytes: Buffer): void;
  protected abstract onAnswerEnd(): void;
  /** The attempt failed: before output, or in the middle of it. */
  protected abstract onBroken(outcome: AttemptOutcome, retryAfterS?: number): void;

  /** From here on the next piece must come within the idle limit. */
  protected awaitMore(): void {
    if (this.#over) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#timeOut(), this.#limits.idleMs);
  }

  /** A piece came; the idle limit starts anew. */
  protected heard(): void {
    this.#timer?.refresh();
  }

  /** Nothing more will be reported. */
  protected finish(): void {
    this.#over = true;
    this.#rest();
  }

  /** As `finish`, and the provider is given this long to close by itself, so that its connection is kept for reuse. */
  protected finishAndLinger(ms: number): void {
    this.finish();
    if (!this.#hasEnded) this.#timer = setTimeout(() => this.abort(), ms).unref();
  }

  /** Nothing waits any longer: a timer would keep all that belongs to the request until it rings. */
  #rest(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Gives up on the provider in the middle: as `abort`, and the failure is reported. */
  protected giveUp(outcome: AttemptOutcome): void {
    this.#call?.abort();
    this.onBroken(outcome);
  }

  #timeOut(): void {
    if (this.#over) return;
    if (this.#failing === undefined) this.giveUp('timeout');
    else this.#failByAnswer();
  }

  #failByAnswer(): void {
    const failing = this.#failing;
    if (failing === undefined) return;
    const outcome = this.classifyFailure(failing.status, Buffer.concat(failing.body));
    // Does nothing where the body has ended, and else closes the connection: nobody reads the rest.
    this.#call?.abort();
    this.onBroken(outcome, failing.retryAfterS);
  }
}

/** `retry-after` as seconds; a date is read against the wall clock, as HTTP means it. */
function readRetryAfter(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const seconds = /^\d{1,6}$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1000;
  return Number.isFinite(seconds) && seconds > 0 ? Math.ceil(seconds) : undefined;
}

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
import type { Served } from '../settlement/served.ts';

/** An answer of a provider with another status than a success. */
export interface FailedAnswer {
  readonly status: number;
  /** The provider's `retry-after` in seconds, if it sent one. */
  readonly retryAfterS: number | undefined;
}

/** How an attempt failed before output. */
export interface AttemptFailure extends Partial<FailedAnswer> {
  readonly outcome: AttemptOutcome;
  /** Replaces the usual message if the request is at fault. `param` names the field at fault. */
  readonly message?: string | undefined;
  readonly param?: string | undefined;
  /**
   * Set if the provider did what the client asked but no answer can result. The client pays for this work. No other
   * provider is tried, because it would do the same work again.
   */
  readonly spent?: Served | undefined;
}

export interface AttemptLimits {
  /** Limits the wait for the first output. Undefined for the last candidate, which may be silent. */
  readonly firstByteMs: number | undefined;
  /** Limits the silence between two pieces of an answer. */
  readonly idleMs: number;
}

/** Read at most this much of a failed answer's body, to tell a refusal from a bad request. */
const maxFailureBytes = 64 * 1024;
/** Wait at most this long for that body: the status already says most. */
const maxFailureMs = 1000;

/**
 * One call to one route: its timers, its failed answers and its end, which is reported exactly once. Whole and streamed
 * answers share this class. None of its timers outlives the attempt.
 */
export abstract class Attempt implements UpstreamHandler {
  readonly #limits: AttemptLimits;
  readonly adapter: Adapter;
  #call: UpstreamCall | undefined;
  #timer: NodeJS.Timeout | undefined;
  #failing: (FailedAnswer & { readonly body: Buffer[]; bytes: number }) | undefined;
  /** How often the idle limit was restarted. */
  #heard = 0;
  #over = false;
  #isPaused = false;
  /** The time for the next piece, if it is shorter than the idle limit. */
  #moreMs = Number.POSITIVE_INFINITY;
  /** Whether the provider has nothing more to send. */
  #hasEnded = false;

  constructor(adapter: Adapter, limits: AttemptLimits) {
    this.adapter = adapter;
    this.#limits = limits;
  }

  get isOver(): boolean {
    return this.#over;
  }

  /** Whether the provider may work for the request: it was written, and no failure has come. */
  get hasBegun(): boolean {
    return this.#failing === undefined && this.#call?.hasBegun === true;
  }

  start(upstream: Upstream, request: UpstreamRequest | RelayedRequest): void {
    const { firstByteMs } = this.#limits;
    if (firstByteMs !== undefined) this.#timer = setTimeout(() => this.#timeOut(), firstByteMs);
    this.#call = upstream.call(request, this);
    if (this.#over) this.#call.abort();
  }

  /** Ends the attempt from our side: closes the provider's connection and reports nothing more. */
  abort(): void {
    this.finish();
    this.#call?.abort();
  }

  pause(): void {
    this.#isPaused = true;
    this.#call?.pause();
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  resume(): void {
    this.#isPaused = false;
    this.awaitMore(this.#moreMs);
    this.#call?.resume();
  }

  onResponse(status: number, headers: UpstreamHeaders): void {
    if (status >= 200 && status < 300) {
      this.onSuccess(headers);
      return;
    }
    this.#failing = { status, retryAfterS: readRetryAfter(headers), body: [], bytes: 0 };
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

  /** Returns the outcome that a failed answer stands for. */
  protected classifyFailure(status: number, body: Buffer): AttemptOutcome {
    return this.adapter.classifyFailure(status, body);
  }

  /** Called when a 2xx answer begins. */
  protected abstract onSuccess(headers: UpstreamHeaders): void;
  protected abstract onAnswerBytes(bytes: Buffer): void;
  protected abstract onAnswerEnd(): void;
  /** Called when the attempt failed, before output or in the middle of it. */
  protected abstract onBroken(outcome: AttemptOutcome, answer?: FailedAnswer): void;

  /** Requires the next piece within the idle limit, or within a shorter time. A pause does not count. */
  protected awaitMore(ms = Number.POSITIVE_INFINITY): void {
    if (this.#over) return;
    this.#moreMs = ms;
    clearTimeout(this.#timer);
    this.#timer = this.#isPaused ? undefined : setTimeout(() => this.#timeOut(), Math.min(ms, this.#limits.idleMs));
  }

  /** Restarts the idle limit, because a piece came. */
  protected heard(): void {
    this.#heard += 1;
    this.#timer?.refresh();
  }

  /** Stops reporting. */
  protected finish(): void {
    this.#over = true;
    this.#rest();
  }

  /** Like `finish`, but gives the provider this long to close by itself, so that its connection can be reused. */
  protected finishAndLinger(ms: number): void {
    this.finish();
    if (this.#hasEnded) return;
    this.#timer = setTimeout(() => this.abort(), ms).unref();
    this.readOn();
  }

  /** Reads on while the client holds the answer back, because at most its end is to come. */
  protected readOn(): void {
    if (this.#isPaused) this.#call?.resume();
  }

  /** Clears the timer: until it fires, it would keep all objects of the request in memory. */
  #rest(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Gives up on the provider in the middle of its answer: like `abort`, but the failure is reported. */
  protected giveUp(outcome: AttemptOutcome): void {
    this.#call?.abort();
    this.onBroken(outcome);
  }

  /**
   * Gives up, unless a piece comes meanwhile. If the process was blocked, its answer may have come, but not have
   * been read: Node runs timers before it reads, and reads before it runs immediates.
   */
  #timeOut(): void {
    const timer = this.#timer;
    const heard = this.#heard;
    setImmediate(() => {
      if (this.#over || this.#timer !== timer || this.#heard !== heard) return;
      if (this.#failing === undefined) this.giveUp('timeout');
      else this.#failByAnswer();
    });
  }

  #failByAnswer(): void {
    const failing = this.#failing;
    if (failing === undefined) return;
    const { status, retryAfterS } = failing;
    const outcome = this.classifyFailure(status, Buffer.concat(failing.body));
    // Does nothing if the body has ended. Otherwise it closes the connection, because the rest is not read.
    this.#call?.abort();
    this.onBroken(outcome, { status, retryAfterS });
  }
}

/**
 * Reads how many seconds to wait: from `retry-after-ms`, which SDKs for OpenAI prefer, or from `retry-after`. A date is compared with the
 * wall clock, as HTTP defines it.
 */
function readRetryAfter({
  retryAfter,
  retryAfterMs,
}: Pick<UpstreamHeaders, 'retryAfter' | 'retryAfterMs'>): number | undefined {
  if (retryAfterMs !== undefined && /^\d{1,9}(\.\d+)?$/.test(retryAfterMs) && Number(retryAfterMs) > 0)
    return Math.ceil(Number(retryAfterMs)) / 1000;
  if (retryAfter === undefined) return undefined;
  const seconds = /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) : (Date.parse(retryAfter) - Date.now()) / 1000;
  return Number.isFinite(seconds) && seconds > 0 ? Math.ceil(seconds) : undefined;
}

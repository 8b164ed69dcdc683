import { bytesPerToken } from '@sotto/money';
import { type AttemptOutcome, failoverTable } from './failover.ts';

/**
 * The measurements that one attempt adds to its route (docs/reference/measurements.md). Durations in ms, speeds in tokens
 * per second.
 */
export interface MeasuredAttempt {
  readonly success: boolean;
  /** From the start of the attempt to its first output. For an operation without streams, to its answer. */
  readonly ttftMs?: number | undefined;
  /** Output tokens after the first, divided by the time since the first. */
  readonly tokensPerSecond?: number | undefined;
  /** For a chat that was not streamed: from the start of the attempt to the whole answer. */
  readonly wholeMs?: number | undefined;
  /** For a chat that was not streamed: all output tokens divided by the time to the whole answer. */
  readonly wholeTokensPerSecond?: number | undefined;
  /** Output tokens per byte of text. Brokers do not share it. */
  readonly tokensPerByte?: number | undefined;
}

/**
 * The output of an attempt. `tokens` is undefined if the provider did not report it, because a guess is not a
 * measurement.
 */
export interface MeasuredOutput {
  readonly tokens: number | undefined;
  /** How many of `tokens` were reasoning, which some providers bill and never show. */
  readonly reasoningTokens: number;
  /** Whether `tokens` may include output that was not shown. Default: false. */
  readonly mayHide?: boolean;
  /** Received bytes of text, reasoning and tool arguments. */
  readonly bytes: number;
}

/** How an attempt ended, as far as it concerns its route. Durations in ms, by a monotonic clock. */
export type AttemptEnd =
  /** Failed before any output. */
  | { readonly kind: 'failed'; readonly outcome: AttemptOutcome }
  /** Vectors, an image or speech. These operations have one answer, so its time is the time to first output. */
  | { readonly kind: 'answered'; readonly ttftMs: number }
  | { readonly kind: 'whole'; readonly durationMs: number; readonly output: MeasuredOutput }
  | {
      readonly kind: 'streamed';
      readonly end:
        | 'complete'
        | 'client_left'
        | 'broke'
        | 'broke_while_held_back'
        | 'out_of_time'
        | 'shut_down'
        | 'shut_down_while_held_back';
      readonly ttftMs: number;
      /** From the first output to the end. */
      readonly flowMs: number;
      /** How long of that the client held the stream back. */
      readonly heldBackMs: number;
      readonly output: MeasuredOutput;
    };

/**
 * The measurements of an attempt. Undefined if it says nothing about its route: then it does not count as a request
 * either.
 */
export function measureAttempt(end: AttemptEnd): MeasuredAttempt | undefined {
  switch (end.kind) {
    case 'failed':
      // A mistake of the caller says nothing about the provider.
      return failoverTable[end.outcome].penalizes === 'none' ? undefined : { success: false };
    case 'answered':
      return { success: true, ttftMs: end.ttftMs };
    case 'whole':
      return {
        success: true,
        wholeMs: end.durationMs,
        wholeTokensPerSecond: speedOf(end.output.tokens ?? 0, end.durationMs),
        ...densityOf(end.output),
      };
    case 'streamed':
      if (end.end === 'complete') {
        const { ttftMs, output } = end;
        return { success: true, ttftMs, tokensPerSecond: speedOfStream(end), ...densityOf(output) };
      }
      return end.end === 'broke' ? { success: false, ttftMs: end.ttftMs } : undefined;
    default:
      return end satisfies never;
  }
}

/** Fewer tokens or less time are a burst of the network. No provider is faster than the upper limit. */
const leastTokens = 10;
const leastMs = 10;
const mostTokensPerSecond = 10_000;
/** If a client held the stream back for more than this fraction, it set the pace itself. */
const mostHeldBack = 0.05;

function speedOfStream(end: Extract<AttemptEnd, { kind: 'streamed' }>): number | undefined {
  const { flowMs, heldBackMs, output } = end;
  if (output.tokens === undefined || heldBackMs > flowMs * mostHeldBack) return undefined;
  // Reasoning that was billed but not streamed took its time before the first output, so it does not count here.
  const streamed =
    output.reasoningTokens > 0 ? Math.min(output.tokens, Math.ceil(output.bytes / bytesPerToken)) : output.tokens;
  return speedOf(streamed - 1, flowMs);
}

function speedOf(tokens: number, durationMs: number): number | undefined {
  if (tokens < leastTokens || durationMs < leastMs) return undefined;
  const tokensPerSecond = (tokens * 1000) / durationMs;
  return tokensPerSecond > mostTokensPerSecond ? undefined : tokensPerSecond;
}

/** No tokenizer has more tokens than bytes, so such a count is about output that was not shown. */
function densityOf(output: MeasuredOutput): Pick<MeasuredAttempt, 'tokensPerByte'> {
  const { tokens = 0, reasoningTokens, mayHide = false, bytes } = output;
  const isKnown = !mayHide && reasoningTokens === 0 && tokens >= leastTokens && tokens <= bytes;
  return isKnown ? { tokensPerByte: tokens / bytes } : {};
}

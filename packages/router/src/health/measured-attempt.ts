import { type AttemptOutcome, failoverTable } from './failover.ts';

/** What one attempt says about its route (docs/guides/measurements.md). Durations in ms, speeds in tokens per second. */
export interface MeasuredAttempt {
  readonly success: boolean;
  /** From the start of the attempt to its first output; of an operation that has no streams, to its answer. */
  readonly ttftMs?: number | undefined;
  /** Output tokens after the first, by the time after the first. */
  readonly tokensPerSecond?: number | undefined;
  /** Of a chat answered whole: from the start of the attempt to the whole answer. */
  readonly wholeMs?: number | undefined;
  /** Of a chat answered whole: all its output tokens by the time of the whole answer. */
  readonly wholeTokensPerSecond?: number | undefined;
}

/** Output as far as it is known: undefined where the provider did not report it, because a guess is no measurement. */
export interface MeasuredOutput {
  readonly tokens: number | undefined;
  /** How many of them were reasoning, which some providers bill and never show. */
  readonly reasoningTokens: number;
  /** Bytes of text, reasoning and tool arguments that came. */
  readonly bytes: number;
}

/** How an attempt ended, as far as it concerns its route. Durations in ms, by a clock that never steps. */
export type AttemptEnd =
  /** Failed before output. */
  | { readonly kind: 'failed'; readonly outcome: AttemptOutcome }
  /** Vectors, an image, speech: what such an operation answers first is all there is to wait for. */
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
      /** How much of that the client held the stream back. */
      readonly heldBackMs: number;
      readonly output: MeasuredOutput;
    };

/** What an attempt says about its route; undefined where it says nothing, and does not count as a request either. */
export function measureAttempt(end: AttemptEnd): MeasuredAttempt | undefined {
  switch (end.kind) {
    case 'failed':
      // What the caller got wrong says nothing about the provider.
      return failoverTable[end.outcome].penalizes === 'none' ? undefined : { success: false };
    case 'answered':
      return { success: true, ttftMs: end.ttftMs };
    case 'whole':
      return {
        success: true,
        wholeMs: end.durationMs,
        wholeTokensPerSecond: speedOf(end.output.tokens ?? 0, end.durationMs),
      };
    case 'streamed':
      if (end.end === 'complete') return { success: true, ttftMs: end.ttftMs, tokensPerSecond: speedOfStream(end) };
      return end.end === 'broke' ? { success: false, ttftMs: end.ttftMs } : undefined;
    default:
      return end satisfies never;
  }
}

/** Less than this is a burst of the network, not a speed; and no provider is faster than that. */
const leastTokens = 10;
const leastMs = 10;
const mostTokensPerSecond = 10_000;
/** A client that held the stream back for more than this part of it has set the pace itself. */
const mostHeldBack = 0.05;
/** As the meter counts where a provider reports nothing. */
const bytesPerToken = 4;

function speedOfStream(end: Extract<AttemptEnd, { kind: 'streamed' }>): number | undefined {
  const { flowMs, heldBackMs, output } = end;
  if (output.tokens === undefined || heldBackMs > flowMs * mostHeldBack) return undefined;
  // Reasoning that was billed but never streamed took its time before the first output.
  const streamed =
    output.reasoningTokens > 0 ? Math.min(output.tokens, Math.ceil(output.bytes / bytesPerToken)) : output.tokens;
  return speedOf(streamed - 1, flowMs);
}

function speedOf(tokens: number, durationMs: number): number | undefined {
  if (tokens < leastTokens || durationMs < leastMs) return undefined;
  const tokensPerSecond = (tokens * 1000) / durationMs;
  return tokensPerSecond > mostTokensPerSecond ? undefined : tokensPerSecond;
}

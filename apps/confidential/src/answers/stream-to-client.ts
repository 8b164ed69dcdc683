import type { RequestEnd } from '@sotto/money';
import type { Route } from '@sotto/router';
import type { Attempt } from '../attempts/attempt.ts';
import type { Expiry } from '../attempts/deadline.ts';
import type { StreamSink } from '../attempts/outlet.ts';
import type { InferenceRequest } from '../inference-request.ts';

/** How a stream ended, and its time from the first output to that, in ms. */
export interface StreamFlow {
  readonly end: StreamEnd;
  readonly flowMs: number;
  /** How much of it the client held the stream back. */
  readonly heldBackMs: number;
  /** How much of it the provider sent nothing, in pauses long enough to hide work. */
  readonly silentMs: number;
}

export type StreamEnd =
  | 'complete'
  | 'client_left'
  | 'broke'
  | 'broke_while_held_back'
  | 'shut_down_while_held_back'
  | Expiry;

/** What the end of a stream means for money. */
export const requestEnds: Readonly<Record<StreamEnd, RequestEnd>> = {
  complete: 'completed',
  client_left: 'client_left',
  broke: 'provider_broke',
  broke_while_held_back: 'provider_broke_while_held_back',
  out_of_time: 'total_time_ran_out',
  shut_down: 'shut_down',
  shut_down_while_held_back: 'shut_down_while_held_back',
};

/** A stream that has output, from the route that serves it. */
export interface ServedStream {
  readonly route: Route;
  readonly attempt: Pick<Attempt, 'abort' | 'pause' | 'resume'> & {
    /** True while an answer that is whole lacks nothing but its usage. */
    readonly awaitsUsage?: boolean;
    /** True once an answer lacks nothing but its usage, if that, and its end. */
    readonly isWhole?: boolean;
    flowTo(sink: StreamSink): void;
  };
  readonly contentType: string;
  /** Of the provider's own, as name, value, name, value. */
  readonly relayedHeaders?: readonly string[];
  /** How long a client must take nothing for its holding back to count against it, in ms. */
  readonly heldBackFromMs: number;
  /** Whether the provider may bill output that it does not show before its usage. */
  readonly hidesOutput?: boolean;
}

/** A provider that breaks this soon after the client let go may have broken because of the client. */
const heldBackGraceMs = 5_000;
/** A client that has taken nothing for so long when the process goes has kept its stream from ending. */
const stalledFromMs = 1_000;
/** Time in ms to wait for the usage after the client has left. Without usage, hidden output would be free. */
const usageWaitMs = { wholeAnswer: 150, hiddenOutput: 5_000 } as const;
/** A pause of the provider from which on it may have produced output that it does not show. */
const silentFromMs = 1_000;

/**
 * Sends headers and lets a stream flow to the client, with back-pressure, until it is over; resolves with how.
 * What still belongs at its end (usage, the terminator, an error) is the caller's, after the settlement.
 */
export function streamToClient(
  inference: InferenceRequest,
  { route, attempt, contentType, relayedHeaders = [], heldBackFromMs, hidesOutput = false }: ServedStream,
): Promise<StreamFlow> {
  const { client, deadline } = inference;
  const { monotonicNow, meter } = inference.deps;
  const { response } = client;
  if (client.hasLeft) {
    attempt.abort();
    return Promise.resolve({ end: 'client_left', flowMs: 0, heldBackMs: 0, silentMs: 0 });
  }
  // Proxies in between must not collect it.
  inference.beginAnswer(route, 'content-type', contentType, ...relayedHeaders, 'x-accel-buffering', 'no');
  return new Promise((resolve) => {
    const begunAt = monotonicNow();
    let heldBackSince: number | undefined;
    let letGoAt = Number.NEGATIVE_INFINITY;
    let heldBackMs = 0;
    let heardAt = begunAt;
    let silentMs = 0;
    let pieces = 0;
    const hear = (now: number): void => {
      if (heldBackSince === undefined && now - heardAt >= silentFromMs) silentMs += now - heardAt;
      heardAt = now;
    };
    const wasLong = (since: number): boolean => monotonicNow() - since >= heldBackFromMs;
    const over = (end: StreamEnd): void => {
      client.onLeft(undefined);
      deadline.onExpired(undefined);
      response.off('drain', letGo);
      const endedAt = monotonicNow();
      meter.streamed(pieces);
      hear(endedAt);
      if (heldBackSince !== undefined) heldBackMs += endedAt - heldBackSince;
      resolve({ end, flowMs: endedAt - begunAt, heldBackMs, silentMs });
    };
    const letGo = (): void => {
      if (heldBackSince !== undefined) {
        const now = monotonicNow();
        heldBackMs += now - heldBackSince;
        heardAt = now;
        if (wasLong(heldBackSince)) letGoAt = now;
      }
      heldBackSince = undefined;
      attempt.resume();
    };
    const isClientsDoing = (): boolean =>
      (heldBackSince !== undefined && wasLong(heldBackSince)) || monotonicNow() - letGoAt < heldBackGraceMs;
    // During a shutdown the client is at fault only if it has been stalled for a while.
    const isStalled = (): boolean => heldBackSince !== undefined && monotonicNow() - heldBackSince >= stalledFromMs;
    let usageWait: NodeJS.Timeout | undefined;
    const leave = (): void => {
      clearTimeout(usageWait);
      attempt.abort();
      over('client_left');
    };
    const sink: StreamSink = {
      write(piece) {
        if (hidesOutput) hear(monotonicNow());
        if (client.hasLeft) return;
        pieces += 1;
        if (response.write(piece, 'latin1') || heldBackSince !== undefined) return;
        heldBackSince = monotonicNow();
        attempt.pause();
        response.once('drain', letGo);
      },
      end(ending) {
        if (client.hasLeft) return leave();
        if (ending === 'complete') return over('complete');
        over(isClientsDoing() ? 'broke_while_held_back' : 'broke');
      },
    };
    client.onLeft(() => {
      const awaitsUsage = attempt.isWhole === true ? attempt.awaitsUsage === true : hidesOutput;
      if (!awaitsUsage) return leave();
      // What the provider produces while its usage is awaited counts as taken.
      usageWait = setTimeout(leave, hidesOutput ? usageWaitMs.hiddenOutput : usageWaitMs.wholeAnswer);
      if (heldBackSince === undefined) return;
      response.off('drain', letGo);
      letGo();
    });
    const expire = (why: Expiry): void => {
      if (client.hasLeft) {
        leave();
        return;
      }
      const isWhole = attempt.isWhole === true && pieces > 0;
      attempt.abort();
      if (isWhole) over('complete');
      else over(why === 'shut_down' && isStalled() ? 'shut_down_while_held_back' : why);
    };
    // It may have expired between the attempt's start and here.
    if (deadline.expired !== undefined) return expire(deadline.expired);
    deadline.onExpired(expire);
    attempt.flowTo(sink);
  });
}

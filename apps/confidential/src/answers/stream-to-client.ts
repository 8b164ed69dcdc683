import type { RequestEnd } from '@sotto/money';
import type { Attempt } from '../attempts/attempt.ts';
import type { Deadline, Expiry } from '../attempts/deadline.ts';
import type { StreamSink } from '../attempts/flowing-attempt.ts';
import type { ClientLink } from './client-link.ts';
import { KeepAlive } from './keep-alive.ts';

/** How a stream ended, and its time from the first output to its end, in ms. */
export interface StreamFlow {
  readonly end: StreamEnd;
  readonly flowMs: number;
  /** The part of that time in which the client held the stream back. */
  readonly heldBackMs: number;
  /** The part in which the provider sent nothing, in pauses long enough to hide work. */
  readonly silentMs: number;
  /** The number of pieces sent to the client. */
  readonly pieces: number;
}

export type StreamEnd =
  | 'complete'
  | 'client_left'
  | 'broke'
  | 'broke_while_held_back'
  | 'shut_down_while_held_back'
  | Expiry;

/** How each end of a stream is charged. */
export const requestEnds: Readonly<Record<StreamEnd, RequestEnd>> = {
  complete: 'completed',
  client_left: 'client_left',
  broke: 'provider_broke',
  broke_while_held_back: 'provider_broke_while_held_back',
  out_of_time: 'total_time_ran_out',
  shut_down: 'shut_down',
  shut_down_while_held_back: 'shut_down_while_held_back',
};

/** An answer that has output and flows from here on. */
export interface FlowingAnswer {
  readonly attempt: Pick<Attempt, 'abort' | 'pause' | 'resume'> & {
    /**
     * Tells the attempt that the client has left, so that it pays for no later output. Returns whether the usage is still
     * to come. Absent if no usage comes.
     */
    clientLeft?(): boolean;
    /** Sends what is left of an answer that lacks at most its usage and its end. Returns false for any other answer. */
    sendRest?(): boolean;
    flowTo(sink: StreamSink): void;
  };
  readonly contentType: string;
  /** The provider's own headers, as name, value, name, value. */
  readonly relayedHeaders?: readonly string[];
  /** How long a client must take nothing before this counts against it, in ms. */
  readonly heldBackFromMs: number;
  /** Whether the provider may bill output that it does not show. */
  readonly hidesOutput?: boolean;
  /** Whether it consists of whole frames of events, between which comments may stand. */
  readonly takesComments?: boolean;
}

/** A provider that breaks this soon after the client resumed may have broken because of the client. */
const heldBackGraceMs = 5_000;
/** During a shutdown, a client that has taken nothing for this long has itself kept its stream from ending. */
const stalledFromMs = 1_000;
/** Time in ms to wait for the usage after the client has left. Otherwise leaving early could be cheaper than staying. */
const usageWaitMs = 5_000;
/** During a pause of at least this length, the provider may have produced output that it does not show. */
const silentFromMs = 1_000;

/** The client's side of a stream. */
export interface StreamTarget {
  readonly client: ClientLink;
  readonly deadline: Deadline;
  /** Sends the headers: the service's own, then these, as name, value, name, value. */
  readonly begin: (...headers: readonly string[]) => void;
  readonly keepAliveMs: number | undefined;
  readonly monotonicNow: () => number;
}

/**
 * Sends the headers and lets a stream flow to the client, with back-pressure, until it ends. Resolves with how it
 * ended. The caller settles the request and then sends the rest: usage, terminator or error.
 */
export function streamToClient(
  {
    attempt,
    contentType,
    relayedHeaders = [],
    heldBackFromMs,
    hidesOutput = false,
    takesComments = false,
  }: FlowingAnswer,
  { client, deadline, begin, keepAliveMs, monotonicNow }: StreamTarget,
): Promise<StreamFlow> {
  const { response } = client;
  // Proxies must not buffer the stream.
  if (!client.hasLeft) begin('content-type', contentType, ...relayedHeaders, 'x-accel-buffering', 'no');
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
    const keepAlive = new KeepAlive(client, takesComments ? keepAliveMs : undefined, () => heldBackSince === undefined);
    const over = (end: StreamEnd): void => {
      keepAlive.stop();
      client.onLeft(undefined);
      deadline.onExpired(undefined);
      response.off('drain', letGo);
      const endedAt = monotonicNow();
      if (!client.hasLeft) hear(endedAt);
      if (heldBackSince !== undefined) heldBackMs += endedAt - heldBackSince;
      resolve({ end, flowMs: endedAt - begunAt, heldBackMs, silentMs, pieces });
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
        if (client.hasLeft) return;
        if (hidesOutput) hear(monotonicNow());
        pieces += 1;
        keepAlive.wrote();
        if (client.write(piece) || heldBackSince !== undefined) return;
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
    const depart = (): void => {
      hear(monotonicNow());
      if (attempt.clientLeft?.() !== true) {
        leave();
        return;
      }
      usageWait = setTimeout(leave, usageWaitMs);
      if (heldBackSince === undefined) return;
      response.off('drain', letGo);
      letGo();
    };
    client.onLeft(depart);
    const expire = (why: Expiry): void => {
      if (client.hasLeft) {
        leave();
        return;
      }
      const isWhole = pieces > 0 && attempt.sendRest?.() === true;
      attempt.abort();
      if (isWhole) over('complete');
      else over(why === 'shut_down' && isStalled() ? 'shut_down_while_held_back' : why);
    };
    // The deadline may have expired between the attempt's start and here.
    if (deadline.expired !== undefined) return expire(deadline.expired);
    deadline.onExpired(expire);
    if (client.hasLeft) depart();
    attempt.flowTo(sink);
  });
}

import type { Route } from '@sotto/router';
import type { StreamAttempt, StreamSink } from '../attempts/stream-attempt.ts';
import type { InferenceRequest } from '../inference-request.ts';

/** How a stream ended, and its time from the first output to that, in ms. */
export interface StreamFlow {
  readonly end: StreamEnd;
  readonly flowMs: number;
  /** How much of it the client held the stream back. */
  readonly heldBackMs: number;
}

export type StreamEnd = 'complete' | 'client_left' | 'broke' | 'broke_while_held_back' | 'out_of_time';

/** A provider that breaks this soon after the client let go may have broken because of the client. */
const heldBackGraceMs = 5_000;

/**
 * Sends headers and lets a stream flow to the client, with back-pressure, until it is over; resolves with how.
 * What still belongs at its end (usage, the terminator, an error) is the caller's, after the settlement.
 */
export function streamToClient(inference: InferenceRequest, route: Route, attempt: StreamAttempt): Promise<StreamFlow> {
  const { client, reply, deadline } = inference;
  const { monotonicNow } = inference.deps;
  const { response } = client;
  if (client.hasLeft) {
    attempt.abort();
    return Promise.resolve({ end: 'client_left', flowMs: 0, heldBackMs: 0 });
  }
  reply.hijack();
  response.writeHead(200, [
    ...inference.headers(route),
    'content-type',
    'text/event-stream; charset=utf-8',
    // Proxies in between must not collect events.
    'x-accel-buffering',
    'no',
  ]);
  return new Promise((resolve) => {
    const begunAt = monotonicNow();
    let heldBackSince: number | undefined;
    let letGoAt = Number.NEGATIVE_INFINITY;
    let heldBackMs = 0;
    const over = (end: StreamEnd): void => {
      client.onLeft(undefined);
      deadline.onExpired(undefined);
      response.off('drain', letGo);
      const endedAt = monotonicNow();
      if (heldBackSince !== undefined) heldBackMs += endedAt - heldBackSince;
      resolve({ end, flowMs: endedAt - begunAt, heldBackMs });
    };
    const letGo = (): void => {
      letGoAt = monotonicNow();
      heldBackMs += letGoAt - (heldBackSince ?? letGoAt);
      heldBackSince = undefined;
      attempt.resume();
    };
    const sink: StreamSink = {
      write(frames) {
        if (response.write(frames, 'latin1') || heldBackSince !== undefined) return;
        heldBackSince = monotonicNow();
        attempt.pause();
        response.once('drain', letGo);
      },
      end(ending) {
        if (ending === 'complete') return over('complete');
        const clientsDoing = heldBackSince !== undefined || monotonicNow() - letGoAt < heldBackGraceMs;
        over(clientsDoing ? 'broke_while_held_back' : 'broke');
      },
    };
    client.onLeft(() => {
      attempt.abort();
      over('client_left');
    });
    deadline.onExpired(() => {
      attempt.abort();
      over('out_of_time');
    });
    attempt.flowTo(sink);
  });
}

import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { largeBytes } from './bodies/arriving-body.ts';

/** The number of requests of a connection that may wait for an earlier response. */
const mostWaiting = 64;

/**
 * Serves the requests of one connection one at a time. Otherwise, a client that sends a thousand requests and reads
 * nothing would keep a thousand responses in memory. `refuse` answers requests beyond the 64th that waits, in few
 * bytes.
 */
export function inTurn(serve: RequestListener, refuse: RequestListener): RequestListener {
  const waiting = new WeakMap<Socket, number>();
  return (request, response) => {
    const { socket } = request;
    // The body must be read, or it would arrive too late. There can only be one such request at a time.
    const isLarge = Number(request.headers['content-length'] ?? 0) > largeBytes;
    // Node assigns the socket to a response when it is its turn.
    if (response.socket !== null || isLarge) return serve(request, response);
    const before = waiting.get(socket) ?? 0;
    if (before >= mostWaiting) return refuse(request, response);
    waiting.set(socket, before + 1);
    response.once('socket', () => {
      waiting.set(socket, (waiting.get(socket) ?? 1) - 1);
      // Node emits `socket` before the response can be written to.
      process.nextTick(serve, request, response);
    });
  };
}

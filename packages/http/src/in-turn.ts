import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { largeBytes } from './bodies/arriving-body.ts';

/** How many requests of a connection may wait for the answer before them. */
const mostWaiting = 64;

/**
 * Serves the requests of one connection one after the other. A client that sends a thousand at once and reads nothing would
 * otherwise have a thousand answers wait in memory. `refuse` answers those beyond 64 in few bytes.
 */
export function inTurn(serve: RequestListener, refuse: RequestListener): RequestListener {
  const waiting = new WeakMap<Socket, number>();
  return (request, response) => {
    const { socket } = request;
    // The body must be read, or it would arrive too late. There can only be one such request at a time.
    const isLarge = Number(request.headers['content-length'] ?? 0) > largeBytes;
    // A response has a socket once it is its turn.
    if (response.socket !== null || isLarge) return serve(request, response);
    const before = waiting.get(socket) ?? 0;
    if (before >= mostWaiting) return refuse(request, response);
    waiting.set(socket, before + 1);
    response.once('socket', () => {
      waiting.set(socket, (waiting.get(socket) ?? 1) - 1);
      // Node has more to do with the response before it may be written to.
      process.nextTick(serve, request, response);
    });
  };
}

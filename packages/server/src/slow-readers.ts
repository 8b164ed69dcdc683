import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Server as TlsServer } from 'node:tls';

export interface SlowReadersOptions {
  /**
   * Time in ms after which a connection is closed if its client reads nothing of the response. It must be minutes. A
   * client that plays speech while it arrives is only seen to read after a megabyte has left the kernel or, over TLS, a
   * whole write has.
   */
  readonly stillMs: number;
  /** Time in ms that a client gets to read the rest of a response after the response is complete. */
  readonly restMs: number;
}

/**
 * Closes connections of clients that do not read their responses, because unread responses stay in memory. Node’s
 * `server.timeout` alone would also end requests that a provider takes minutes to answer.
 */
export function cutSlowReaders(server: Server, { stillMs, restMs }: SlowReadersOptions): void {
  server.timeout = stillMs;
  server.on('timeout', (socket: Socket) => {
    // There is nothing to read yet: the request still arrives, or its response is still awaited.
    if (answerOf(socket) !== undefined && socket.writableLength === 0) socket.setTimeout(stillMs);
    else socket.destroy();
  });

  const sockets = new Set<Socket>();
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  /** Complete responses that clients have not read yet, and how often each was checked. */
  const looks = new WeakMap<ServerResponse, number>();
  const looking = setInterval(() => {
    for (const socket of sockets) {
      const response = answerOf(socket);
      if (response?.writableEnded !== true || socket.writableLength === 0) continue;
      const seen = (looks.get(response) ?? 0) + 1;
      looks.set(response, seen);
      if (seen > looksInRest) socket.destroy();
    }
  }, restMs / looksInRest).unref();
  server.once('close', () => clearInterval(looking));
}

const looksInRest = 10;

/** Returns the current response of a connection. Node’s own handlers find it in the same way. */
export const answerOf = (socket: Duplex): ServerResponse | undefined =>
  (socket as { readonly _httpMessage?: ServerResponse | null })._httpMessage ?? undefined;

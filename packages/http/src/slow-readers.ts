import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';

export interface SlowReadersOptions {
  /**
   * A connection whose client takes nothing of its answer for so long is closed, in ms. It must be minutes: a client that
   * plays speech as it comes is seen to read only once a megabyte has left the kernel or, over TLS, a whole write.
   */
  readonly stillMs: number;
  /** How long a client may take for the rest of an answer once that is whole, in ms. */
  readonly restMs: number;
}

/**
 * Closes connections of clients that do not take their answers, which stay in memory until they do. Node does not by
 * itself: its `server.timeout` would also end requests that a provider takes minutes to answer.
 */
export function cutSlowReaders(server: Server, { stillMs, restMs }: SlowReadersOptions): void {
  server.timeout = stillMs;
  server.on('timeout', (socket: Socket) => {
    // Nothing is there to be taken yet: the request is still arriving, or its answer is still awaited.
    if (answerOf(socket) !== undefined && socket.writableLength === 0) socket.setTimeout(stillMs);
    else socket.destroy();
  });

  const sockets = new Set<Socket>();
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  /** Whole answers that clients have not taken yet, and how often they were looked at. */
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

/** The answer of a connection that is under way, as Node's own handler of timeouts finds it. */
const answerOf = (socket: Socket): ServerResponse | undefined =>
  (socket as { readonly _httpMessage?: ServerResponse | null })._httpMessage ?? undefined;

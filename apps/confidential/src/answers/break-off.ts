import type { ServerResponse } from 'node:http';

/**
 * Ends an answer that has no words for an error so that its client sees one, never a file that is silently short: the
 * body lacks its end and, without TLS, the connection is reset, because to HTTP/1.0 a closed one is a proper end.
 */
export function breakOff(response: ServerResponse): void {
  const { socket } = response;
  if (socket === null || 'encrypted' in socket) response.destroy();
  else socket.resetAndDestroy();
}

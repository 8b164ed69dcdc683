import { createServer, type Socket } from 'node:net';
import { listenOnLoopback } from '@sotto/test-servers';

/** A server that answers every connection with given bytes, whatever the request. */
export interface RawServer {
  readonly baseUrl: string;
  /** Replaces the answer from now on. With `end` the server then closes the connection. */
  says(pieces: readonly string[], end: boolean): void;
  stop(): Promise<void>;
}

export async function startRawServer(): Promise<RawServer> {
  let said: readonly string[] = [];
  let ends = true;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    socket.once('data', () => {
      for (const piece of said) socket.write(piece, 'latin1');
      if (ends) socket.end();
    });
  });
  return {
    baseUrl: `http://127.0.0.1:${await listenOnLoopback(server)}/v1`,
    says(pieces, end) {
      said = pieces;
      ends = end;
    },
    async stop() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

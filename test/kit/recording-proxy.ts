import { connect, createServer, type Socket } from 'node:net';
import { listenOnLoopback } from '@sotto/test-servers';

/** A TCP proxy in front of a server that keeps every byte of both directions. */
export interface RecordingProxy {
  /** The server's URL through this proxy. */
  readonly url: string;
  /**
   * Returns all traffic as `latin1`. The two directions of each connection are separate, so that no text is torn apart.
   */
  heard(): string;
  /** What each client has sent, as `latin1`. */
  sent(): string[];
  /** What each client has received, as `latin1`. */
  received(): string[];
  close(): void;
}

/** @param target - A URL with a port. */
export async function startRecordingProxy(target: string): Promise<RecordingProxy> {
  const { hostname, port } = new URL(target);
  const recorded: Buffer[][] = [];
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      const pieces: Buffer[] = [];
      recorded.push(pieces);
      sockets.add(from);
      from.setNoDelay(true);
      from.on('data', (piece: Buffer) => {
        pieces.push(piece);
        to.write(piece);
      });
      from.on('error', () => {});
      from.on('end', () => to.end());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  const url = new URL(target);
  url.hostname = '127.0.0.1';
  url.port = String(await listenOnLoopback(server));
  const oneWay = (way: 0 | 1): string[] =>
    recorded.filter((_, at) => at % 2 === way).map((pieces) => Buffer.concat(pieces).toString('latin1'));
  return {
    url: url.href.replace(/\/$/, ''),
    sent: () => oneWay(0),
    received: () => oneWay(1),
    heard: () => recorded.map((pieces) => Buffer.concat(pieces).toString('latin1')).join('\n'),
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

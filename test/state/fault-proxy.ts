import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A TCP proxy in front of a server, for the faults that a network has. */
export interface FaultProxy {
  readonly port: number;
  /** Connections made so far. */
  readonly connections: number;
  /** The next request still reaches the server, and its connection is cut before the reply comes back. */
  cutNextReply(): void;
  /** The present connections stay open and carry nothing any more; new ones work. */
  silence(): void;
  close(): void;
}

export async function startFaultProxy(targetPort: number): Promise<FaultProxy> {
  const pairs = new Set<{ readonly client: Socket; readonly upstream: Socket; silent: boolean }>();
  let connections = 0;
  let cutting = false;
  const server = createServer((client) => {
    connections += 1;
    const upstream = connect(targetPort, '127.0.0.1');
    const pair = { client, upstream, silent: false };
    pairs.add(pair);
    client.on('data', (bytes) => {
      if (!pair.silent) upstream.write(bytes);
    });
    upstream.on('data', (bytes) => {
      if (pair.silent) return;
      if (!cutting) {
        client.write(bytes);
        return;
      }
      cutting = false;
      client.destroy();
      upstream.destroy();
    });
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      socket.on('error', () => {});
      socket.on('close', () => {
        other.destroy();
        pairs.delete(pair);
      });
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    get connections() {
      return connections;
    },
    cutNextReply() {
      cutting = true;
    },
    silence() {
      for (const pair of pairs) pair.silent = true;
    },
    close() {
      server.close();
      for (const { client, upstream } of pairs) {
        client.destroy();
        upstream.destroy();
      }
    },
  };
}

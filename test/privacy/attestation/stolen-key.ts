import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { connect as connectTls, TLSSocket } from 'node:tls';
import { listenOnLoopback } from '@sotto/test-servers';

/** What the attacker does with a new connection. */
interface Attack {
  /**
   * `pass`: passes the bytes on, as an honest network does. `end_tls`: ends the client's TLS with the stolen key, and
   * speaks to the genuine broker on a TLS connection of its own.
   */
  readonly way: 'pass' | 'end_tls';
  /** The newest TLS that it speaks with the client. Default: 1.3. */
  readonly newestTls?: 'TLSv1.2' | 'TLSv1.3';
  /** Changes what the client sends, as text. */
  readonly rewrite?: (sent: string) => string;
}

/**
 * An attacker on the network path to a broker, who has stolen the broker's TLS key. It is an HTTP CONNECT proxy, so that a
 * client reaches it under the broker's own origin.
 */
export interface Attacker {
  /** The address for `relay`. */
  readonly address: string;
  /** What it has read of the clients' requests. */
  readonly read: () => string;
  /** How many connections clients have made. */
  readonly connections: () => number;
  attacks(attack: Attack): void;
  /** Ends all connections, as a network may. Resolves when both ends know. */
  cut(): Promise<void>;
  stop(): Promise<void>;
}

/** @param stolen - the broker's TLS key and certificate, as PEM. */
export async function startAttacker(stolen: () => { readonly key: string; readonly cert: string }): Promise<Attacker> {
  let attack: Attack = { way: 'pass' };
  let read = '';
  let connections = 0;
  const sockets = new Set<Socket>();
  const keep = <Each extends Socket>(socket: Each): Each => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    return socket;
  };
  const endTls = (client: Socket, port: number, { newestTls = 'TLSv1.3', rewrite = (sent) => sent }: Attack): void => {
    const inside = keep(new TLSSocket(client, { isServer: true, maxVersion: newestTls, ...stolen() }));
    const upstream = keep(connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }));
    inside.on('data', (bytes) => {
      const sent = rewrite(bytes.toString('latin1'));
      read += sent;
      upstream.write(sent, 'latin1');
    });
    upstream.pipe(inside);
    upstream.on('close', () => inside.destroy());
    inside.on('close', () => upstream.destroy());
  };
  const clients = new Set<Socket>();
  const server = createServer((client) => {
    clients.add(keep(client));
    client.once('data', (first: Buffer) => {
      const [, port = ''] = /^CONNECT 127\.0\.0\.1:(\d+) /.exec(first.toString('latin1')) ?? [];
      connections += 1;
      client.write('HTTP/1.1 200 Connected\r\n\r\n');
      if (attack.way === 'end_tls') return endTls(client, Number(port), attack);
      const upstream = keep(connect(Number(port), '127.0.0.1'));
      client.pipe(upstream).pipe(client);
      upstream.on('close', () => client.destroy());
      client.on('close', () => upstream.destroy());
    });
  });
  const port = await listenOnLoopback(server);
  return {
    address: `http://127.0.0.1:${port}`,
    read: () => read,
    connections: () => connections,
    attacks: (next) => {
      attack = next;
    },
    async cut() {
      const open = [...clients].filter(({ closed }) => !closed);
      const ended = open.map((client) => once(client, 'close'));
      for (const client of open) client.end();
      await Promise.all(ended);
    },
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

import { connect, createServer, type Socket } from 'node:net';
import { listenOnLoopback } from '@sotto/test-servers';

/** A relay that speaks SOCKS5 and HTTP CONNECT on one port. */
export interface TestRelay {
  readonly port: number;
  /** What it was asked to connect to, as `host:port`, in order. */
  readonly asked: readonly string[];
  /** The first bytes after a connection was made, of each connection. */
  readonly carried: readonly Buffer[];
  stop(): Promise<void>;
}

/** Starts a relay on loopback. It refuses hosts other than 127.0.0.1, and with `credential` whoever does not show it. */
export async function startRelay({ credential }: { readonly credential?: string } = {}): Promise<TestRelay> {
  const asked: string[] = [];
  const carried: Buffer[] = [];
  const sockets = new Set<Socket>();
  const passOn = (
    client: Socket,
    host: string,
    port: number,
    made: string | Buffer,
    refused: string | Buffer,
  ): void => {
    asked.push(`${host}:${port}`);
    if (host !== '127.0.0.1') return void client.end(refused);
    const upstream = connect(port, host, () => {
      client.write(made);
      client.once('data', (first: Buffer) => carried.push(first));
      client.pipe(upstream).pipe(client);
    });
    sockets.add(upstream);
    upstream.on('error', () => client.destroy());
    client.on('error', () => upstream.destroy());
  };
  const server = createServer((client) => {
    sockets.add(client);
    client.on('error', () => {});
    client.once('data', (first: Buffer) => {
      if (first[0] === 5) return socks(client, first);
      const [, host = '', port = ''] = /^CONNECT ([^ :]+):(\d+) /.exec(first.toString('latin1')) ?? [];
      const shown = /proxy-authorization: Basic (\S+)/i.exec(first.toString('latin1'))?.[1];
      if (credential !== undefined && Buffer.from(shown ?? '', 'base64').toString() !== credential) {
        return void client.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
      }
      passOn(client, host, Number(port), 'HTTP/1.1 200 Connected\r\n\r\n', 'HTTP/1.1 502 Bad Gateway\r\n\r\n');
    });
  });
  const socks = (client: Socket, greeting: Buffer): void => {
    const request = (): void => {
      client.once('data', (bytes: Buffer) => {
        const isName = bytes[3] === 3;
        const end = isName ? 5 + (bytes[4] ?? 0) : 8;
        const host = isName ? bytes.subarray(5, end).toString('latin1') : [...bytes.subarray(4, 8)].join('.');
        const reply = (code: number): Buffer => Buffer.from([5, code, 0, 1, 0, 0, 0, 0, 0, 0]);
        passOn(client, host, bytes.readUInt16BE(end), reply(0), reply(4));
      });
    };
    const wanted = credential === undefined ? 0 : 2;
    if (!greeting.subarray(2).includes(wanted)) return void client.end(Buffer.from([5, 0xff]));
    client.write(Buffer.from([5, wanted]));
    if (credential === undefined) {
      request();
      return;
    }
    client.once('data', (bytes: Buffer) => {
      const userEnd = 2 + (bytes[1] ?? 0);
      const shown = `${bytes.subarray(2, userEnd)}:${bytes.subarray(userEnd + 1)}`;
      client.write(Buffer.from([1, shown === credential ? 0 : 1]));
      if (shown === credential) request();
    });
  };
  return {
    port: await listenOnLoopback(server),
    asked,
    carried,
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

import type { BlockList, Server, Socket } from 'node:net';
import { readProxyHeader } from './header.ts';

/** How long a proxy may take to say whose connection it passes on. */
const patienceMs = 5_000;

/**
 * Has a TLS server take connections of these proxies by the PROXY protocol: the header is read before TLS, and requests then
 * come from the address that it names. A proxy's connection without a header is closed; everybody else's is served as it is.
 */
export function takeProxyHeaders(server: Server, proxies: BlockList): void {
  const serve = server.listeners('connection');
  server.removeAllListeners('connection');
  /** By both ends of the connection, which TLS shows as well. */
  const clients = new Map<string, string>();
  server.on('connection', (socket: Socket) => {
    const pass = (): void => {
      for (const listener of serve) listener.call(server, socket);
    };
    if (!isOf(proxies, socket)) return pass();
    const ends = endsOf(socket);
    socket.once('close', () => clients.delete(ends));
    readHeader(socket, (address) => {
      if (address !== undefined) clients.set(ends, address);
      pass();
    });
  });
  server.prependListener('secureConnection', (socket: Socket) => {
    const address = clients.get(endsOf(socket));
    if (address !== undefined) Object.defineProperty(socket, 'remoteAddress', { value: address });
  });
}

const endsOf = ({ remoteAddress, remotePort, localAddress, localPort }: Socket): string =>
  `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;

const isOf = (proxies: BlockList, { remoteAddress, remoteFamily }: Socket): boolean =>
  remoteAddress !== undefined && proxies.check(remoteAddress, remoteFamily === 'IPv6' ? 'ipv6' : 'ipv4');

/** Reads the header and nothing beyond it. Who sends none is cut off. */
function readHeader(socket: Socket, onHeader: (address: string | undefined) => void): void {
  let bytes = Buffer.alloc(0);
  const giveUp = (): void => void socket.destroy();
  const timer = setTimeout(giveUp, patienceMs);
  const done = (): void => {
    clearTimeout(timer);
    socket.off('readable', read).off('error', giveUp).off('close', done);
  };
  const read = (): void => {
    const more: Buffer | null = socket.read();
    if (more === null) return;
    bytes = Buffer.concat([bytes, more]);
    const header = readProxyHeader(bytes);
    if (header.kind === 'unfinished') return;
    done();
    if (header.kind === 'header') {
      if (header.bytes < bytes.length) socket.unshift(bytes.subarray(header.bytes));
      onHeader(header.address);
    } else giveUp();
  };
  socket.on('readable', read).on('error', giveUp).on('close', done);
}

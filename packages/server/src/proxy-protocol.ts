import { type BlockList, isIP, type Server, type Socket } from 'node:net';

/** Time in which a proxy must send its header. */
const patienceMs = 5_000;

/**
 * Makes a TLS server accept connections from these proxies by the PROXY protocol. The header is read before TLS, and
 * requests then come from the address that it names. A proxy’s connection without a header is closed. Other clients
 * connect without a header.
 */
export function takeProxyHeaders(server: Server, proxies: BlockList): void {
  const serve = server.listeners('connection');
  server.removeAllListeners('connection');
  /** By both ends of the connection, because the TLS socket has these as well. */
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

/** Reads the header and no byte beyond it. Closes a connection without a header. */
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

/**
 * The start of a proxy’s connection (HAProxy’s PROXY protocol, version 1 or 2). `unfinished`: more bytes are needed.
 * `malformed`: it is not such a header. `header`: its length and the client’s address. The address is undefined for the
 * proxy’s own connections (health checks) and for families without IP addresses.
 */
type ProxyHeader =
  | { readonly kind: 'unfinished' }
  | { readonly kind: 'malformed' }
  | { readonly kind: 'header'; readonly bytes: number; readonly address: string | undefined };

const signature = Buffer.from('0d0a0d0a000d0a515549540a', 'hex');
/** Of version 1: `PROXY TCP6` with two addresses and two ports, and CRLF. */
const longestLine = 107;
/** Of version 2: addresses and further fields of the proxy, such as the name of its endpoint. */
const longestBlock = 2048;

const unfinished = { kind: 'unfinished' } as const;
const malformed = { kind: 'malformed' } as const;

export function readProxyHeader(bytes: Buffer): ProxyHeader {
  if (bytes.length === 0) return unfinished;
  return bytes[0] === signature[0] ? readBlock(bytes) : readLine(bytes);
}

function readBlock(bytes: Buffer): ProxyHeader {
  const seen = Math.min(bytes.length, signature.length);
  if (bytes.compare(signature, 0, seen, 0, seen) !== 0) return malformed;
  if (bytes.length < 16) return unfinished;
  const [versionAndCommand, familyAndTransport] = [bytes.readUInt8(12), bytes.readUInt8(13)];
  const length = bytes.readUInt16BE(14);
  if (versionAndCommand >> 4 !== 2 || (versionAndCommand & 15) > 1 || length > longestBlock) return malformed;
  if (bytes.length < 16 + length) return unfinished;
  const isOwn = (versionAndCommand & 15) === 0;
  const block = bytes.subarray(16, 16 + length);
  const header = (address: string | undefined): ProxyHeader => ({ kind: 'header', bytes: 16 + length, address });
  switch (familyAndTransport >> 4) {
    case 1:
      return length < 12 ? malformed : header(isOwn ? undefined : [...block.subarray(0, 4)].join('.'));
    case 2:
      return length < 36 ? malformed : header(isOwn ? undefined : readIpv6(block));
    default:
      return header(undefined);
  }
}

function readIpv6(block: Buffer): string {
  const groups = Array.from({ length: 8 }, (_, at) => block.readUInt16BE(2 * at).toString(16));
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}

function readLine(bytes: Buffer): ProxyHeader {
  const end = bytes.subarray(0, longestLine).indexOf('\r\n');
  if (end < 0) {
    const beginning = 'PROXY '.slice(0, Math.min(bytes.length, 6));
    const mayBe = bytes.length < longestLine && bytes.toString('latin1', 0, beginning.length) === beginning;
    return mayBe ? unfinished : malformed;
  }
  const line = bytes.toString('latin1', 0, end);
  if (/^PROXY UNKNOWN(?: |$)/.test(line)) return { kind: 'header', bytes: end + 2, address: undefined };
  const [, family, from = '', to = ''] = /^PROXY TCP([46]) (\S+) (\S+) \d{1,5} \d{1,5}$/.exec(line) ?? [];
  if (family === undefined || isIP(from) !== Number(family) || isIP(to) !== Number(family)) return malformed;
  return { kind: 'header', bytes: end + 2, address: from };
}

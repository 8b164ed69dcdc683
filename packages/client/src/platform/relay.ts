import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import type { Socket } from 'node:net';
import { SocksClient } from 'socks';
import { buildConnector } from 'undici';
import { ClientError } from '../errors.ts';

/**
 * A proxy that somebody else runs. It sees the address of this machine, and neither plane of the service does. It resolves
 * names, so that this machine asks no resolver for them.
 */
export interface Relay {
  readonly kind: 'socks5' | 'http';
  readonly host: string;
  readonly port: number;
  readonly user: string | undefined;
  readonly password: string | undefined;
  /** For tests, whose services have no TLS: whether it carries plain http. */
  readonly carriesPlainHttp: boolean;
}

const kinds: Readonly<Record<string, { readonly kind: Relay['kind']; readonly port: number }>> = {
  'socks5:': { kind: 'socks5', port: 1080 },
  'socks5h:': { kind: 'socks5', port: 1080 },
  'http:': { kind: 'http', port: 8080 },
};

const takes =
  'must be of the form socks5://host:port or http://host:port, with user:password@ before the host if it needs them';

/** Reads the address of a relay. Throws `option_invalid`. */
export function readRelay(address: string, carriesPlainHttp = false): Relay {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const known = url && kinds[url.protocol];
  const user = url && decoded(url.username);
  const password = url && decoded(url.password);
  if (
    url === undefined ||
    known === undefined ||
    user === undefined ||
    password === undefined ||
    url.hostname === '' ||
    !/^\/?$/.test(url.pathname) ||
    url.search !== ''
  ) {
    throw new ClientError('option_invalid', undefined, { detail: `\`relay\` ${takes}.` });
  }
  return {
    kind: known.kind,
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? known.port : Number(url.port),
    user: user === '' ? undefined : user,
    password: password === '' ? undefined : password,
    carriesPlainHttp,
  };
}

/**
 * Requires TLS for an address that the relay would carry. Otherwise the relay would read the key and the content. Throws
 * `option_invalid`.
 */
export function requireTlsThrough({ carriesPlainHttp }: Relay, address: string): void {
  const { origin, protocol } = new URL(address);
  if (protocol === 'https:' || carriesPlainHttp) return;
  const detail = `\`relay\` cannot carry ${origin}: it has no TLS, so the relay would read your key and content. Use an https origin, or no relay.`;
  throw new ClientError('option_invalid', 'relay', { detail });
}

/** Returns undefined for a malformed escape. */
function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** The same relay with a new random user, so that Tor and others use a circuit that no other connection uses. */
export const onNewCircuit = (relay: Relay): Relay => ({
  ...relay,
  user: randomBytes(12).toString('hex'),
  password: randomBytes(12).toString('hex'),
});

/** Why the relay gave no connection. `code` has no address and no name in it. */
class RelayError extends Error {
  readonly code: string;

  constructor(reason: string) {
    super(`the relay gave no connection: ${reason}`);
    this.name = 'RelayError';
    this.code = `relay: ${reason}`;
  }
}

interface Destination {
  readonly host: string;
  readonly port: number;
}

/** Connects to a destination through the relay. There is no direct connection: if the relay fails, this rejects. */
function dialThrough(relay: Relay, destination: Destination, timeoutMs: number): Promise<Socket> {
  return relay.kind === 'http'
    ? connectByHttp(relay, destination, timeoutMs)
    : connectBySocks(relay, destination, timeoutMs);
}

async function connectBySocks(relay: Relay, destination: Destination, timeoutMs: number): Promise<Socket> {
  const { host, port, user, password } = relay;
  try {
    const { socket } = await SocksClient.createConnection({
      proxy: { host, port, type: 5, ...(user === undefined ? {} : { userId: user, password: password ?? '' }) },
      command: 'connect',
      destination,
      timeout: timeoutMs,
    });
    return socket;
  } catch (error) {
    throw new RelayError(reasonOf(error));
  }
}

function connectByHttp(relay: Relay, destination: Destination, timeoutMs: number): Promise<Socket> {
  const to = `${destination.host.includes(':') ? `[${destination.host}]` : destination.host}:${destination.port}`;
  const credential = relay.user === undefined ? undefined : `${relay.user}:${relay.password ?? ''}`;
  return new Promise((resolve, reject) => {
    const asked = request({
      ...{ host: relay.host, port: relay.port, method: 'CONNECT', path: to, agent: false, timeout: timeoutMs },
      headers: {
        host: to,
        ...(credential === undefined
          ? {}
          : { 'proxy-authorization': `Basic ${Buffer.from(credential).toString('base64')}` }),
      },
    });
    asked.once('connect', (answer, socket: Socket, first) => {
      if (answer.statusCode === 200) {
        socket.setTimeout(0);
        if (first.length > 0) socket.unshift(first);
        resolve(socket);
        return;
      }
      socket.destroy();
      reject(new RelayError(`it answered ${answer.statusCode}`));
    });
    asked.once('response', (answer) => {
      answer.destroy();
      reject(new RelayError(`it answered ${answer.statusCode}`));
    });
    asked.once('timeout', () => asked.destroy(new RelayError('it did not answer in time')));
    asked.once('error', (error) => reject(error instanceof RelayError ? error : new RelayError(reasonOf(error))));
    asked.end();
  });
}

/** The code or the message of a failure, which name at most the relay. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'it failed';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}

/** Returns undici's connector, whose connections go through the relay if there is one. TLS stays end to end. */
export function connectorBy(
  relay: Relay | undefined,
  options: buildConnector.BuildOptions & { readonly timeout: number },
): buildConnector.connector {
  const dial = buildConnector(options);
  if (relay === undefined) return dial;
  return ({ httpSocket: _, ...to }, callback) => {
    const port = Number(to.port || (to.protocol === 'https:' ? 443 : 80));
    dialThrough(relay, { host: to.hostname.replace(/^\[|\]$/g, ''), port }, options.timeout).then(
      (socket) => (to.protocol === 'https:' ? dial({ ...to, httpSocket: socket }, callback) : callback(null, socket)),
      (error: Error) => callback(error, null),
    );
  };
}

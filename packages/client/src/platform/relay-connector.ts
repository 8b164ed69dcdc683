import { request } from 'node:http';
import type { Socket } from 'node:net';
import { SocksClient } from 'socks';
import { buildConnector } from 'undici';
import type { Relay } from './relay.ts';

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

import { createHash } from 'node:crypto';
import { Agent, type buildConnector, type Dispatcher, Pool, fetch as undiciFetch } from 'undici';
import { maxAnswerBytes, readBounded } from '../bounded-body.ts';
import { ClientError } from '../errors.ts';
import type { ContentChannel, Platform } from '../gateway/platform.ts';
import { flag, optional, requireOptions, text } from '../options.ts';
import { NodeConnection, spkiOf } from './node-connection.ts';
import { sendOver, silenceMs } from './node-send.ts';
import { onNewCircuit, type Relay, readRelay, requireTlsThrough } from './relay.ts';
import { connectorBy } from './relay-connector.ts';

export interface NodePlatformOptions {
  /**
   * Whether the attestation alone may vouch for the broker's TLS key. Otherwise an authority that this machine trusts
   * must also have signed its certificate. Authorities prove the owner of the name, which measurements do not.
   */
  readonly selfSigned: boolean;
  /**
   * A SOCKS5 or HTTP CONNECT proxy that another party runs, such as `socks5://127.0.0.1:9050` for Tor. Neither plane then sees the
   * address of this machine. There is no direct connection if it fails.
   */
  readonly relay?: string | undefined;
  /** Whether each plane is reached through a circuit of its own, which no other process or client uses. Needs a SOCKS5 relay. */
  readonly isolated?: boolean | undefined;
  /** For tests, whose services have no TLS: whether the relay carries plain http. */
  readonly relaysPlainHttp?: boolean | undefined;
}

const connectMs = 10_000;

type Connected = Parameters<buildConnector.Callback>;
/** Judges a connection by its proven key, before the first byte is sent on it. */
type Judge = (spki: Uint8Array | undefined) => ClientError | undefined;

/** The evidence that is read over the connection says whether its key is good. */
const anyKey: Judge = () => undefined;

/**
 * Node: connections are undici's, and each one's TLS key is checked before the first byte is sent. Throws
 * `option_invalid`.
 */
export function nodePlatform(options: NodePlatformOptions): Platform {
  const { selfSigned, relay: address, isolated, relaysPlainHttp } = options;
  requireOptions(
    { selfSigned, relay: address, isolated, relaysPlainHttp },
    { selfSigned: flag, relay: optional(text), isolated: optional(flag), relaysPlainHttp: optional(flag) },
  );
  const given = address === undefined ? undefined : readRelay(address, relaysPlainHttp);
  const requireReachable = (origin: string): void => {
    if (given !== undefined) requireTlsThrough(given, origin);
  };
  const relay = isolated && given !== undefined ? onNewCircuit(given) : given;
  // Session resumption is off: a resumed connection would show the key of an earlier one.
  const dial = connectorBy(relay, {
    rejectUnauthorized: !selfSigned,
    maxCachedSessions: 0,
    allowH2: false,
    timeout: connectMs,
  });
  const connectorWith =
    (judge: Judge): buildConnector.connector =>
    (options, callback) => {
      dial(options, (...connected: Connected) => {
        const [error, socket] = connected;
        if (error !== null) return callback(unreachable(error), null);
        const refusal = judge(spkiOf(socket));
        if (refusal === undefined) return callback(null, socket);
        socket.destroy();
        callback(refusal, null);
      });
    };
  return {
    seesTlsKeys: true,
    controlFetch: fetchThrough(isolated && given !== undefined ? onNewCircuit(given) : given).send,
    requireReachable,
    async readEvidence(origin, asked, signal) {
      requireReachable(origin);
      const connection = new NodeConnection(origin, connectorWith(anyKey));
      try {
        return await connection.readEvidence(asked, signal);
      } catch (error) {
        connection.close();
        throw error;
      }
    },
    openChannel(origin, spkiSha256) {
      requireReachable(origin);
      const judge: Judge = (spki) => {
        if (spkiSha256 === undefined) return undefined;
        const isNamed = spki !== undefined && spkiSha256.has(createHash('sha256').update(spki).digest('hex'));
        return isNamed ? undefined : new ClientError('connection_not_verified');
      };
      const pool = new Pool(origin, {
        connect: connectorWith(judge),
        headersTimeout: silenceMs,
        bodyTimeout: silenceMs,
        keepAliveTimeout: 60_000,
        keepAliveMaxTimeout: 60_000,
      });
      return channelOf(pool);
    },
  };
}

/**
 * A `fetch` whose connections all go through the relay, if there is one, and the end of its connections. Unlike the global
 * `fetch`, it never takes a proxy from the environment: a local service would be reached through it, with the key in clear.
 */
interface RelayedFetch {
  readonly send: typeof fetch;
  readonly close: () => void;
}

function fetchThrough(relay: Relay | undefined): RelayedFetch {
  // Session resumption is off: it would show that two connections are of one process.
  const dispatcher = new Agent({
    connect: connectorBy(relay, { timeout: connectMs, allowH2: false, maxCachedSessions: 0 }),
  });
  const send = async (input: string, init?: RequestInit): Promise<Response> => {
    if (relay !== undefined) requireTlsThrough(relay, input);
    const answer = await undiciFetch(input, { ...(init as object), dispatcher });
    // Callers test for the global `Response`, and undici's own is another class. Its body is read here, because undici
    // cancels the body of an answer that nobody refers to.
    const body = answer.body === null ? null : await readBounded(answer.body, maxAnswerBytes);
    if (body === undefined) throw new Error(`the answer has more than ${maxAnswerBytes} bytes`);
    return new Response(body, { status: answer.status, headers: [...answer.headers] });
  };
  return { send: send as unknown as typeof fetch, close: () => void dispatcher.destroy() };
}

/** Returns a `fetch` through the relay on a circuit of its own. */
export const isolatedFetch = (relay: Relay): RelayedFetch => fetchThrough(onNewCircuit(relay));

const unreachable = (error: Error): ClientError => {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  return new ClientError('confidential_unreachable', undefined, { detail: `(${code})`, cause: error });
};

function channelOf(pool: Dispatcher): ContentChannel {
  let isClosed = false;
  return {
    async send(request) {
      // The verification ended while this request was waiting.
      if (isClosed) throw new ClientError('connection_not_verified');
      return sendOver(pool, request);
    },
    close() {
      isClosed = true;
      pool.close().catch(() => undefined);
    },
  };
}

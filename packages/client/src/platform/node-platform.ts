import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { Agent, type buildConnector, Client, type Dispatcher, Pool, fetch as undiciFetch } from 'undici';
import { ClientError } from '../errors.ts';
import {
  type ContentAnswer,
  type ContentChannel,
  type ContentRequest,
  type EvidenceReading,
  evidencePath,
  type Platform,
  parseEvidence,
} from '../gateway/platform.ts';
import { flag, optional, requireOptions, text } from '../options.ts';
import { onNewCircuit, type Relay, readRelay, requireTlsThrough } from './relay.ts';
import { connectorBy } from './relay-connector.ts';

export interface NodePlatformOptions {
  /**
   * Whether the attestation alone may vouch for the broker's TLS key. Otherwise an authority that this machine trusts
   * must also have signed its certificate. Authorities prove the owner of the name, which measurements do not.
   */
  readonly selfSigned: boolean;
  /**
   * A SOCKS5 or HTTP CONNECT proxy that somebody else runs, such as `socks5://127.0.0.1:9050` for Tor. Neither plane then sees the
   * address of this machine. There is no direct connection if it fails.
   */
  readonly relay?: string | undefined;
  /** Whether each plane is reached through a circuit of its own, which no other process or client uses. Needs a SOCKS5 relay. */
  readonly isolated?: boolean | undefined;
  /** For tests, whose services have no TLS: whether the relay carries plain http. */
  readonly relaysPlainHttp?: boolean | undefined;
}

const connectMs = 10_000;
const evidenceMs = 60_000;
/** Above the time that a broker waits for a provider. The callers' signals end a request earlier. */
const silenceMs = 20 * 60_000;
const maxEvidenceBytes = 16 * 1024 * 1024;

type Connected = Parameters<buildConnector.Callback>;
/** Judges a connection by its proven key, before the first byte is sent on it. */
type Judge = (spki: Uint8Array | undefined) => ClientError | undefined;

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
    async readEvidence(origin, nonce, signal) {
      requireReachable(origin);
      return readEvidence(origin, nonce, { connectorWith, signal });
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
    const body = answer.body === null ? null : await answer.arrayBuffer();
    return new Response(body, { status: answer.status, headers: [...answer.headers] });
  };
  return { send: send as unknown as typeof fetch, close: () => void dispatcher.destroy() };
}

/** Returns a `fetch` through the relay on a circuit of its own. */
export const isolatedFetch = (relay: Relay): RelayedFetch => fetchThrough(onNewCircuit(relay));

function spkiOf(socket: unknown): Uint8Array | undefined {
  if (!(socket instanceof TLSSocket)) return undefined;
  return socket.getPeerX509Certificate()?.publicKey.export({ type: 'spki', format: 'der' });
}

const unreachable = (error: Error): ClientError => {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  return new ClientError('confidential_unreachable', undefined, { detail: `(${code})`, cause: error });
};

/** Reads the evidence over a separate connection, so that the evidence must name this connection's key. */
async function readEvidence(
  origin: string,
  nonce: string,
  way: { readonly connectorWith: (judge: Judge) => buildConnector.connector; readonly signal: AbortSignal },
): Promise<EvidenceReading> {
  let connections = 0;
  let tlsSpki: Uint8Array | undefined;
  const connect = way.connectorWith((spki) => {
    connections += 1;
    tlsSpki = spki;
    return connections === 1 ? undefined : new ClientError('connection_not_verified');
  });
  const client = new Client(origin, { connect, maxResponseSize: maxEvidenceBytes });
  try {
    const { statusCode, body } = await client.request({
      method: 'GET',
      path: `${evidencePath}?nonce=${nonce}`,
      headers: { accept: 'application/json' },
      headersTimeout: evidenceMs,
      bodyTimeout: evidenceMs,
      signal: way.signal,
    });
    return { ...parseEvidence(statusCode, await body.text()), tlsSpki };
  } finally {
    await client.destroy();
  }
}

function channelOf(pool: Dispatcher): ContentChannel {
  let isClosed = false;
  return {
    async send({ method = 'POST', path, headers, body, signal }: ContentRequest): Promise<ContentAnswer> {
      // The verification ended while this request was waiting.
      if (isClosed) throw new ClientError('connection_not_verified');
      const {
        statusCode,
        headers: received,
        body: stream,
      } = await pool.request({
        path,
        method,
        headers,
        ...(body === undefined ? {} : { body }),
        ...(signal === undefined ? {} : { signal }),
      });
      return answerOf(statusCode, received, stream);
    },
    close() {
      isClosed = true;
      pool.close().catch(() => undefined);
    },
  };
}

function answerOf(status: number, received: IncomingHttpHeaders, body: Readable): ContentAnswer {
  const headers = Object.entries(received).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).flatMap((each): [string, string][] =>
      each === undefined ? [] : [[name, each]],
    ),
  );
  return {
    status,
    headers,
    body,
    toResponse() {
      const init = { status, headers: headers.map(([name, value]): [string, string] => [name, value]) };
      // Answers with these statuses have no body, and a `Response` would reject one.
      if (status !== 204 && status !== 205 && status !== 304) {
        return new Response(Readable.toWeb(body) as ReadableStream<Uint8Array>, init);
      }
      body.resume();
      return new Response(null, init);
    },
  };
}

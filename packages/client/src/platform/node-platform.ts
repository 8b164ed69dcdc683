import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { buildConnector, Client, type Dispatcher, Pool } from 'undici';
import { ClientError } from '../errors.ts';
import type { ContentAnswer, ContentChannel, ContentRequest, EvidenceReading, Platform } from '../gateway/platform.ts';
import { flag, requireOptions } from '../options.ts';
import { parseEvidence } from './read-evidence.ts';

export interface NodePlatformOptions {
  /**
   * Whether the broker's TLS key may rest on its attestation alone. Otherwise its certificate must also be one that this
   * machine's authorities vouch for: they say whose the name is, which no measurement does.
   */
  readonly selfSigned: boolean;
}

const connectMs = 10_000;
const evidenceMs = 60_000;
/** Above what a broker waits for a provider; the callers' signals end a request earlier. */
const silenceMs = 20 * 60_000;
const maxEvidenceBytes = 16 * 1024 * 1024;

type Connected = Parameters<buildConnector.Callback>;
/** Judges a connection by its proven key, before anything is sent on it. */
type Judge = (spki: Uint8Array | undefined) => ClientError | undefined;

/** Node: connections are undici's, and each one's TLS key is looked at before anything is sent on it. Throws `option_invalid`. */
export function nodePlatform({ selfSigned }: NodePlatformOptions): Platform {
  requireOptions({ selfSigned }, { selfSigned: flag });
  // Without session resumption: a resumed connection would show the key of an earlier one.
  const dial = buildConnector({
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
    readEvidence: (origin, nonce, signal) => readEvidence(origin, nonce, { connectorWith, signal }),
    openChannel(origin, spkiSha256) {
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

function spkiOf(socket: unknown): Uint8Array | undefined {
  if (!(socket instanceof TLSSocket)) return undefined;
  return socket.getPeerX509Certificate()?.publicKey.export({ type: 'spki', format: 'der' });
}

const unreachable = (error: Error): ClientError => {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  return new ClientError('confidential_unreachable', undefined, { detail: `(${code})`, cause: error });
};

/** On one connection of its own, whose key is the one that the evidence has to name. */
async function readEvidence(
  origin: string,
  nonce: string,
  way: { readonly connectorWith: (judge: Judge) => buildConnector.connector; readonly signal: AbortSignal | undefined },
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
      path: `/v1/gateway/attestation?nonce=${nonce}`,
      headers: { accept: 'application/json' },
      headersTimeout: evidenceMs,
      bodyTimeout: evidenceMs,
      ...(way.signal === undefined ? {} : { signal: way.signal }),
    });
    return { ...parseEvidence(statusCode, await body.text()), tlsSpki };
  } finally {
    await client.destroy();
  }
}

function channelOf(pool: Dispatcher): ContentChannel {
  let isClosed = false;
  return {
    async send({ path, method, headers, body, signal }: ContentRequest): Promise<ContentAnswer> {
      // Its verification ended while this request was on its way here.
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
      // Answers of these kinds have no body, and a `Response` would not take one.
      if (status !== 204 && status !== 205 && status !== 304) {
        return new Response(Readable.toWeb(body) as ReadableStream<Uint8Array>, init);
      }
      body.resume();
      return new Response(null, init);
    },
  };
}

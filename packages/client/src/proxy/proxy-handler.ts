import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import type { ModelRule } from '@sotto/dialects';
import { ServiceError } from '@sotto/wire';
import { answerFrom, answerOfFailure, answerOfRefusal } from '../answer.ts';
import { maxRequestBytes } from '../bounded-body.ts';
import { ClientError } from '../errors.ts';
import type { ContentAnswer } from '../gateway/platform.ts';
import type { Exchange } from '../private/private-exchange.ts';
import type { RequireCaller } from './local-caller.ts';
import { ResponsesSockets } from './responses-sockets.ts';
import { failureOfPath, makeDialects, type ServeDialect } from './serve-dialects.ts';
import { failureOf, writtenAnswer } from './serve-translation.ts';

export interface ProxyOptions {
  readonly exchange: Exchange;
  readonly requireCaller: RequireCaller;
  /** Which models tools mean by names that the catalog does not have. Default: every name is passed on. */
  readonly models?: { readonly rules: readonly ModelRule[]; readonly fallback: string | undefined };
  /** Called once for each thing that a translation leaves out, without content. */
  readonly onNote?: (text: string) => void;
  /** Called when an answer broke off, with only the failure's code or name: a message may quote content. */
  readonly onUnexpected: (name: string) => void;
}

/** Headers that apply to a single connection. */
const hopByHop = new Set(['connection', 'keep-alive', 'transfer-encoding', 'upgrade', 'trailer']);

type OnRequest = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * Serves the private flow to programs on this machine, in the dialects of `makeDialects`. It drops the credentials that
 * they send.
 */
export const proxyHandler = (options: ProxyOptions): OnRequest => proxyListeners(options).onRequest;

/** The same with the WebSockets of the Responses API. */
export function proxyListeners(options: ProxyOptions): {
  readonly onRequest: OnRequest;
  readonly sockets: ResponsesSockets;
} {
  const serveDialect = makeDialects({
    models: { rules: [], fallback: undefined },
    onNote: () => undefined,
    ...options,
  });
  const { requireCaller } = options;
  const onError = (error: unknown): void => options.onUnexpected(nameOf(error));
  const sockets = new ResponsesSockets({ serveDialect, requireCaller, maxBodyBytes: maxRequestBytes, onError });
  const onRequest: OnRequest = (request, response) => {
    serve({ serveDialect, requireCaller }, request, response).catch((error: unknown) => {
      if (!response.destroyed) options.onUnexpected(nameOf(error));
      // The socket sends what was written before it closes: the service's error comes last, and is not whole.
      if (response.socket === null) response.destroy();
      else response.socket.destroySoon();
    });
  };
  return { onRequest, sockets };
}

function nameOf(error: unknown): string {
  if (error instanceof ClientError) return error.code;
  return error instanceof Error ? error.name : 'unknown';
}

interface Serving {
  readonly serveDialect: ServeDialect;
  readonly requireCaller: RequireCaller;
}

async function serve(serving: Serving, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const leaving = new AbortController();
  response.once('close', () => leaving.abort());
  await passBack(await answerTo(serving, request, leaving.signal), response);
}

async function answerTo(
  { serveDialect, requireCaller }: Serving,
  request: IncomingMessage,
  signal: AbortSignal,
): Promise<ContentAnswer> {
  try {
    requireCaller(request);
    return await serveDialect({
      method: request.method ?? 'GET',
      path: pathOf(request),
      header: (name) => {
        const value = request.headers[name];
        return typeof value === 'string' ? value : undefined;
      },
      body: await readBody(request),
      signal,
    });
  } catch (error) {
    const failure = failureOfPath(request.url ?? '/');
    if (failure !== undefined) return writtenAnswer(failure(await failureOf(error)));
    if (error instanceof ServiceError) return answerFrom(answerOfRefusal(error));
    if (error instanceof ClientError) return answerFrom(answerOfFailure(error));
    throw error;
  }
}

function pathOf({ url = '/' }: IncomingMessage): string {
  if (/^\/v1(?:beta|alpha)?\//.test(url)) return url;
  throw new ServiceError('not_found', {
    message:
      'This path does not exist. The base URL of this proxy ends in /v1, and for Google’s clients it has no path.',
  });
}

type Decode = (bytes: Buffer, options: { readonly maxOutputLength: number }) => Promise<Buffer>;

/** Decoders of the compressions that tools use, by their names in `content-encoding`. Older versions of Node have no zstd. */
const decoders: ReadonlyMap<string, Decode | undefined> = new Map<string, Decode | undefined>([
  ['gzip', promisify(zlib.gunzip)],
  ['deflate', promisify(zlib.inflate)],
  ['br', promisify(zlib.brotliDecompress)],
  ['zstd', zlib.zstdDecompress === undefined ? undefined : promisify(zlib.zstdDecompress)],
]);

async function readBody(request: IncomingMessage): Promise<string> {
  const encoding = (request.headers['content-encoding'] ?? '').trim().toLowerCase();
  const sent = await readBytes(request);
  const bytes = encoding === '' || encoding === 'identity' ? sent : await decoded(sent, encoding);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new ServiceError('invalid_request', { message: 'The body is not valid UTF-8.' });
  }
}

async function readBytes(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    size += piece.length;
    // Read on without keeping it: leaving the loop would close the connection before the refusal is sent.
    if (size <= maxRequestBytes) pieces.push(piece);
  }
  if (size > maxRequestBytes) throw new ServiceError('payload_too_large');
  return Buffer.concat(pieces);
}

/** Decompresses a body, up to the same limit. */
async function decoded(bytes: Buffer, encoding: string): Promise<Buffer> {
  const decode = decoders.get(encoding);
  if (decode === undefined) {
    const known = [...decoders].flatMap(([name, open]) => (open === undefined ? [] : name)).join(', ');
    const message = `The body is compressed with \`${encoding}\`. Send it uncompressed, or compressed with one of ${known}.`;
    throw new ServiceError('unsupported_media_type', { message });
  }
  return decode(bytes, { maxOutputLength: maxRequestBytes }).catch((error: unknown) => {
    const isLarge = error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
    if (isLarge) throw new ServiceError('payload_too_large');
    throw new ServiceError('invalid_request', { message: `The body is not valid ${encoding} data.` });
  });
}

/** Forwards the answer as it arrives: one write for each piece, with backpressure. */
async function passBack({ status, headers, body }: ContentAnswer, response: ServerResponse): Promise<void> {
  response.writeHead(status, headers.filter(([name]) => !hopByHop.has(name)).flat());
  response.flushHeaders();
  for await (const piece of body) {
    if (response.destroyed) return;
    if (response.write(piece)) continue;
    await drained(response);
  }
  response.end();
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      response.off('drain', go).off('close', go);
      resolve();
    };
    response.on('drain', go).on('close', go);
  });
}

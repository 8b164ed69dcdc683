import type { IncomingMessage, ServerResponse } from 'node:http';
import { ServiceError } from '@sotto/wire';
import { answerFrom } from '../answer.ts';
import { ClientError } from '../errors.ts';
import type { ContentAnswer } from '../gateway/platform.ts';
import { answerOfFailure, answerOfRefusal } from '../local-answer.ts';
import type { PrivateExchange } from '../private/private-exchange.ts';

export interface ProxyOptions {
  readonly exchange: PrivateExchange;
  /** Told of an answer that had to be broken off, by the failure's code or name alone: a message may quote content. */
  readonly onUnexpected: (name: string) => void;
}

const maxBodyBytes = 64 * 1024 * 1024;
const localHost = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?$/;
/** Of one connection each. */
const hopByHop = new Set(['connection', 'keep-alive', 'transfer-encoding', 'upgrade', 'trailer']);

/**
 * Serves the private flow to programs on this machine. Credentials that they send are dropped. Web pages are refused: one
 * that a browser shows could otherwise spend the user's balance, and read the answers.
 */
export function proxyHandler(options: ProxyOptions): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    serve(options, request, response).catch((error: unknown) => {
      if (!response.destroyed) options.onUnexpected(nameOf(error));
      response.destroy();
    });
  };
}

function nameOf(error: unknown): string {
  if (error instanceof ClientError) return error.code;
  return error instanceof Error ? error.name : 'unknown';
}

async function serve(options: ProxyOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const leaving = new AbortController();
  response.once('close', () => leaving.abort());
  await passBack(await answerTo(options, request, leaving.signal), response);
}

async function answerTo(
  { exchange }: ProxyOptions,
  request: IncomingMessage,
  signal: AbortSignal,
): Promise<ContentAnswer> {
  try {
    requireLocal(request);
    return await exchange.ask({
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
    if (error instanceof ServiceError) return answerFrom(answerOfRefusal(error));
    if (error instanceof ClientError) return answerFrom(answerOfFailure(error));
    throw error;
  }
}

function requireLocal({ headers }: IncomingMessage): void {
  // A name of somebody else's that leads here is how a web page would get around its own origin.
  if (!localHost.test(headers.host ?? '')) {
    throw new ServiceError('forbidden', {
      message: 'This proxy is for this machine: address it as 127.0.0.1 or localhost.',
    });
  }
  const site = headers['sec-fetch-site'];
  if (headers.origin !== undefined || (site !== undefined && site !== 'none')) {
    throw new ServiceError('forbidden', { message: 'This proxy does not serve web pages.' });
  }
}

function pathOf({ url = '/' }: IncomingMessage): string {
  if (url.startsWith('/v1/')) return url;
  throw new ServiceError('not_found', { message: 'The base address of this proxy ends in /v1.' });
}

async function readBody(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size > maxBodyBytes) throw new ServiceError('payload_too_large');
    pieces.push(piece);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(pieces));
  } catch {
    throw new ServiceError('invalid_request', { message: 'The body is not valid UTF-8.' });
  }
}

/** Hands the answer on as it comes: one write for each piece, no faster than it is taken. */
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

import { subscribe } from 'node:diagnostics_channel';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { WatchedAnswer } from './watched-answer.ts';

/*
 * Checks every answer of the service that this process receives against OpenAI's own schema. It observes Node's HTTP clients
 * from outside, so it does not change how they read, wait and leave.
 */

const watched = new WeakMap<object, WatchedAnswer>();
/** What is wrong with the answers since a test last emptied this. */
export const problems: string[] = [];

interface UndiciRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly string[] | string;
}
interface UndiciMessage {
  readonly request: UndiciRequest;
  readonly response: { readonly statusCode: number; readonly headers: readonly Buffer[] };
  readonly chunk: Uint8Array;
}

const on = (channel: string, act: (message: UndiciMessage) => void): void =>
  subscribe(channel, (message) => act(message as UndiciMessage));

// Undici, which is also behind `fetch`.
on('undici:request:headers', ({ request, response }) => {
  // An answer to HEAD has no body.
  if (request.method === 'HEAD') return;
  const headers = new Map<string, string>();
  for (let i = 0; i < response.headers.length; i += 2) {
    headers.set(String(response.headers[i]).toLowerCase(), String(response.headers[i + 1]));
  }
  const isSealed = String(request.headers).toLowerCase().includes('x-router-e2ee');
  watched.set(request, new WatchedAnswer({ path: request.path, status: response.statusCode, headers, isSealed }));
});
on('undici:request:bodyChunkReceived', ({ request, chunk }) => watched.get(request)?.take(chunk));
on('undici:request:trailers', ({ request }) => problems.push(...(watched.get(request)?.end() ?? [])));
on('undici:request:error', ({ request }) => problems.push(...(watched.get(request)?.problems ?? [])));

// Node's own client. Its channel reports the headers; the body passes through `push`.
subscribe('http.client.response.finish', (message) => {
  const { request, response } = message as { request: ClientRequest; response: IncomingMessage };
  if (request.method === 'HEAD') return;
  const headers = new Map(Object.entries(response.headers).map(([name, value]) => [name, String(value)]));
  const isSealed = request.hasHeader('x-router-e2ee');
  const answer = new WatchedAnswer({ path: request.path, status: response.statusCode ?? 0, headers, isSealed });
  const push = response.push.bind(response);
  response.push = (chunk: Uint8Array | null, encoding?: BufferEncoding) => {
    if (chunk !== null) answer.take(chunk);
    else problems.push(...answer.end());
    return push(chunk, encoding);
  };
  response.once('close', () => problems.push(...answer.problems));
});

import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { parseExact } from '@sotto/dialects';
import { asObject, asString, type JsonObject, parseJson, ServiceError } from '@sotto/wire';
import { type WebSocket, WebSocketServer } from 'ws';
import { answerOfRefusal } from '../answer.ts';
import { readText } from '../bounded-body.ts';
import type { ContentAnswer } from '../gateway/platform.ts';
import type { RequireCaller } from './local-caller.ts';
import { eventsOf, headerOf, isEventStream } from './rewritten-answer.ts';
import type { ServeDialect } from './serve-dialects.ts';

export interface SocketOptions {
  readonly serveDialect: ServeDialect;
  readonly requireCaller: RequireCaller;
  readonly maxBodyBytes: number;
  /** Called when an answer broke off, with the error. */
  readonly onError: (error: unknown) => void;
}

/** The most requests that wait on one socket for the answers before them. */
const mostWaiting = 16;

/**
 * Serves OpenAI's Responses API over WebSockets: each message asks for a response, whose events come back as messages, one
 * response after the other.
 *
 * @see https://platform.openai.com/docs/guides/websocket-mode
 */
export class ResponsesSockets {
  readonly #options: SocketOptions;
  readonly #server: WebSocketServer;
  /** Requests of each socket that have no whole answer yet. */
  readonly #waiting = new WeakMap<WebSocket, number>();

  constructor(options: SocketOptions) {
    this.#options = options;
    this.#server = new WebSocketServer({ noServer: true, maxPayload: options.maxBodyBytes });
  }

  /** Takes a request to open a WebSocket, as Node's event `upgrade` gives it. */
  open(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    // Without a listener, a connection that breaks would end the process.
    socket.on('error', () => undefined);
    try {
      this.#options.requireCaller(request);
      const asked = request.headers.upgrade ?? '';
      if (asked.toLowerCase() !== 'websocket')
        throw new ServiceError('invalid_request', { message: otherProtocol(asked) });
      if (!/^\/v1\/responses(?:\?|$)/.test(request.url ?? ''))
        throw new ServiceError('not_found', { message: onlyResponses });
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      void refuse(error, socket);
      return;
    }
    this.#server.handleUpgrade(request, socket, head, (opened) => this.#serve(opened, request));
  }

  /** Closes the sockets that wait for a request. */
  closeIdle(): void {
    for (const each of this.#server.clients) if (!this.#waiting.get(each)) each.close(1001, 'The proxy ends.');
  }

  closeAll(): void {
    for (const each of this.#server.clients) each.terminate();
  }

  #serve(opened: WebSocket, request: IncomingMessage): void {
    const leaving = new AbortController();
    // The turns that wait are not sent.
    const end = (code: number, reason: string): void => {
      leaving.abort();
      opened.close(code, reason);
    };
    let turn: Promise<void> = Promise.resolve();
    opened.on('error', () => undefined);
    opened.once('close', () => leaving.abort());
    opened.on('message', (data) => {
      const waiting = (this.#waiting.get(opened) ?? 0) + 1;
      if (waiting > mostWaiting) return end(1008, `At most ${mostWaiting} requests can wait on a socket.`);
      this.#waiting.set(opened, waiting);
      turn = turn
        .then(() => this.#answer(opened, String(data), request, leaving.signal))
        .catch((error: unknown) => {
          if (!leaving.signal.aborted) this.#options.onError(error);
          end(1011, 'The answer broke off.');
        })
        .finally(() => this.#waiting.set(opened, (this.#waiting.get(opened) ?? 1) - 1));
    });
  }

  async #answer(opened: WebSocket, text: string, request: IncomingMessage, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { type, ...body } = asObject(parseExact(text)) ?? {};
    if (type !== 'response.create' || body.stream_id !== undefined)
      return send(opened, errorEvent(400, { type: 'invalid_request', message: onlyCreate }, undefined));
    const answer = await this.#options.serveDialect({
      method: 'POST',
      path: '/v1/responses',
      header: (name) => asString(request.headers[name]),
      body: JSON.stringify({ ...body, stream: true }),
      signal,
      isSocket: true,
    });
    await passOn(answer, opened);
  }
}

const onlyResponses = 'Only /v1/responses can be a WebSocket here.';
const otherProtocol = (asked: string): string =>
  `The header \`upgrade: ${asked}\` asks for another protocol. This proxy speaks HTTP/1.1 and WebSocket. Set your client to HTTP/1.1 alone, or run the proxy with Node 24.9 or newer, which ignores the header.`;
const onlyCreate =
  'A message must be JSON with the `type` `response.create`, and without a `stream_id`: open a socket for each conversation.';

async function passOn(answer: ContentAnswer, opened: WebSocket): Promise<void> {
  if (!isEventStream(answer)) {
    const { error } = asObject(parseJson(await readText(answer.body))) ?? {};
    return send(opened, errorEvent(answer.status, asObject(error) ?? {}, headerOf(answer, 'retry-after')));
  }
  for await (const { events } of eventsOf(answer.body)) {
    // The service only kept the connection alive.
    if (events.length === 0) opened.ping();
    for (const event of events) await send(opened, event);
  }
}

/** Resolves when the message has left. A tool that reads slowly slows the service down, too. */
function send(opened: WebSocket, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    opened.send(text, (error) => (error == null ? resolve() : reject(error)));
  });
}

const errorEvent = (status: number, error: JsonObject, retryAfter: string | undefined): string =>
  JSON.stringify({
    ...{ type: 'error', status, error },
    ...(retryAfter === undefined ? {} : { headers: { 'retry-after': retryAfter } }),
  });

async function refuse(error: ServiceError, socket: Duplex): Promise<void> {
  const answer = answerOfRefusal(error);
  const body = await answer.text();
  const lines = [`HTTP/1.1 ${answer.status} Refused`, 'content-type: application/json', 'connection: close'];
  socket.once('finish', () => socket.destroy());
  socket.end(`${lines.join('\r\n')}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}

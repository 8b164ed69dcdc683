import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { parseJson } from '@sotto/wire';
import { bearer, type Flow } from './client.ts';
import type { Service } from './service.ts';

export interface CallOptions {
  /** Default: `/chat/completions`. */
  readonly path?: string;
  /** Called with all text so far. If it returns true, the client closes the connection. */
  readonly leaveWhen?: (text: string) => boolean;
  /** The client closes the connection after this time, whatever has arrived. */
  readonly leaveAfterMs?: number;
  /** The client closes the connection when this resolves. */
  readonly leaveOn?: Promise<unknown>;
  /** The client stops reading after the headers until this resolves. */
  readonly holdBackUntil?: Promise<unknown>;
  /** The time after which the call counts as stuck. */
  readonly deadlineMs?: number;
  /** Send this instead of a JSON body. */
  readonly raw?: string;
}

/** The result of one call for its client. */
export interface Called {
  /** Undefined if no answer arrived. */
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** Whether the answer is complete: the whole JSON body, or a stream up to its `[DONE]`. */
  readonly complete: boolean;
  /** How the call ended: with the answer, because the client left, because the connection broke, or at the deadline. */
  readonly ended: 'answered' | 'left' | 'broken' | 'stuck';
}

/** The headers that authorize a request. */
export type Credential = Readonly<Record<string, string>>;

const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY, maxFreeSockets: 256 });

/** Calls an origin as a plain HTTP client: it never retries, and leaving closes the socket at once. */
export function call(url: string, credential: Credential, body: object, options: CallOptions = {}): Promise<Called> {
  const { leaveWhen, leaveAfterMs, leaveOn, holdBackUntil, deadlineMs = 60_000, raw } = options;
  return new Promise((resolve) => {
    let status: number | undefined;
    let headers: IncomingHttpHeaders = {};
    let text = '';
    let over = false;
    const timers: NodeJS.Timeout[] = [];
    const end = (ended: Called['ended']): void => {
      if (over) return;
      over = true;
      for (const timer of timers) clearTimeout(timer);
      const stream = (headers['content-type'] ?? '').startsWith('text/event-stream');
      const whole = stream ? text.endsWith('data: [DONE]\n\n') : ended === 'answered';
      resolve({ status, headers, text, complete: status === 200 && whole, ended });
    };
    const request = httpRequest(url, {
      agent,
      method: 'POST',
      headers: { ...credential, 'content-type': 'application/json' },
    });
    const leave = (): void => {
      if (over) return;
      end('left');
      request.destroy();
    };
    timers.push(
      setTimeout(() => {
        end('stuck');
        request.destroy();
      }, deadlineMs),
    );
    if (leaveAfterMs !== undefined) timers.push(setTimeout(leave, leaveAfterMs));
    void leaveOn?.then(leave);
    request.on('error', () => end('broken'));
    request.on('response', (response) => {
      status = response.statusCode;
      ({ headers } = response);
      response.setEncoding('utf8');
      response.on('error', () => end('broken'));
      response.on('close', () => end('broken'));
      const read = (): void => {
        response.on('data', (piece: string) => {
          text += piece;
          if (leaveWhen?.(text)) leave();
        });
        response.on('end', () => end(response.complete ? 'answered' : 'broken'));
      };
      if (leaveWhen?.('')) return leave();
      if (holdBackUntil === undefined) read();
      else void holdBackUntil.then(read);
    });
    request.end(raw ?? JSON.stringify(body));
  });
}

/** Buys a ticket. Returns the error answer if the service rejects the request. */
export async function mint(service: Service, key: string, request: object, deadlineMs = 60_000): Promise<Called> {
  return call(`${service.controlUrl}/inference/tickets`, bearer(key), request, { deadlineMs });
}

/** Sends a request to the broker in one of the two flows. If the ticket request is rejected, that is the answer. */
export async function ask(
  service: Service,
  key: string,
  flow: Flow,
  body: Readonly<Record<string, unknown>> & { readonly model: string },
  options: CallOptions = {},
): Promise<Called> {
  const url = `${service.baseUrl}${options.path ?? '/chat/completions'}`;
  if (flow === 'compatibility') return call(url, bearer(key), body, options);
  const { model, provider } = body;
  const minted = await mint(service, key, provider === undefined ? { model } : { model, provider }, options.deadlineMs);
  if (minted.status !== 200) return { ...minted, complete: false };
  const { ticket } = JSON.parse(minted.text) as { ticket: string };
  return call(url, { 'x-router-ticket': ticket }, body, options);
}

/** Returns the error of an answer in our envelope; undefined if the answer is not an error. */
export function errorOf({
  text,
}: Called): { readonly type: string; readonly message: string; readonly request_id: string } | undefined {
  const body = parseJson(text) as { error?: { type: string; message: string; request_id: string } } | undefined;
  return body?.error;
}

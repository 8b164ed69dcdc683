import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Answer, type Ended } from './answer.ts';

export type HeaderMap = Readonly<Record<string, string>>;

export interface SendOptions {
  /** Called with all text so far. If it returns true, the client closes the connection. */
  readonly leaveWhen?: (text: string) => boolean;
  /** The client closes the connection after this time, whatever has arrived. */
  readonly leaveAfterMs?: number;
  /** The client closes the connection when this resolves. */
  readonly leaveOn?: Promise<unknown>;
  /** The client stops reading after the headers until this resolves. */
  readonly holdBackUntil?: Promise<unknown>;
  /** The time after which the call counts as stuck. Default: a minute. */
  readonly deadlineMs?: number;
}

const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY, maxFreeSockets: 256 });

/**
 * Sends a request as a plain HTTP client: it never retries and never follows a redirect, and leaving closes the socket
 * at once. An object as body becomes JSON, a string stays unchanged. Never rejects: a call without an answer says how
 * it ended.
 */
export function send(
  method: string,
  url: string,
  { headers = {}, body, ...options }: SendOptions & { readonly headers?: HeaderMap; readonly body?: unknown } = {},
): Promise<Answer> {
  const { leaveWhen, leaveAfterMs, leaveOn, holdBackUntil, deadlineMs = 60_000 } = options;
  return new Promise((resolve) => {
    let answer: IncomingMessage | undefined;
    let text = '';
    let over = false;
    const timers: NodeJS.Timeout[] = [];
    const end = (ended: Ended): void => {
      if (over) return;
      over = true;
      for (const timer of timers) clearTimeout(timer);
      resolve(new Answer(answer?.statusCode ?? 0, headersOf(answer), text, ended));
    };
    const request = httpRequest(url, {
      agent,
      method,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    });
    const close = (ended: 'left' | 'stuck'): void => {
      if (over) return;
      end(ended);
      request.destroy();
    };
    timers.push(setTimeout(() => close('stuck'), deadlineMs));
    if (leaveAfterMs !== undefined) timers.push(setTimeout(() => close('left'), leaveAfterMs));
    void leaveOn?.then(() => close('left'));
    request.on('error', () => end('broken'));
    request.on('response', (response) => {
      answer = response;
      response.setEncoding('utf8');
      response.on('error', () => end('broken'));
      response.on('close', () => end('broken'));
      const read = (): void => {
        response.on('data', (piece: string) => {
          text += piece;
          if (leaveWhen?.(text)) close('left');
        });
        response.on('end', () => end(response.complete ? 'answered' : 'broken'));
      };
      if (leaveWhen?.('')) return close('left');
      if (holdBackUntil === undefined) read();
      else void holdBackUntil.then(read);
    });
    request.end(body === undefined || typeof body === 'string' ? body : JSON.stringify(body));
  });
}

function headersOf(answer: IncomingMessage | undefined): Headers {
  const headers = new Headers();
  const { rawHeaders = [] } = answer ?? {};
  for (let i = 0; i < rawHeaders.length; i += 2) headers.append(rawHeaders[i] ?? '', rawHeaders[i + 1] ?? '');
  return headers;
}

export const get = (url: string, headers: HeaderMap = {}): Promise<Answer> => send('GET', url, { headers });
export const post = (url: string, body: unknown, headers: HeaderMap = {}, options: SendOptions = {}): Promise<Answer> =>
  send('POST', url, { headers, body, ...options });

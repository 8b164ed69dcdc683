import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import type { Service } from './service.ts';

export type Flow = 'compat' | 'ticket';

export interface CallOptions {
  /** Default `/chat/completions`. */
  readonly path?: string;
  /** Called with all that has come so far; the connection is closed where it answers true. */
  readonly leaveWhen?: (text: string) => boolean;
  /** The connection is closed after so long, whatever has come. */
  readonly leaveAfterMs?: number;
  /** The connection is closed when this resolves. */
  readonly leaveOn?: Promise<unknown>;
  /** Stops reading at the headers until this resolves. */
  readonly holdBackUntil?: Promise<unknown>;
  /** How long the call may take before it counts as stuck. */
  readonly deadlineMs?: number;
  /** Send this instead of a JSON body. */
  readonly raw?: string;
}

/** What a client got of one call. */
export interface Called {
  /** Undefined where no answer came. */
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** Whether the answer came to its proper end: the whole JSON body, or a stream up to its `[DONE]`. */
  readonly complete: boolean;
  /** Why it did not end by itself: the client left, the connection broke, or the deadline passed. */
  readonly ended: 'answered' | 'left' | 'broken' | 'stuck';
}

/** The headers that let a request in. */
export type Credential = Readonly<Record<string, string>>;

const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY, maxFreeSockets: 256 });

/** Calls an origin as a bare HTTP client does: nothing is retried, and leaving closes the socket at once. */
export function call(url: string, credential: Credential, body: object, options: CallOptions = {}): Promise<Called> {
  const { leaveWhen, leaveAfterMs, leaveOn, holdBackUntil, deadlineMs = 30_000, raw } = options;
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

export const bearer = (key: string): Credential => ({ authorization: `Bearer ${key}` });

/** Buys a ticket; the refusal, where there is one. */
export async function mint(service: Service, key: string, request: object, deadlineMs = 30_000): Promise<Called> {
  return call(`${service.controlUrl}/inference/tickets`, bearer(key), request, { deadlineMs });
}

/** Asks the broker in one of the two flows. In the ticket flow a ticket that is refused is the answer. */
export async function ask(
  service: Service,
  key: string,
  flow: Flow,
  body: Readonly<Record<string, unknown>> & { readonly model: string },
  options: CallOptions = {},
): Promise<Called> {
  const url = `${service.baseUrl}${options.path ?? '/chat/completions'}`;
  if (flow === 'compat') return call(url, bearer(key), body, options);
  const { model, provider } = body;
  const minted = await mint(service, key, provider === undefined ? { model } : { model, provider }, options.deadlineMs);
  if (minted.status !== 200) return { ...minted, complete: false };
  const { ticket } = JSON.parse(minted.text) as { ticket: string };
  return call(url, { 'x-router-ticket': ticket }, body, options);
}

/** The error of an answer in our envelope; undefined where it is none. */
export function errorOf({
  text,
}: Called): { readonly type: string; readonly message: string; readonly request_id: string } | undefined {
  try {
    return (JSON.parse(text) as { error?: { type: string; message: string; request_id: string } }).error;
  } catch {
    return undefined;
  }
}

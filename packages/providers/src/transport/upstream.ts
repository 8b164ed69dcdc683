import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { RelayedRequest, UpstreamRequest } from '../adapter.ts';
import type { KeyRing, ProviderKey } from './key-ring.ts';
import { type MakePool, plainPool, unattestedKey } from './pool.ts';
import { largeBodyBytes, slicesOf } from './sliced-body.ts';

/** The address of a provider and the headers that authenticate us. */
export interface UpstreamAddress {
  readonly baseUrl: string;
  /** The keys, of which each request carries one, or the headers of every request as name, value, name, value. */
  readonly headers: readonly string[] | KeyRing;
  readonly connectTimeoutMs: number;
  /** CA certificates (PEM) that replace the well-known ones. */
  readonly ca?: string | undefined;
}

/** The data that is read from a response's headers. */
export interface UpstreamHeaders {
  readonly contentType: string;
  readonly retryAfter: string | undefined;
  /** The same in milliseconds, which some providers also send. */
  readonly retryAfterMs?: string | undefined;
  /** Whether the answer states its length or framing. Without it, a broken connection looks like the end. */
  readonly isDelimited: boolean;
  /** For a relayed request: the requested headers that were present, as name, value, name, value. */
  readonly relayed?: readonly string[];
}

/** Receives the reports of a call in order: a response, its bytes, its end. One failure may come at any point. */
export interface UpstreamHandler {
  onResponse(status: number, headers: UpstreamHeaders): void;
  onBytes(bytes: Buffer): void;
  onEnd(): void;
  /** The connection failed; never called after `abort`. */
  onFailure(outcome: UpstreamFailure): void;
}

/** `attestation_failed`: the connection showed a TLS key that was not attested, and nothing was sent on it. */
export type UpstreamFailure = 'timeout' | 'network_failure' | 'malformed_answer' | 'attestation_failed';

/** A running call. After `abort` the connection is closed, and the handler is not called again. */
export interface UpstreamCall {
  /** Whether a connection stands on which the request is written, so that the provider may work for it. */
  readonly hasBegun: boolean;
  abort(): void;
  pause(): void;
  resume(): void;
}

/** One provider's connections. */
export interface Upstream {
  call(request: UpstreamRequest | RelayedRequest, handler: UpstreamHandler): UpstreamCall;
  /** Ends every call. */
  close(): Promise<void>;
  /** Takes no further calls, and closes when the running ones have ended. */
  retire(): void;
}

const aborted = new Error('aborted');

/**
 * Opens a provider. It never follows redirects, refuses compression, and forwards no header of the client. Of the
 * provider's headers it reads only `content-type`, `retry-after`, `retry-after-ms` and those that frame the body. A relayed request names
 * further headers in both directions. The caller sets all time limits except the one for connecting. A call whose key the provider
 * refuses is sent once with each other key, because the refusal came before any work.
 */
export function openUpstream(
  { baseUrl, headers, connectTimeoutMs, ca }: UpstreamAddress,
  makePool: MakePool = plainPool(ca),
): Upstream {
  const url = new URL(baseUrl);
  const basePath = url.pathname.replace(/\/+$/, '');
  const pool = makePool(url.origin, connectTimeoutMs);
  const fixed = ['accept-encoding', 'identity'];
  const ring = 'take' in headers ? headers : undefined;
  const unkeyed = 'take' in headers ? [] : headers;
  return {
    call(request, handler) {
      const relayed = 'contentType' in request ? request : undefined;
      const send = (credentials: readonly string[]): void => {
        const own = ['content-type', relayed?.contentType ?? 'application/json', ...(relayed?.headers ?? [])];
        let body: string | Uint8Array | Readable = request.body;
        if (body.length > largeBodyBytes) {
          const bytes = typeof body === 'string' ? Buffer.from(body) : body;
          own.push('content-length', String(bytes.length));
          body = Readable.from(slicesOf(bytes), { objectMode: false });
        }
        pool.dispatch(
          {
            path: basePath + request.path,
            method: 'POST',
            headers: [...fixed, ...credentials, ...own, 'accept', request.accept],
            body,
            headersTimeout: 0,
            bodyTimeout: 0,
          },
          call,
        );
      };
      const tried: ProviderKey[] = ring === undefined ? [] : [ring.take()];
      const startedAt = ring?.now ?? 0;
      const call = new Call(handler, relayed?.answerHeaders, (status) => {
        const next = ring?.afterAnswer(status, tried, startedAt);
        if (next === undefined) return undefined;
        tried.push(next);
        return () => send(next.headers);
      });
      send(tried[0]?.headers ?? unkeyed);
      return call;
    },
    close: () => pool.destroy(),
    retire: () => void pool.close().catch(() => {}),
  };
}

class Call implements UpstreamCall, Dispatcher.DispatchHandler {
  readonly #handler: UpstreamHandler;
  readonly #relayedNames: readonly string[] | undefined;
  /**
   * Returns how to send the call again after an answer of this status, if that could help. It holds the body of the request, so the
   * call forgets it when an answer begins.
   */
  #again: ((status: number) => (() => void) | undefined) | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  /** The connections whose answers count no longer. */
  readonly #left = new WeakSet<Dispatcher.DispatchController>();
  #over = false;
  #paused = false;
  hasBegun = false;

  constructor(
    handler: UpstreamHandler,
    relayedNames: readonly string[] | undefined,
    again: (status: number) => (() => void) | undefined,
  ) {
    this.#handler = handler;
    this.#again = again;
    this.#relayedNames = relayedNames;
  }

  abort(): void {
    if (this.#over) return;
    this.#over = true;
    this.#controller?.abort(aborted);
  }

  pause(): void {
    this.#paused = true;
    this.#controller?.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#controller?.resume();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.hasBegun = true;
    if (this.#over) controller.abort(aborted);
    else if (this.#paused) controller.pause();
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (this.#over || status < 200) return;
    const again = this.#again?.(status);
    if (again !== undefined) {
      this.#left.add(controller);
      controller.abort(aborted);
      this.hasBegun = false;
      again();
      return;
    }
    this.#again = undefined;
    const encoding = headers['content-encoding'];
    // The status of a failed answer is enough, so its body may be compressed.
    if (status < 300 && encoding !== undefined && encoding !== 'identity') {
      this.#fail('malformed_answer');
      return;
    }
    this.#handler.onResponse(status, {
      contentType: single(headers['content-type']) ?? '',
      retryAfter: single(headers['retry-after']),
      retryAfterMs: single(headers['retry-after-ms']),
      isDelimited: headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined,
      ...(this.#relayedNames === undefined ? {} : { relayed: pick(headers, this.#relayedNames) }),
    });
  }

  onResponseData(controller: Dispatcher.DispatchController, bytes: Buffer): void {
    if (!this.#over && !this.#left.has(controller)) this.#handler.onBytes(bytes);
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    if (this.#over || this.#left.has(controller)) return;
    this.#over = true;
    this.#handler.onEnd();
  }

  onResponseError(controller: Dispatcher.DispatchController | null, error: Error): void {
    if (controller !== null && this.#left.has(controller)) return;
    const code = 'code' in error ? error.code : undefined;
    if (code === 'UND_ERR_CONNECT_TIMEOUT') this.#fail('timeout');
    else this.#fail(code === unattestedKey ? 'attestation_failed' : 'network_failure');
  }

  #fail(outcome: UpstreamFailure): void {
    if (this.#over) return;
    this.abort();
    this.#handler.onFailure(outcome);
  }
}

const single = (value: string | string[] | undefined): string | undefined => (Array.isArray(value) ? value[0] : value);

/** Allowed values of a forwarded header: a token or a key, never text. */
const relayable = /^[\x21-\x7e]{1,256}$/;

const pick = (headers: Record<string, string | string[] | undefined>, names: readonly string[]): string[] =>
  names.flatMap((name) => {
    const value = headers[name];
    return typeof value === 'string' && relayable.test(value) ? [name, value] : [];
  });

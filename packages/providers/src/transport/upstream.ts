import { type Dispatcher, Pool } from 'undici';
import type { RelayedRequest, UpstreamRequest } from '../adapter.ts';
import { type MakePool, unattestedKey } from './attested-pool.ts';

/** Where a provider is and how to be let in. */
export interface UpstreamAddress {
  readonly baseUrl: string;
  /** Headers of every request, as name, value, name, value. */
  readonly headers: readonly string[];
  readonly connectTimeoutMs: number;
  /** Certificates (PEM) that the server's may be under in place of the well-known ones. */
  readonly ca?: string | undefined;
}

/** What is read of a response's headers. */
export interface UpstreamHeaders {
  readonly contentType: string;
  readonly retryAfter: string | undefined;
  /** Whether the answer says where it ends: without that, a connection that breaks looks like the end. */
  readonly isDelimited: boolean;
  /** Of a relayed request: those of the headers that it asked for which came, as name, value, name, value. */
  readonly relayed?: readonly string[];
}

/** What a call reports, in order: a response, its bytes, its end; or, at any point, one failure. */
export interface UpstreamHandler {
  onResponse(status: number, headers: UpstreamHeaders): void;
  onBytes(bytes: Buffer): void;
  onEnd(): void;
  /** The connection failed; never called after `abort`. */
  onFailure(outcome: UpstreamFailure): void;
}

/** `attestation_failed`: the connection showed a TLS key that was not attested, and nothing was sent on it. */
export type UpstreamFailure = 'timeout' | 'network_failure' | 'malformed_answer' | 'attestation_failed';

/** A call under way. After `abort` the handler hears nothing more and the connection is closed. */
export interface UpstreamCall {
  abort(): void;
  pause(): void;
  resume(): void;
}

/** One provider's connections. */
export interface Upstream {
  call(request: UpstreamRequest | RelayedRequest, handler: UpstreamHandler): UpstreamCall;
  /** Ends every call. */
  close(): Promise<void>;
  /** Takes no further call, and closes when those under way have ended. */
  retire(): void;
}

const aborted = new Error('aborted');

/**
 * Opens a provider. Redirects are never followed, compression is refused, no header of the client's is passed on, and
 * of the provider's headers only `content-type`, `retry-after` and those that frame the body are read; what is relayed
 * names its own, in both directions. Time limits are the caller's, but for connecting.
 */
export function openUpstream(
  { baseUrl, headers, connectTimeoutMs, ca }: UpstreamAddress,
  makePool: MakePool = newPool(ca),
): Upstream {
  const url = new URL(baseUrl);
  const basePath = url.pathname.replace(/\/+$/, '');
  const pool = makePool(url.origin, connectTimeoutMs);
  const fixed = ['content-type', 'application/json', 'accept-encoding', 'identity', ...headers];
  const relayedHeaders = ({ contentType, headers: own }: RelayedRequest): string[] => [
    'content-type',
    contentType,
    'accept-encoding',
    'identity',
    ...headers,
    ...own,
  ];
  return {
    call(request, handler) {
      const relayed = 'contentType' in request ? request : undefined;
      const call = new Call(handler, relayed?.answerHeaders);
      const sent = relayed === undefined ? fixed : relayedHeaders(relayed);
      pool.dispatch(
        {
          path: basePath + request.path,
          method: 'POST',
          headers: [...sent, 'accept', request.accept],
          body: request.body,
          headersTimeout: 0,
          bodyTimeout: 0,
        },
        call,
      );
      return call;
    },
    close: () => pool.destroy(),
    retire: () => void pool.close().catch(() => {}),
  };
}

const newPool =
  (ca: string | undefined): MakePool =>
  (origin, connectTimeoutMs) =>
    new Pool(origin, {
      connections: null,
      pipelining: 1,
      keepAliveTimeout: 10_000,
      connect: { timeout: connectTimeoutMs, ca },
      maxHeaderSize: 32 * 1024,
    });

class Call implements UpstreamCall, Dispatcher.DispatchHandler {
  readonly #handler: UpstreamHandler;
  readonly #relayedNames: readonly string[] | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #over = false;
  #paused = false;

  constructor(handler: UpstreamHandler, relayedNames: readonly string[] | undefined) {
    this.#handler = handler;
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
    if (this.#over) controller.abort(aborted);
    else if (this.#paused) controller.pause();
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (this.#over || status < 200) return;
    const encoding = headers['content-encoding'];
    // Of a failed answer the status is enough.
    if (status < 300 && encoding !== undefined && encoding !== 'identity') {
      this.#fail('malformed_answer');
      return;
    }
    this.#handler.onResponse(status, {
      contentType: single(headers['content-type']) ?? '',
      retryAfter: single(headers['retry-after']),
      isDelimited: headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined,
      ...(this.#relayedNames === undefined ? {} : { relayed: pick(headers, this.#relayedNames) }),
    });
  }

  onResponseData(_controller: Dispatcher.DispatchController, bytes: Buffer): void {
    if (!this.#over) this.#handler.onBytes(bytes);
  }

  onResponseEnd(): void {
    if (this.#over) return;
    this.#over = true;
    this.#handler.onEnd();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
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

/** What a header that is passed on may hold: a token or a key, never text. */
const relayable = /^[\x21-\x7e]{1,256}$/;

const pick = (headers: Record<string, string | string[] | undefined>, names: readonly string[]): string[] =>
  names.flatMap((name) => {
    const value = headers[name];
    return typeof value === 'string' && relayable.test(value) ? [name, value] : [];
  });

import { sseKeepAlive } from '@sotto/wire';
import type { ClientLink } from './client-link.ts';

/** When a stream's headers and comments leave. */
export interface StreamPacing {
  /** A client that has got nothing for this long, in ms, gets a comment. Undefined: never. */
  readonly keepAliveMs: number | undefined;
  /**
   * The headers leave after this time without output, in ms. That commits the attempt that runs: no other route can
   * follow. Undefined: they leave with the first output.
   */
  readonly headersAfterMs: number | undefined;
}

/**
 * Sends comments while a stream is silent. A comment is no output: it is
 * neither charged nor measured. Call it only between the frames of a stream.
 */
export class KeepAlive {
  readonly #timer: NodeJS.Timeout | undefined;

  /** @param mayWrite - False while the client holds the stream back. */
  constructor(client: Pick<ClientLink, 'hasLeft' | 'write'>, everyMs: number | undefined, mayWrite: () => boolean) {
    if (everyMs === undefined) return;
    const timer = setTimeout(() => {
      if (!client.hasLeft && mayWrite()) client.write(sseKeepAlive);
      timer.refresh();
    }, everyMs);
    timer.unref();
    this.#timer = timer;
  }

  /** Notes that the client got something. */
  wrote(): void {
    this.#timer?.refresh();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}

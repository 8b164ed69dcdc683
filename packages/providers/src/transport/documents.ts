import { Pool } from './undici-parts.ts';
import type { UpstreamAddress } from './upstream.ts';

/** A provider's answer to a GET. */
export interface ProviderDocument {
  readonly status: number;
  readonly body: Buffer;
}

export interface Documents {
  /**
   * Sends one GET to a path below the provider's base address, or with `atRoot` below its origin. Rejects if the
   * provider does not answer in time, or answers more than `maxBytes`. Redirects are not followed.
   */
  get(path: string, options?: { readonly atRoot?: boolean; readonly maxBytes?: number }): Promise<ProviderDocument>;
  close(): Promise<void>;
}

const timeoutMs = 10_000;
const defaultMaxBytes = 8 * 1024 * 1024;

/** Opens a provider for documents about itself: evidence and signatures, never content. */
export function openDocuments({ baseUrl, headers, connectTimeoutMs, ca }: UpstreamAddress): Documents {
  const url = new URL(baseUrl);
  const basePath = url.pathname.replace(/\/+$/, '');
  const pool = new Pool(url.origin, {
    connections: 4,
    pipelining: 1,
    keepAliveTimeout: 10_000,
    maxHeaderSize: 32 * 1024,
    allowH2: false,
    connect: { timeout: connectTimeoutMs, maxCachedSessions: 0, ca },
  });
  return {
    async get(path, { atRoot = false, maxBytes = defaultMaxBytes } = {}) {
      const { statusCode, body } = await pool.request({
        path: (atRoot ? '' : basePath) + path,
        method: 'GET',
        headers: [
          ...('take' in headers ? headers.take().headers : headers),
          'accept',
          'application/json',
          'accept-encoding',
          'identity',
        ],
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
        signal: AbortSignal.timeout(2 * timeoutMs),
      });
      const pieces: Buffer[] = [];
      let bytes = 0;
      // Leaving the loop closes the connection.
      for await (const piece of body as AsyncIterable<Buffer>) {
        bytes += piece.length;
        if (bytes > maxBytes) throw new Error('a provider says more about itself than is read');
        pieces.push(piece);
      }
      return { status: statusCode, body: Buffer.concat(pieces) };
    },
    close: () => pool.destroy(),
  };
}

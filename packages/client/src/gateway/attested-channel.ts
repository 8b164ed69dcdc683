import { abortable } from '../abortable.ts';
import { ClientError } from '../errors.ts';
import type { ContentAnswer, ContentChannel, ContentRequest, OriginConnection } from './platform.ts';

/**
 * Carries content over connections that were attested one by one: evidence that covers a connection came over that very
 * connection. A connection carries one request at a time, and a request without a free one opens, and attests, another.
 * No connection is shared with another channel.
 */
export class AttestedChannel implements ContentChannel {
  readonly #attest: () => Promise<OriginConnection>;
  #free: OriginConnection[];
  #isClosed = false;

  /**
   * @param first - a connection that was attested.
   * @param attest - opens a connection and attests it. Rejects with a `ClientError`.
   */
  constructor(first: OriginConnection, attest: () => Promise<OriginConnection>) {
    this.#free = [first];
    this.#attest = attest;
  }

  async send(request: ContentRequest): Promise<ContentAnswer> {
    const free = this.#takeFree();
    if (free !== undefined) {
      try {
        return await this.#sendOver(free, request);
      } catch (error) {
        // It ended before the request could begin.
        if (!isNotVerified(error)) throw error;
      }
    }
    const attesting = this.#attest();
    const connection = await abortable(attesting, request.signal).catch((error: unknown) => {
      // The request has left. Another one can use the connection.
      if (request.signal?.aborted) void attesting.then((late) => this.add(late)).catch(() => undefined);
      throw error;
    });
    return this.#sendOver(connection, request);
  }

  /** Takes an attested connection that carries no request. Closes it if this channel was closed. */
  add(connection: OriginConnection): void {
    if (this.#isClosed || !connection.isOpen) connection.close();
    else this.#free.push(connection);
  }

  close(): void {
    this.#isClosed = true;
    for (const connection of this.#free.splice(0)) connection.close();
  }

  #takeFree(): OriginConnection | undefined {
    // The verification ended while this request was waiting.
    if (this.#isClosed) throw new ClientError('connection_not_verified');
    this.#free = this.#free.filter(({ isOpen }) => isOpen);
    return this.#free.pop();
  }

  /** A connection that was just attested may carry its request after this channel was closed. */
  #sendOver(connection: OriginConnection, request: ContentRequest): Promise<ContentAnswer> {
    return connection.send(request, () => this.add(connection));
  }
}

const isNotVerified = (error: unknown): boolean =>
  error instanceof ClientError && error.code === 'connection_not_verified';

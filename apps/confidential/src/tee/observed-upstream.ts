import { createHash } from 'node:crypto';
import type { Upstream, UpstreamHandler } from '@sotto/providers';

/** What an exchange was, by the bytes that went to the provider and came from it. */
export interface Exchange {
  readonly requestSha256: string;
  readonly responseSha256: string;
  /** The provider's own id of the answer, where the answer begins with one in clear. */
  readonly completionId: string | undefined;
}

/** An id is among the first fields of an answer, or of the first event of a stream. */
const headBytes = 4096;
const idField = /"id"\s*:\s*"([\w.:-]{1,200})"/;

/** An upstream that tells of each call that came to its end with a success: hashes and an id, never the bytes. */
export function observedUpstream(upstream: Upstream, onExchange: (exchange: Exchange) => void): Upstream {
  return {
    ...upstream,
    call(request, handler) {
      const requestSha256 = createHash('sha256').update(request.body).digest('hex');
      return upstream.call(request, new Observer(handler, (seen) => onExchange({ requestSha256, ...seen })));
    },
  };
}

class Observer implements UpstreamHandler {
  readonly #handler: UpstreamHandler;
  readonly #onEnd: (seen: Omit<Exchange, 'requestSha256'>) => void;
  readonly #hash = createHash('sha256');
  #head = '';
  #isSuccess = false;

  constructor(handler: UpstreamHandler, onEnd: (seen: Omit<Exchange, 'requestSha256'>) => void) {
    this.#handler = handler;
    this.#onEnd = onEnd;
  }

  onResponse(...response: Parameters<UpstreamHandler['onResponse']>): void {
    const [status] = response;
    this.#isSuccess = status >= 200 && status < 300;
    this.#handler.onResponse(...response);
  }

  onBytes(bytes: Buffer): void {
    if (this.#isSuccess) {
      this.#hash.update(bytes);
      if (this.#head.length < headBytes) this.#head += bytes.toString('latin1', 0, headBytes - this.#head.length);
    }
    this.#handler.onBytes(bytes);
  }

  onEnd(): void {
    if (this.#isSuccess) {
      const completionId = idField.exec(this.#head)?.[1];
      this.#onEnd({ responseSha256: this.#hash.digest('hex'), completionId });
    }
    this.#handler.onEnd();
  }

  onFailure(outcome: Parameters<UpstreamHandler['onFailure']>[0]): void {
    this.#handler.onFailure(outcome);
  }
}

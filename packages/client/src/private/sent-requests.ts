import { toHex, utf8 } from '../e2ee/bytes.ts';

/** Time in ms that a request is remembered after it was given up: longer than SDKs pause between tries. */
const rememberedMs = 2 * 60_000;
const maxRemembered = 256;

/**
 * Requests that were given up after they were sent, by a digest of their content. An SDK retries after its own timeout.
 * The first try may have been served and charged, so the second must not be bought.
 */
export class SentRequests {
  readonly #now: () => number;
  readonly #givenUp = new Map<string, number>();

  constructor(now: () => number) {
    this.#now = now;
  }

  async remember(content: string): Promise<void> {
    this.#givenUp.set(await digestOf(content), this.#now() + rememberedMs);
    for (const oldest of this.#givenUp.keys()) {
      if (this.#givenUp.size <= maxRemembered) break;
      this.#givenUp.delete(oldest);
    }
  }

  async has(content: string): Promise<boolean> {
    return this.#givenUp.size > 0 && (this.#givenUp.get(await digestOf(content)) ?? 0) > this.#now();
  }
}

const digestOf = async (content: string): Promise<string> =>
  toHex(new Uint8Array(await crypto.subtle.digest('SHA-256', utf8(content))));

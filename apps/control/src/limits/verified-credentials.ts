import type { Redis } from 'ioredis';
import type { LimitKey } from './limit-key.ts';

/** How long a credential counts as verified after it last was: so long it is not locked out with its address. */
const knownMs = 24 * 3_600_000;
/** How many this process remembers. Those that were noted first go first. */
const mostKnown = 50_000;

export interface VerifiedCredentialsOptions {
  /** Where several control processes tell each other; undefined: this process remembers alone. */
  readonly redis: Pick<Redis, 'set' | 'pttl'> | undefined;
  /** Names what is kept there. */
  readonly keyOf: LimitKey;
  readonly now: () => number;
}

/**
 * Remembers credentials, each by a hash, that a route has looked up and found good. A made-up credential is never here, so
 * only the owners of accounts can make it grow.
 */
export class VerifiedCredentials {
  readonly #redis: VerifiedCredentialsOptions['redis'];
  readonly #keyOf: (credential: string) => string;
  readonly #now: () => number;
  /** Credentials, and until when. */
  readonly #known = new Map<string, number>();

  constructor({ redis, keyOf, now }: VerifiedCredentialsOptions) {
    this.#redis = redis;
    this.#keyOf = (credential) => keyOf(`verified:${credential}`);
    this.#now = now;
  }

  /** Whether this process knows that the credential was good within the last day. */
  has(credential: string): boolean {
    return (this.#known.get(credential) ?? 0) > this.#now();
  }

  /** Whether any control process knows; false where Redis cannot be asked. */
  async isShared(credential: string): Promise<boolean> {
    const leftMs = (await this.#redis?.pttl(this.#keyOf(credential)).catch(() => 0)) ?? 0;
    if (leftMs <= 0) return false;
    this.#keep(credential, this.#now() + leftMs);
    return true;
  }

  /** Notes that a route has just found the credential good. */
  remember(credential: string): void {
    const now = this.#now();
    const leftMs = (this.#known.get(credential) ?? 0) - now;
    // Others are told twice a day, not with each request.
    if (leftMs > knownMs / 2) return;
    this.#keep(credential, now + knownMs);
    this.#redis?.set(this.#keyOf(credential), '1', 'PX', knownMs).catch(() => {});
  }

  #keep(credential: string, until: number): void {
    this.#known.delete(credential);
    this.#known.set(credential, until);
    const [oldest] = this.#known.keys();
    if (this.#known.size > mostKnown && oldest !== undefined) this.#known.delete(oldest);
  }
}

import type { FastifyRequest } from 'fastify';
import { credentialIdsOf } from './credential-ids.ts';

export interface VerifiedCredential {
  /** Its id for limits, which contains only a hash. */
  readonly id: string;
  /** What a limit by key counts it as. The secrets of a key are one, and so are the access tokens of a grant. */
  readonly counter: string;
  readonly kind: 'bearer' | 'session';
  /**
   * Whose limits it uses up: those of an account's sessions, or those of all keys and access tokens that the account pays for. A holder
   * of a key must not keep the account from revoking it.
   */
  readonly owner: string;
}

/** Verifies the credentials of a request. Returns a valid one, if there is one. */
export type VerifyCredentials = (request: FastifyRequest) => Promise<VerifiedCredential | undefined>;

/** Time for which a credential is not verified again. One that was revoked meanwhile still has its own count. */
const knownMs = 3_600_000;
/** The time over which failed lookups of an address are counted. */
const failuresMs = 60_000;
/** The number of credentials that this process remembers. Those verified first are dropped first. */
const maxKnown = 50_000;

const found = new WeakMap<FastifyRequest, VerifiedCredential>();

/** Returns the valid credential of a request, after `VerifiedCredentials` found it. */
export const verifiedCredentialOf = (request: FastifyRequest): VerifiedCredential | undefined => found.get(request);

/**
 * Finds the valid credential of each request, and remembers it. Made-up credentials are never stored, so only account
 * owners can make it grow. An address that showed too many of them within a minute has no new credential looked up until
 * the minute is over, so that it cannot keep the database busy.
 */
export class VerifiedCredentials {
  readonly #verify: VerifyCredentials;
  readonly #maxFailures: number;
  readonly #now: () => number;
  /** Failed lookups by address, since the minute began. */
  readonly #failures = new Map<string, number>();
  #failuresSince = 0;
  readonly #known = new Map<string, { readonly credential: VerifiedCredential; readonly until: number }>();

  /** @param maxFailures - Lookups per address and minute that may fail. */
  constructor(verify: VerifyCredentials, maxFailures: number, now: () => number) {
    this.#verify = verify;
    this.#maxFailures = maxFailures;
    this.#now = now;
  }

  /** Returns undefined without a valid credential, and if none can be verified now. */
  async find(request: FastifyRequest, address: string): Promise<VerifiedCredential | undefined> {
    const shown = credentialIdsOf(request);
    if (shown.length === 0) return undefined;
    const credential = this.#find(shown) ?? (await this.#lookUp(request, address));
    if (credential === undefined) return undefined;
    this.#keep(credential);
    found.set(request, credential);
    return credential;
  }

  async #lookUp(request: FastifyRequest, address: string): Promise<VerifiedCredential | undefined> {
    if (this.#now() - this.#failuresSince >= failuresMs || this.#failures.size >= maxKnown) {
      this.#failures.clear();
      this.#failuresSince = this.#now();
    }
    const failed = this.#failures.get(address) ?? 0;
    if (failed >= this.#maxFailures) return undefined;
    // Counts before the lookup, so that lookups at the same time count, too.
    this.#failures.set(address, failed + 1);
    const credential = await this.#verify(request).catch(() => undefined);
    if (credential !== undefined) this.#failures.set(address, Math.max(0, (this.#failures.get(address) ?? 0) - 1));
    return credential;
  }

  #find(shown: readonly string[]): VerifiedCredential | undefined {
    for (const id of shown) {
      const known = this.#known.get(id);
      if (known !== undefined && known.until > this.#now()) return known.credential;
      this.#known.delete(id);
    }
    return undefined;
  }

  #keep(credential: VerifiedCredential): void {
    if (this.#known.has(credential.id)) return;
    this.#known.set(credential.id, { credential, until: this.#now() + knownMs });
    const [oldest] = this.#known.keys();
    if (this.#known.size > maxKnown && oldest !== undefined) this.#known.delete(oldest);
  }
}

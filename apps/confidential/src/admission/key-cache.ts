import { type AdmissionPort, hashSecret, type VersionedKey } from '@sotto/state';

/** The most characters of JSON of all records: the size of some 20,000 usual ones. As objects they take a few times as many bytes. */
const maxChars = 16_777_216;

interface Cached {
  readonly key: VersionedKey;
  readonly chars: number;
}

/**
 * Caches key records by the hash of the secret that was shown, up to a total size, because preferences differ in size. A record may be
 * stale: the redeeming script compares its generation and returns the newer one. Unknown keys are never cached, so a new key works at
 * once.
 */
export class KeyCache {
  readonly #state: Pick<AdmissionPort, 'lookupKey'>;
  /** Oldest first. */
  readonly #keys = new Map<string, Cached>();
  #chars = 0;

  constructor(state: Pick<AdmissionPort, 'lookupKey'>) {
    this.#state = state;
  }

  /** The number of characters of JSON that the records have. */
  get chars(): number {
    return this.#chars;
  }

  /** Hashes a key and finds its record; undefined if no active key has this secret. */
  async find(apiKey: string): Promise<{ readonly secretHash: string; readonly key: VersionedKey | undefined }> {
    const secretHash = hashSecret(apiKey);
    const known = this.#keys.get(secretHash);
    if (known !== undefined) return { secretHash, key: known.key };
    const key = await this.#state.lookupKey(secretHash);
    if (key !== undefined) this.put(secretHash, key);
    return { secretHash, key };
  }

  /** Like `find`, but reads the record from the state, for answers that no script guards. */
  async fresh(apiKey: string): ReturnType<KeyCache['find']> {
    const secretHash = hashSecret(apiKey);
    const key = await this.#state.lookupKey(secretHash);
    if (key === undefined) this.drop(secretHash);
    else this.put(secretHash, key);
    return { secretHash, key };
  }

  put(secretHash: string, key: VersionedKey): void {
    this.drop(secretHash);
    const chars = JSON.stringify(key).length;
    this.#keys.set(secretHash, { key, chars });
    this.#chars += chars;
    for (const oldest of this.#keys.keys()) {
      if (this.#chars <= maxChars) break;
      this.drop(oldest);
    }
  }

  drop(secretHash: string): void {
    this.#chars -= this.#keys.get(secretHash)?.chars ?? 0;
    this.#keys.delete(secretHash);
  }
}

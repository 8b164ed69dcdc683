import { type AdmissionPort, hashSecret, type VersionedKey } from '@sotto/state';

const maxKeys = 20_000;

/**
 * Caches key records by the hash of the secret that was shown. A record may be stale: the redeeming script compares its generation and
 * returns the newer one. Unknown keys are never cached, so a new key works at once.
 */
export class KeyCache {
  readonly #state: Pick<AdmissionPort, 'lookupKey'>;
  readonly #keys = new Map<string, VersionedKey>();

  constructor(state: Pick<AdmissionPort, 'lookupKey'>) {
    this.#state = state;
  }

  /** Hashes a key and finds its record; undefined if no active key has this secret. */
  async find(apiKey: string): Promise<{ readonly secretHash: string; readonly key: VersionedKey | undefined }> {
    const secretHash = hashSecret(apiKey);
    const known = this.#keys.get(secretHash);
    if (known !== undefined) return { secretHash, key: known };
    const key = await this.#state.lookupKey(secretHash);
    if (key !== undefined) this.put(secretHash, key);
    return { secretHash, key };
  }

  /** Like `find`, but reads the record from the state, for answers that no script guards. */
  async fresh(apiKey: string): ReturnType<KeyCache['find']> {
    const secretHash = hashSecret(apiKey);
    const key = await this.#state.lookupKey(secretHash);
    if (key === undefined) this.#keys.delete(secretHash);
    else this.put(secretHash, key);
    return { secretHash, key };
  }

  put(secretHash: string, key: VersionedKey): void {
    this.#keys.delete(secretHash);
    this.#keys.set(secretHash, key);
    if (this.#keys.size > maxKeys) {
      for (const oldest of this.#keys.keys()) {
        this.#keys.delete(oldest);
        break;
      }
    }
  }

  drop(secretHash: string): void {
    this.#keys.delete(secretHash);
  }
}

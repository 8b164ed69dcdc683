import { type AdmissionPort, hashSecret, type VersionedKey } from '@sotto/state';

const maxKeys = 20_000;

/**
 * Key records by the hash of the key. A record may be stale: the redeeming script compares its generation and hands
 * over the newer one. Keys that do not exist are never kept, so a new key works at once.
 */
export class KeyCache {
  readonly #state: Pick<AdmissionPort, 'lookupKey'>;
  readonly #keys = new Map<string, VersionedKey>();

  constructor(state: Pick<AdmissionPort, 'lookupKey'>) {
    this.#state = state;
  }

  /** Hashes a key at the edge and finds its record; undefined where there is none or it was revoked. */
  async find(apiKey: string): Promise<{ readonly keyHash: string; readonly key: VersionedKey | undefined }> {
    const keyHash = hashSecret(apiKey);
    const known = this.#keys.get(keyHash);
    if (known !== undefined) return { keyHash, key: known };
    const key = await this.#state.lookupKey(keyHash);
    if (key !== undefined) this.put(keyHash, key);
    return { keyHash, key };
  }

  /** Reads the record anew: for answers that no script guards. */
  async fresh(apiKey: string): Promise<VersionedKey | undefined> {
    const keyHash = hashSecret(apiKey);
    const key = await this.#state.lookupKey(keyHash);
    if (key === undefined) this.#keys.delete(keyHash);
    else this.put(keyHash, key);
    return key;
  }

  put(keyHash: string, key: VersionedKey): void {
    this.#keys.delete(keyHash);
    this.#keys.set(keyHash, key);
    if (this.#keys.size > maxKeys) {
      for (const oldest of this.#keys.keys()) {
        this.#keys.delete(oldest);
        break;
      }
    }
  }

  drop(keyHash: string): void {
    this.#keys.delete(keyHash);
  }
}

/** A vendor's document, and until when it may be used (Unix ms). */
export interface Dated<T> {
  readonly document: T;
  readonly until: number;
}

export interface KeptDocumentsOptions<T> {
  readonly load: (key: string) => Promise<Dated<T>>;
  readonly now: () => number;
  /**
   * Called about once a day for a document that expires within a week and whose renewal failed, or within a day if the
   * vendor has nothing newer. `key` names a platform, not a person.
   */
  readonly onExpiring: (key: string, until: number) => void;
  /** How long `get` waits for a document that is still loading, in ms. */
  readonly patienceMs?: number | undefined;
  /** The most keys to keep. It limits requests for made-up keys. */
  readonly maxKeys?: number | undefined;
}

interface Kept<T> {
  readonly known: (Dated<T> & { readonly loadedAt: number }) | undefined;
  readonly loading: Promise<void> | undefined;
  readonly nextTryAt: number;
  readonly toldAt: number;
}

const dayMs = 86_400_000;
const times = { patienceMs: 2_000, retryMs: 60_000, nothingNewerMs: 3_600_000, expiringMs: 7 * dayMs } as const;
/** One machine needs one or two. */
const keysOfOneMachine = 8;

/**
 * Caches vendors' documents while they are valid, and renews them after half of their lifetime. Loads each key at most
 * once at a time. If renewing fails, a valid document remains in use. It caches only documents about machines, never
 * evidence for a nonce.
 */
export class KeptDocuments<T> {
  readonly #options: KeptDocumentsOptions<T>;
  readonly #kept = new Map<string, Kept<T>>();

  constructor(options: KeptDocumentsOptions<T>) {
    this.#options = options;
  }

  /** The document, if it is present or arrives soon. */
  async get(key: string): Promise<T | undefined> {
    const valid = this.#valid(key);
    if (valid !== undefined) {
      this.#renewIfDue(key);
      return valid;
    }
    const loading = this.#renewIfDue(key);
    if (loading === undefined) return undefined;
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, this.#options.patienceMs ?? times.patienceMs);
    });
    await Promise.race([loading, patience]);
    clearTimeout(timer);
    return this.#valid(key);
  }

  /** Renews all documents that are due. Resolves when the loads have ended, even if they failed. */
  async refresh(): Promise<void> {
    await Promise.all([...this.#kept.keys()].map((key) => this.#renewIfDue(key)));
  }

  #valid(key: string): T | undefined {
    const known = this.#kept.get(key)?.known;
    return known !== undefined && this.#options.now() < known.until ? known.document : undefined;
  }

  /** The running load for a key. Starts one if it is due. */
  #renewIfDue(key: string): Promise<void> | undefined {
    const now = this.#options.now();
    const kept = this.#kept.get(key) ?? { known: undefined, loading: undefined, nextTryAt: 0, toldAt: 0 };
    if (kept.loading !== undefined) return kept.loading;
    const dueAt = kept.known === undefined ? 0 : (kept.known.loadedAt + kept.known.until) / 2;
    if (now < dueAt || now < kept.nextTryAt) return undefined;
    if (!this.#kept.has(key) && !this.#hasRoom()) return undefined;
    const loading = this.#load(key);
    this.#kept.set(key, { ...kept, loading });
    return loading;
  }

  /**
   * Makes room for a new key. If the cache is full, it removes an entry that has no valid document and whose retry time
   * has passed. Such entries belong to machines that left or never existed.
   */
  #hasRoom(): boolean {
    if (this.#kept.size < (this.#options.maxKeys ?? keysOfOneMachine)) return true;
    const now = this.#options.now();
    const useless = [...this.#kept].find(
      ([key, { loading, nextTryAt }]) => loading === undefined && now >= nextTryAt && this.#valid(key) === undefined,
    );
    return useless !== undefined && this.#kept.delete(useless[0]);
  }

  async #load(key: string): Promise<void> {
    const { load, now, onExpiring } = this.#options;
    const loaded = await load(key).catch(() => undefined);
    const before = this.#kept.get(key);
    // A mirror's older answer must not replace a document that lasts longer.
    const isNewer = loaded !== undefined && loaded.until > (before?.known?.until ?? now());
    const known = isNewer ? { ...loaded, loadedAt: now() } : before?.known;
    const until = known?.until ?? now();
    const leftMs = until - now();
    // A vendor may have nothing newer for weeks. The shorter the rest of the lifetime, the sooner it is asked again.
    const waitMs = loaded === undefined ? 0 : Math.min(times.nothingNewerMs, leftMs / 8);
    const isExpiring = known !== undefined && !isNewer && leftMs <= (loaded === undefined ? times.expiringMs : dayMs);
    const toldAt = before?.toldAt ?? 0;
    const tells = isExpiring && now() - toldAt >= dayMs;
    this.#kept.set(key, {
      known,
      loading: undefined,
      nextTryAt: now() + Math.max(times.retryMs, waitMs),
      toldAt: tells ? now() : toldAt,
    });
    if (tells) onExpiring(key, until);
  }
}

/** A vendor's document, and until when it may be used (Unix ms). */
export interface Dated<T> {
  readonly document: T;
  readonly until: number;
}

export interface KeptDocumentsOptions<T> {
  readonly load: (key: string) => Promise<Dated<T>>;
  readonly now: () => number;
  /** Told about once a day of what ends within a week and could not be renewed. `key` names a platform, not a person. */
  readonly onExpiring: (key: string, until: number) => void;
  /** How long whoever asks waits for what is not there yet, in ms. */
  readonly patienceMs?: number | undefined;
  /** How many keys there may be: more would be somebody playing. */
  readonly maxKeys?: number | undefined;
}

interface Kept<T> {
  readonly known: (Dated<T> & { readonly loadedAt: number }) | undefined;
  readonly loading: Promise<void> | undefined;
  readonly nextTryAt: number;
  readonly toldAt: number;
}

const dayMs = 86_400_000;
const times = { patienceMs: 2_000, retryMs: 60_000, expiringMs: 7 * dayMs } as const;
/** One machine needs one or two. */
const keysOfOneMachine = 8;

/**
 * Vendors' documents, kept while they are valid and loaded anew from half of their time on: one load at a time for a key, and
 * what is still valid serves on where that fails. It keeps documents about machines only, never evidence for a nonce.
 */
export class KeptDocuments<T> {
  readonly #options: KeptDocumentsOptions<T>;
  readonly #kept = new Map<string, Kept<T>>();

  constructor(options: KeptDocumentsOptions<T>) {
    this.#options = options;
  }

  /** The document, if it is there or comes soon. */
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

  /** Loads what is due; resolves when that has ended, well or not. */
  async refresh(): Promise<void> {
    await Promise.all([...this.#kept.keys()].map((key) => this.#renewIfDue(key)));
    for (const [key, kept] of this.#kept) this.#warn(key, kept);
  }

  #valid(key: string): T | undefined {
    const known = this.#kept.get(key)?.known;
    return known !== undefined && this.#options.now() < known.until ? known.document : undefined;
  }

  /** The load under way for a key, begun now if it is due. */
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

  /** Machines go, and some were never there: where it is full, one makes room that has nothing valid and may be tried again. */
  #hasRoom(): boolean {
    if (this.#kept.size < (this.#options.maxKeys ?? keysOfOneMachine)) return true;
    const now = this.#options.now();
    const useless = [...this.#kept].find(
      ([key, { loading, nextTryAt }]) => loading === undefined && now >= nextTryAt && this.#valid(key) === undefined,
    );
    return useless !== undefined && this.#kept.delete(useless[0]);
  }

  async #load(key: string): Promise<void> {
    const { load, now } = this.#options;
    const loaded = await load(key).catch(() => undefined);
    const before = this.#kept.get(key);
    // An older answer of a mirror never replaces what lasts longer.
    const isNewer = loaded !== undefined && loaded.until > (before?.known?.until ?? now());
    this.#kept.set(key, {
      known: isNewer ? { ...loaded, loadedAt: now() } : before?.known,
      loading: undefined,
      nextTryAt: now() + times.retryMs,
      toldAt: before?.toldAt ?? 0,
    });
  }

  #warn(key: string, kept: Kept<T>): void {
    const { now, onExpiring } = this.#options;
    if (kept.known === undefined || kept.known.until - now() > times.expiringMs || now() - kept.toldAt < dayMs) return;
    this.#kept.set(key, { ...kept, toldAt: now() });
    onExpiring(key, kept.known.until);
  }
}

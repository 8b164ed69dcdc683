import { type Documents, openDocuments } from '@sotto/providers';
import type { CallableProvider } from '../providers/provider-set.ts';

/** Where providers are asked about themselves: one place each, opened when it is first needed. */
export class ProviderDocuments {
  readonly #ca: string | undefined;
  readonly #open = new Map<string, Documents>();

  constructor(ca: string | undefined) {
    this.#ca = ca;
  }

  of({ entry, headers }: CallableProvider): Documents {
    const known = this.#open.get(entry.id);
    if (known !== undefined) return known;
    const { base_url: baseUrl, timeouts } = entry;
    const opened = openDocuments({ baseUrl, headers, connectTimeoutMs: timeouts.connect_ms }, this.#ca);
    this.#open.set(entry.id, opened);
    return opened;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map((documents) => documents.close()));
  }
}

import type { ProviderVendors } from '@sotto/attestation/producers';
import { type Documents, openDocuments } from '@sotto/providers';
import type { CallableProvider } from '../providers/provider-set.ts';
import type { VerificationEngine } from './verification-engine.ts';

/** Where evidence of one provider comes from. */
export interface EvidenceSources {
  readonly documents: Documents;
  readonly vendors: ProviderVendors;
}

/** Where providers are asked about themselves, and vendors about their machines: opened when it is first needed. */
export class ProviderDocuments {
  readonly #engine: Pick<VerificationEngine, 'ca' | 'openVendors'>;
  readonly #open = new Map<string, EvidenceSources>();

  constructor(engine: Pick<VerificationEngine, 'ca' | 'openVendors'>) {
    this.#engine = engine;
  }

  of({ entry, headers }: CallableProvider): EvidenceSources {
    const known = this.#open.get(entry.id);
    if (known !== undefined) return known;
    const { ca, openVendors } = this.#engine;
    const { base_url: baseUrl, timeouts } = entry;
    const documents = openDocuments({ baseUrl, headers, connectTimeoutMs: timeouts.connect_ms, ca });
    const opened = { documents, vendors: openVendors() };
    this.#open.set(entry.id, opened);
    return opened;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map(({ documents }) => documents.close()));
  }
}

import type { ProviderVendors } from '@sotto/attestation/producers';
import { type Documents, openDocuments } from '@sotto/providers';
import type { CallableProvider } from '../providers/provider-set.ts';
import type { VerificationEngine } from './verification-engine.ts';

/** Where evidence of one provider comes from. */
export interface EvidenceSources {
  readonly documents: Documents;
  readonly vendors: ProviderVendors;
}

/** Who asks: each over connections of its own, so that no crowd of one keeps the others waiting. */
export type Asker = 'sessions' | 'callers' | 'receipts';

/** Where providers are asked about themselves, and vendors about their machines: opened when it is first needed. */
export class ProviderDocuments {
  readonly #engine: Pick<VerificationEngine, 'ca' | 'openVendors'>;
  readonly #documents = new Map<string, Documents>();
  readonly #vendors = new Map<string, ProviderVendors>();

  constructor(engine: Pick<VerificationEngine, 'ca' | 'openVendors'>) {
    this.#engine = engine;
  }

  of({ entry, headers }: CallableProvider, asker: Asker): EvidenceSources {
    const { ca, openVendors } = this.#engine;
    const { id, base_url: baseUrl, timeouts } = entry;
    return {
      documents: madeOnce(this.#documents, `${id} ${asker}`, () =>
        openDocuments({ baseUrl, headers, connectTimeoutMs: timeouts.connect_ms, ca }),
      ),
      vendors: madeOnce(this.#vendors, id, openVendors),
    };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#documents.values()].map((documents) => documents.close()));
  }
}

function madeOnce<T>(made: Map<string, T>, key: string, make: () => T): T {
  const known = made.get(key) ?? make();
  made.set(key, known);
  return known;
}

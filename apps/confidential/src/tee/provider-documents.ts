import type { ProviderVendors } from '@sotto/attestation/producers';
import { type Documents, openDocuments } from '@sotto/providers';
import type { CallableProvider } from '../providers/provider-set.ts';
import type { VerificationEngine } from './enclaves.ts';

export interface EvidenceSources {
  readonly documents: Documents;
  readonly vendors: ProviderVendors;
}

/**
 * The part of the broker that asks. Each has its own connections, so that a crowd of one kind does not delay the
 * others.
 */
export type Asker = 'sessions' | 'callers' | 'receipts';

/**
 * The sources of all providers' evidence: providers for themselves, vendors for their machines. Each is opened when it
 * is first needed.
 */
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

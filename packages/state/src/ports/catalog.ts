import type { RegistryPublic } from '@sotto/router';
import type { CatalogSnapshot } from '../records.ts';

/** Catalog, registry and route health: small, shared data that no request waits for. */
export interface CatalogPort {
  /** Publishes a snapshot unless the state has a newer one. */
  publishCatalog(snapshot: CatalogSnapshot): Promise<void>;
  /** Returns the snapshot if it is newer than `knownVersion`, else undefined. */
  readCatalog(knownVersion: number): Promise<CatalogSnapshot | undefined>;
  publishRegistry(registry: RegistryPublic): Promise<void>;
  readRegistry(): Promise<RegistryPublic | undefined>;
}

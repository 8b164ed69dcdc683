import type { RegistryPublic } from '@sotto/router';
import type { CatalogSnapshot } from '../records.ts';
import type { StateWatch } from './watch.ts';

/** Catalog, registry and route health: small, shared data that no request waits for. */
export interface CatalogPort {
  /** Publishes a snapshot unless the state has a newer one. */
  publishCatalog(snapshot: CatalogSnapshot): Promise<void>;
  /** The version of the snapshot that is published. Undefined if there is none. */
  catalogVersion(): Promise<number | undefined>;
  /** Returns the snapshot if it is newer than `knownVersion`, else undefined. */
  readCatalog(knownVersion: number): Promise<CatalogSnapshot | undefined>;
  publishRegistry(registry: RegistryPublic): Promise<void>;
  readRegistry(): Promise<RegistryPublic | undefined>;
  /** Calls `wake` when the catalog, the registry or a penalty is another. An announcement may be lost, so the reader also looks from time to time. */
  watchPublished(wake: () => void): StateWatch;
}

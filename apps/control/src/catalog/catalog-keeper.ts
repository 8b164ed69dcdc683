import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import {
  bindCatalog,
  type Catalog,
  type Counts,
  isPenalized,
  isSwitchedOn,
  type Measurements,
  measurementsOf,
  type Penalties,
  parseCatalog,
  type RegistryPublic,
  type RouteStatus,
} from '@sotto/router';
import type { CatalogPort, HealthPort } from '@sotto/state';
import type { Operation } from '@sotto/wire';
import type { ControlEvents } from '../events.ts';

export interface CatalogKeeperDependencies {
  readonly state: CatalogPort & HealthPort;
  readonly file: string;
  readonly events: ControlEvents;
  readonly now: () => number;
}

const hourMs = 3_600_000;

/**
 * Keeps the catalog: reads the operator's file, refuses it whole where something is wrong, publishes it for the
 * brokers, and holds what control itself plans with (registry, penalties, measurements).
 */
export class CatalogKeeper {
  readonly #deps: CatalogKeeperDependencies;
  #catalog: Catalog | undefined;
  #registry: RegistryPublic | undefined;
  #penalties: Penalties = new Map();
  #measurements: Measurements = new Map();
  #hours: ReadonlyMap<number, Counts> = new Map();
  #text: string | undefined;
  #boundTo: string | undefined;

  constructor(deps: CatalogKeeperDependencies) {
    this.#deps = deps;
  }

  get catalog(): Catalog | undefined {
    return this.#catalog;
  }

  get registry(): RegistryPublic | undefined {
    return this.#registry;
  }

  /** Whether the brokers, too, serve an operation: a ticket for one that they do not is worth nothing. */
  isServed(operation: Operation): boolean {
    const media = this.#registry?.media;
    return media === undefined || isSwitchedOn(media, operation);
  }

  status(): RouteStatus {
    const now = this.#deps.now();
    return { measurements: this.#measurements, penalized: (route) => isPenalized(this.#penalties, route, now) };
  }

  /** Counts by Unix hour of the last 24 hours. */
  get hours(): ReadonlyMap<number, Counts> {
    return this.#hours;
  }

  /** Forgets the file's text, so that the next `follow` reads it again (SIGHUP). */
  reload(): void {
    this.#text = undefined;
  }

  /** Binds the file to the registry that the brokers published and puts it in force where either has changed. */
  async follow(): Promise<void> {
    const { state } = this.#deps;
    const registry = await state.readRegistry();
    if (registry !== undefined) {
      this.#registry = registry;
      await this.#putInForce(registry);
    }
    this.#penalties = await state.readPenalties();
  }

  async refreshMeasurements(): Promise<void> {
    const hour = Math.floor(this.#deps.now() / hourMs);
    const hours = new Map<number, Counts>();
    for (let back = 23; back >= 0; back -= 1) {
      const known = back > 1 ? this.#hours.get(hour - back) : undefined;
      hours.set(hour - back, known ?? (await this.#deps.state.readMeasurements(hour - back)));
    }
    this.#hours = hours;
    this.#measurements = measurementsOf([...hours.values()]);
  }

  async #putInForce(registry: RegistryPublic): Promise<void> {
    const { file, state, events, now } = this.#deps;
    const text = this.#text ?? (await readFile(file, 'utf8'));
    const binding = JSON.stringify(registry);
    if (this.#text === text && this.#boundTo === binding && (await this.#isPublished())) return;
    const digest = createHash('sha256').update(text).digest('hex');
    const published = await state.readCatalog(0);
    const version = published?.digest === digest ? published.version : Math.max(now(), (published?.version ?? 0) + 1);
    const parsed = parseCatalog(text, registry, { version, digest });
    this.#text = text;
    this.#boundTo = binding;
    if (!parsed.ok) {
      events.catalogRefused(file, parsed.problems);
      // The one in force stays, if another control put one there.
      if (this.#catalog === undefined && published !== undefined) {
        this.#catalog = bindCatalog(published.file, registry, published).catalog;
      }
      return;
    }
    this.#catalog = parsed.value.catalog;
    await state.publishCatalog({ v: 1, version, digest, file: parsed.value.file });
    events.catalogInForce({ file, digest: digest.slice(0, 12), models: parsed.value.catalog.models.size });
  }

  /** False where the state has lost the snapshot that this control put there. */
  async #isPublished(): Promise<boolean> {
    const version = this.#catalog?.version;
    return version === undefined || (await this.#deps.state.readCatalog(version - 1)) !== undefined;
  }
}

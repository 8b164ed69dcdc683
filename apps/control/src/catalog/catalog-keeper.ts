import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import {
  bindCatalog,
  type Catalog,
  isPenalized,
  isSwitchedOn,
  type Measurements,
  type MeasurementWindow,
  type Penalties,
  parseCatalog,
  prepareRouting,
  type RegistryPublic,
  type RouteStatus,
} from '@sotto/router';
import { type CatalogPort, type HealthPort, MeasurementFollower } from '@sotto/state';
import type { Operation } from '@sotto/wire';
import type { ControlEvents } from '../events.ts';

export interface CatalogKeeperDependencies {
  readonly state: CatalogPort & HealthPort;
  readonly file: string;
  readonly events: ControlEvents;
  readonly now: () => number;
}

/**
 * Keeps the catalog: reads the operator's file, refuses it whole where something is wrong, publishes it for the
 * brokers, and holds what control itself plans with (registry, penalties, measurements).
 */
export class CatalogKeeper {
  readonly #deps: CatalogKeeperDependencies;
  #catalog: Catalog | undefined;
  #registry: RegistryPublic | undefined;
  #penalties: Penalties = new Map();
  readonly #measured: MeasurementFollower;
  #measurements: Measurements = new Map();
  #text: string | undefined;
  #boundTo: string | undefined;

  constructor(deps: CatalogKeeperDependencies) {
    this.#deps = deps;
    this.#measured = new MeasurementFollower(deps.state, deps.now);
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
    return {
      measurements: this.#measurements,
      penalized: (route) => isPenalized(this.#penalties, route, now),
    };
  }

  /** What all brokers measured in the last 24 hours. */
  get measured(): MeasurementWindow {
    return this.#measured.window;
  }

  /** Forgets the file's text, so that the next `follow` reads it again (SIGHUP). */
  reload(): void {
    this.#text = undefined;
  }

  /** Binds the file to the registry that the brokers published and puts it in force where either has changed. */
  async follow(): Promise<void> {
    const { state } = this.#deps;
    // First: a file that cannot be read must not have control plan with old ones.
    this.#penalties = await state.readPenalties();
    const registry = await state.readRegistry();
    if (registry === undefined) return;
    this.#registry = registry;
    await this.#putInForce(registry);
  }

  async refreshMeasurements(): Promise<void> {
    try {
      await this.#measured.refresh();
    } finally {
      const { measurements } = this.#measured;
      // Planning with new measurements then costs no request more than planning with the old ones.
      if (this.#catalog !== undefined)
        for (const _ of prepareRouting(this.#catalog, measurements)) await setImmediate();
      this.#measurements = measurements;
    }
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

import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import {
  bestOfBand,
  bindCatalog,
  type Catalog,
  extendsBuiltIn,
  isPenalized,
  isSwitchedOn,
  type Measurements,
  type MeasurementWindow,
  type Penalties,
  type PlanningContext,
  parseCatalog,
  prepareRouting,
  type RegistryPublic,
  type RouteStatus,
} from '@sotto/router';
import { readFileOrPart, type Task } from '@sotto/server';
import { type CatalogPort, type CatalogSnapshot, type HealthPort, MeasurementFollower } from '@sotto/state';
import { type Operation, ServiceError } from '@sotto/wire';
import type { ControlEvents } from '../events.ts';
import { builtInCatalogText } from './built-in-files.ts';

export interface CatalogKeeperDependencies {
  readonly state: CatalogPort & HealthPort;
  readonly file: string;
  readonly events: ControlEvents;
  readonly now: () => number;
}

/**
 * Keeps the catalog. It reads the operator’s file, rejects it as a whole if anything is wrong, and publishes it for the
 * brokers. It also holds the data that control plans with: registry, penalties and measurements.
 */
export class CatalogKeeper {
  readonly #deps: CatalogKeeperDependencies;
  #catalog: Catalog | undefined;
  /** The snapshot of `#catalog`, if this process published it. */
  #published: CatalogSnapshot | undefined;
  #registry: RegistryPublic | undefined;
  #penalties: Penalties = new Map();
  readonly #measured: MeasurementFollower;
  #measurements: Measurements = new Map();
  #text: string | undefined;
  #boundTo: string | undefined;
  /** How often `reload` was called. */
  #reloads = 0;
  #wake = (): void => {};

  constructor(deps: CatalogKeeperDependencies) {
    this.#deps = deps;
    this.#measured = new MeasurementFollower(deps.state, deps.now);
  }

  get catalog(): Catalog | undefined {
    return this.#catalog;
  }

  /** Returns the catalog. Throws `service_unavailable` before there is one. */
  requireCatalog(): Catalog {
    if (this.#catalog === undefined) throw new ServiceError('service_unavailable');
    return this.#catalog;
  }

  get registry(): RegistryPublic | undefined {
    return this.#registry;
  }

  /** Whether the brokers serve an operation. A ticket for an operation that they do not serve is worthless. */
  isServed(operation: Operation): boolean {
    const media = this.#registry?.media;
    return media === undefined || isSwitchedOn(media, operation);
  }

  status(): RouteStatus {
    const now = this.#deps.now();
    return { measurements: this.#measurements, penalized: (route) => isPenalized(this.#penalties, route, now) };
  }

  /** What requests with these preferences are planned with. Throws `service_unavailable` before there is a catalog. */
  planning(preferences: PlanningContext['preferences']): PlanningContext {
    return { catalog: this.requireCatalog(), preferences, status: this.status(), random: bestOfBand };
  }

  /** The measurements of all brokers in the last 24 hours. */
  get measured(): MeasurementWindow {
    return this.#measured.window;
  }

  /** Reads the file again (SIGHUP). */
  reload(): void {
    this.#reloads += 1;
    this.#text = undefined;
    this.wake();
  }

  /** Returns a task that calls `wake` when there is something to follow. */
  watch(wake: () => void): Task {
    const { start, stop } = this.#deps.state.watchPublished(wake);
    this.#wake = wake;
    return { start, stop: async () => stop() };
  }

  /** Follows soon, because the state lost what it had. */
  wake(): void {
    this.#wake();
  }

  /**
   * Binds the file to the registry that the brokers published. If either has changed, the result becomes the current
   * catalog.
   */
  async follow(): Promise<void> {
    const { state } = this.#deps;
    // Penalties come first, so that control does not plan with old ones if the catalog file cannot be read.
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
      // Prepares here, so that the first request after a refresh does not take longer than others.
      if (this.#catalog !== undefined)
        for (const _ of prepareRouting(this.#catalog, measurements)) await setImmediate();
      this.#measurements = measurements;
    }
  }

  async #putInForce(registry: RegistryPublic): Promise<void> {
    const { file, state, events, now } = this.#deps;
    const reloads = this.#reloads;
    const text = this.#text ?? (await readFileOrPart(file)).toString('utf8');
    const binding = JSON.stringify(registry);
    if (this.#text === text && this.#boundTo === binding && (await this.#isPublished())) return;
    const builtIn = extendsBuiltIn(text) ? builtInCatalogText() : undefined;
    const digest = createHash('sha256')
      .update(text)
      .update(builtIn ?? '')
      .digest('hex');
    const published = await state.readCatalog(0);
    const version = published?.digest === digest ? published.version : Math.max(now(), (published?.version ?? 0) + 1);
    const parsed = parseCatalog(text, registry, { version, digest }, builtIn);
    // A reload that came meanwhile wants the file read once more.
    if (reloads === this.#reloads) this.#text = text;
    this.#boundTo = binding;
    if (!parsed.ok) {
      events.catalogRefused(file, parsed.problems);
      // The state may have lost the current catalog, which brokers that start need.
      if (this.#published !== undefined) await state.publishCatalog(this.#published);
      // Keeps the current catalog, or takes the one that another control process published.
      if (this.#catalog === undefined && published !== undefined) {
        this.#catalog = bindCatalog(published.file, registry, published).catalog;
      }
      return;
    }
    this.#catalog = parsed.value.catalog;
    this.#published = { v: 1, version, digest, file: parsed.value.file };
    await state.publishCatalog(this.#published);
    events.catalogInForce({ file, digest: digest.slice(0, 12), models: parsed.value.catalog.models.size });
  }

  /** False if the state has lost the snapshot that this process published. */
  async #isPublished(): Promise<boolean> {
    const version = this.#catalog?.version;
    return version === undefined || ((await this.#deps.state.catalogVersion()) ?? 0) >= version;
  }
}

import { setImmediate } from 'node:timers/promises';
import {
  type AttemptOutcome,
  bindCatalog,
  type Catalog,
  type DroppedRoute,
  expectedTokensPerSecond,
  isPenalized,
  type Measurements,
  type Penalties,
  type Penalty,
  penaltyKey,
  penaltyRules,
  prepareRouting,
  type RegistryPublic,
  type Route,
  type RouteStatus,
  strike,
} from '@sotto/router';
import type { CatalogPort, HealthPort } from '@sotto/state';
import type { MeasurementLog } from './measurement-log.ts';

export interface SharedViewDependencies {
  readonly state: Pick<CatalogPort, 'readCatalog'> & HealthPort;
  readonly registry: RegistryPublic;
  readonly measurements: MeasurementLog;
  readonly now: () => number;
  readonly onDropped: (routes: readonly DroppedRoute[]) => void;
}

/** The broker's data for planning, in memory: the catalog bound to its own registry, penalties and measurements. */
export class SharedView {
  readonly #deps: SharedViewDependencies;
  #registry: RegistryPublic;
  #catalog: Catalog | undefined;
  /** Whether the catalog is bound to an earlier registry. */
  #isStale = false;
  #penalties: Penalties = new Map();
  #measurements: Measurements = new Map();
  #preparedFor: Catalog | undefined;

  constructor(deps: SharedViewDependencies) {
    this.#deps = deps;
    this.#registry = deps.registry;
  }

  /** The registry that the catalog is bound to. */
  get registry(): RegistryPublic {
    return this.#registry;
  }

  /** Takes another registry. The next refresh binds the catalog to it; until then the planned routes are those of before. */
  takeRegistry(registry: RegistryPublic): void {
    this.#registry = registry;
    this.#isStale = true;
  }

  get catalog(): Catalog | undefined {
    return this.#catalog;
  }

  /** Returns the health of routes at this moment. */
  status(): RouteStatus {
    const now = this.#deps.now();
    return {
      measurements: this.#measurements,
      penalized: (route) => isPenalized(this.#penalties, route, now),
    };
  }

  /** Estimates the output tokens that a route produces in a time without visible output. */
  outputIn({ id }: Route, silentMs: number): number {
    return Math.round((expectedTokensPerSecond(this.#measurements, id) * silentMs) / 1000);
  }

  /** How many routes and providers are demoted at this moment. */
  get penaltyCount(): number {
    const now = this.#deps.now();
    let count = 0;
    for (const { expiresAt } of this.#penalties.values()) if (expiresAt > now) count += 1;
    return count;
  }

  /** Takes a newer catalog, never an older one, and the penalties that other brokers gave. */
  async refresh(): Promise<void> {
    try {
      await this.#read();
    } finally {
      // Measurements age even if the state is unavailable.
      await this.#prepare();
    }
  }

  async #read(): Promise<void> {
    const { state, onDropped } = this.#deps;
    const registry = this.#registry;
    const snapshot = await state.readCatalog(this.#isStale ? 0 : (this.#catalog?.version ?? 0));
    if (snapshot !== undefined) {
      if (registry === this.#registry) this.#isStale = false;
      const { version, digest, file } = snapshot;
      const { catalog, dropped } = bindCatalog(file, registry, { version, digest });
      this.#catalog = catalog;
      if (dropped.length > 0) onDropped(dropped);
    }
    this.#penalties = this.#withOwn(await state.readPenalties());
  }

  /** Takes new measurements once they are prepared, so that they make no request slower to plan. */
  async #prepare(): Promise<void> {
    const { measurements } = this.#deps.measurements;
    if (this.#catalog === undefined || (measurements === this.#measurements && this.#preparedFor === this.#catalog))
      return;
    for (const _ of prepareRouting(this.#catalog, measurements)) await setImmediate();
    this.#measurements = measurements;
    this.#preparedFor = this.#catalog;
  }

  /**
   * Merges the shared penalties with newer ones of this broker. Those are still on their way, or were given while the
   * state was unavailable.
   */
  #withOwn(shared: Penalties): Penalties {
    const now = this.#deps.now();
    const [oldest, latest] = [now - penaltyRules.resetMs, now + penaltyRules.resetMs];
    const own = [...this.#penalties].filter(
      ([key, { lastStrikeAt }]) => lastStrikeAt > (shared.get(key)?.lastStrikeAt ?? oldest) && lastStrikeAt < latest,
    );
    return own.length === 0 ? shared : new Map([...shared, ...own]);
  }

  /** Punishes a route, or its provider, for a failed attempt: here at once, for the other brokers in the background. */
  punish(outcome: AttemptOutcome, route: Route, startedAt: number): void {
    const key = penaltyKey(outcome, route);
    if (key === undefined) return;
    const now = this.#deps.now();
    const next = (current: Penalty | undefined): Penalty => strike(current, { kind: outcome, startedAt, now });
    this.#penalties = new Map(this.#penalties).set(key, next(this.#penalties.get(key)));
    // If the state is unavailable, the penalty stays local. Health is advice and never a reason to fail a request.
    this.#deps.state.updatePenalty(key, next).catch(() => {});
  }
}

import {
  catalogModel,
  type ModelNames,
  type ModelRule,
  type Models,
  type OfferedModel,
  readOfferedModels,
} from '@sotto/dialects';
import { askForModels, type Exchange } from '../private/private-exchange.ts';

export interface ModelCatalogOptions {
  readonly exchange: Exchange;
  readonly rules: readonly ModelRule[];
  readonly fallback: string | undefined;
  readonly now: () => number;
}

/** Time in ms after which the list is read again. */
const freshMs = 5 * 60_000;
/** Time in ms before a list that could not be read is asked for again. */
const retryMs = 5_000;

/** The service's models, read from the control origin when a dialect first needs them. */
export class ModelCatalog {
  readonly #options: ModelCatalogOptions;
  #models: ReadonlyMap<string, OfferedModel> = new Map();
  #isRead = false;
  #askAgainAt = 0;
  #reading: Promise<void> | undefined;

  constructor(options: ModelCatalogOptions) {
    this.#options = options;
  }

  /** Resolves when the list was read or could not be read. A list that is known but old is read in the background. */
  async ready(): Promise<void> {
    if (this.#options.now() >= this.#askAgainAt) this.#reading ??= this.#read();
    if (!this.#isRead) await this.#reading;
  }

  /** The models in the order of the service. Empty if they could not be read. */
  get list(): readonly OfferedModel[] {
    return [...this.#models.values()];
  }

  get models(): Models {
    const { rules, fallback } = this.#options;
    const names: ModelNames = { rules, fallback, isKnown: (id) => this.#models.has(id) };
    return { resolve: (name) => catalogModel(name, names), find: (id) => this.#models.get(id) };
  }

  async #read(): Promise<void> {
    const { exchange, now } = this.#options;
    try {
      const answer = await askForModels(exchange);
      const listed: unknown = await answer.toResponse().json();
      if (answer.status !== 200) throw new Error('no list');
      this.#models = new Map(readOfferedModels(listed).map((model) => [model.id, model]));
      this.#isRead = true;
      this.#askAgainAt = now() + freshMs;
    } catch {
      // The request that needs the list goes on without it: the service says what is wrong with it.
      this.#askAgainAt = now() + retryMs;
    } finally {
      this.#reading = undefined;
    }
  }
}

import {
  catalogModel,
  type ModelNames,
  type ModelRule,
  type Models,
  type OfferedModel,
  readOfferedModels,
} from '@sotto/dialects';
import { Fresh } from '../fresh.ts';
import { askForModels, type Exchange } from '../private/private-exchange.ts';

export interface ModelCatalogOptions {
  readonly exchange: Exchange;
  readonly rules: readonly ModelRule[];
  readonly fallback: string | undefined;
  readonly now: () => number;
}

/** The service's models, read from the control origin when a dialect first needs them. */
export class ModelCatalog {
  readonly #options: ModelCatalogOptions;
  readonly #models: Fresh<ReadonlyMap<string, OfferedModel>>;

  constructor(options: ModelCatalogOptions) {
    this.#options = options;
    const { exchange, now } = options;
    const read = async (): Promise<ReadonlyMap<string, OfferedModel>> => {
      const { list } = await askForModels(exchange);
      if (list === undefined) throw new Error('no list');
      return new Map(readOfferedModels(list).map((model) => [model.id, model]));
    };
    this.#models = new Fresh({ read, now, freshMs: 5 * 60_000, retryMs: 5_000 });
  }

  /** Resolves when the list was read or could not be read. A list that is known but old is read in the background. */
  async ready(): Promise<void> {
    // A request that needs the list goes on without it: the service says what is wrong with it.
    const reading = this.#models.read().catch(() => undefined);
    if (this.#models.known === undefined) await reading;
  }

  /** The models in the order of the service. Empty if they could not be read. */
  get list(): readonly OfferedModel[] {
    return [...(this.#models.known?.values() ?? [])];
  }

  get models(): Models {
    const { rules, fallback } = this.#options;
    const find = (id: string): OfferedModel | undefined => this.#models.known?.get(id);
    const names: ModelNames = { rules, fallback, isKnown: (id) => find(id) !== undefined };
    return { resolve: (name) => catalogModel(name, names), find };
  }
}

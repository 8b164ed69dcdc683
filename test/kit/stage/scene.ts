import type { ProviderHandler, SeenRequest } from '../provider.ts';

/** Controls and records the providers of one model, independent of all others, for tests that run at the same time. */
export class Scene {
  readonly model: string;
  /** Ids of the providers that were asked for this model, in order. */
  readonly called: string[] = [];
  readonly #usual: (provider: string) => ProviderHandler;
  readonly #handlers = new Map<string, ProviderHandler>();
  readonly #seen = new Map<string, SeenRequest[]>();

  constructor(model: string, usual: (provider: string) => ProviderHandler) {
    this.model = model;
    this.#usual = usual;
  }

  on(provider: string, handler: ProviderHandler): void {
    this.#handlers.set(provider, handler);
  }

  /** The requests that a provider received for this model. The list grows with them. */
  seen(provider: string): readonly SeenRequest[] {
    return this.#listOf(provider);
  }

  /** Restores the usual answers of every provider and clears the recorded requests. */
  reset(): void {
    this.#handlers.clear();
    this.#seen.clear();
    this.called.length = 0;
  }

  answer(provider: string, ...[request, response]: Parameters<ProviderHandler>): void | Promise<void> {
    this.called.push(provider);
    this.#listOf(provider).push(request);
    return (this.#handlers.get(provider) ?? this.#usual(provider))(request, response);
  }

  #listOf(provider: string): SeenRequest[] {
    const list = this.#seen.get(provider) ?? [];
    this.#seen.set(provider, list);
    return list;
  }
}

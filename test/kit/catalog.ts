/**
 * Builds PROVIDERS_FILE and CATALOG_FILE. Each entry has the fields that most tests need; `more` adds or replaces
 * fields.
 */

export const providerEntry = (id: string, baseUrl: string | undefined, more: object = {}) => ({
  id,
  name: id,
  adapter: 'openai',
  base_url: baseUrl,
  privacy_class: 'private',
  ...more,
});

/** USD per million tokens, or per unit of the model's output. */
export type Prices = Readonly<Record<string, unknown>>;

export const routeEntry = (provider: string, pricing: Prices = { input: 1, output: 2 }, more: object = {}) => ({
  provider,
  upstream_model: 'own',
  privacy_class: 'private',
  pricing,
  ...more,
});

export const textModel = (id: string, routes: readonly object[], more: object = {}) => ({
  id,
  model_type: 'text',
  context_length: 8000,
  max_output_tokens: 1000,
  routes,
  ...more,
});

export interface CatalogFiles {
  readonly registry: string;
  readonly catalog: string;
}

/** Returns the text of both files. JSON is valid YAML. */
export const filesOf = (providers: readonly object[], models: readonly object[]): CatalogFiles => ({
  registry: JSON.stringify({ providers }),
  catalog: JSON.stringify({ models }),
});

/** One provider, `alpha`, with one model, `m/one`. */
export const oneModel = ({ baseUrl }: { readonly baseUrl: string }): CatalogFiles =>
  filesOf([providerEntry('alpha', baseUrl)], [textModel('m/one', [routeEntry('alpha')])]);

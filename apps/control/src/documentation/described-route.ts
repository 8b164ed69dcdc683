/** An OpenAPI document, as far as it is read here. */
export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components?: Readonly<Record<string, unknown>>;
}

/** The routes of a document, as `METHOD /path`, with their summaries. */
export const routesOf = ({ paths }: ApiDocument): readonly { readonly route: string; readonly summary: string }[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) => {
      const { summary } = (operation ?? {}) as { readonly summary?: unknown };
      return typeof summary === 'string' ? [{ route: `${method.toUpperCase()} ${path}`, summary }] : [];
    }),
  );

/** One route of a document with all components that it refers to. Undefined if the document does not have it. */
export function describedRoute(document: ApiDocument, route: string): object | undefined {
  const [method = '', path = ''] = route.split(' ');
  const operation = document.paths[path]?.[method.toLowerCase()];
  if (operation === undefined) return undefined;
  const components: Record<string, Record<string, unknown>> = {};
  const take = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [key, below] of Object.entries(value)) {
      const [, kind, name] =
        key === '$ref' && typeof below === 'string' ? (/^#\/components\/([^/]+)\/(.+)$/.exec(below) ?? []) : [];
      if (kind === undefined || name === undefined) {
        take(below);
        continue;
      }
      const known = components[kind] ?? {};
      if (Object.hasOwn(known, name)) continue;
      const component = (document.components?.[kind] as Readonly<Record<string, unknown>> | undefined)?.[name];
      components[kind] = { ...known, [name]: component };
      take(component);
    }
  };
  take(operation);
  return { paths: { [path]: { [method.toLowerCase()]: operation } }, components };
}

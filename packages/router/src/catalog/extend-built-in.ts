import { asObjects, isObject, type JsonObject } from '@sotto/wire';
import { type Rewritten, readYaml } from '@sotto/yaml';

/** Which routes of the built-in catalog a file takes over: those whose provider the registry has. */
export interface BuiltIn {
  /** The text of the built-in file. */
  readonly text: string;
  readonly providers?: ReadonlySet<string> | undefined;
}

/** Whether a file extends the built-in one, so that its meaning depends on both. */
export const extendsBuiltIn = (text: string): boolean => /^\s*extends:\s*['"]?built_in\b/m.test(text);

/**
 * Adds the models of the built-in catalog to a file with `extends: built_in`. A model or route that both have is the built-in one with
 * the fields of the file. Pure.
 */
export const extendCatalog = (builtIn: BuiltIn | undefined) => (value: unknown) =>
  extend(value, 'models', builtIn, (items, own) => {
    const named = new Map(own.filter(isObject).map((model) => [model.id, model]));
    const kept = items.flatMap((model): JsonObject[] => {
      const ownProviders = new Set(itemsOf(named.get(model.id)?.routes).map(({ provider }) => provider));
      const routes = itemsOf(model.routes).filter(
        ({ provider }) =>
          builtIn?.providers === undefined || builtIn.providers.has(String(provider)) || ownProviders.has(provider),
      );
      return routes.length > 0 || named.has(model.id) ? [{ ...model, routes }] : [];
    });
    const routesFrom: Merged['from'][] = [];
    const merged = mergeById(kept, own, 'id', (model, changes, at) => {
      if (!Array.isArray(changes.routes)) return { ...model, ...changes };
      const routes = mergeById(itemsOf(model.routes), changes.routes, 'provider', (route, fields) => ({
        ...route,
        ...fields,
      }));
      routesFrom[at] = routes.from;
      return { ...model, ...changes, routes: routes.items };
    });
    return { ...merged, nested: ['routes', (at: number) => routesFrom[at]] as const };
  });

/** The same for a provider registry. A file that names the keys of a provider replaces all of them. */
export const extendRegistry = (builtIn: BuiltIn | undefined) => (value: unknown) =>
  extend(value, 'providers', builtIn, (items, own) =>
    mergeById(items, own, 'id', ({ api_key_env, ...provider }, changes) => ({
      ...(changes.api_keys === undefined ? { api_key_env } : {}),
      ...provider,
      ...changes,
    })),
  );

interface Merged {
  readonly items: readonly unknown[];
  /** The index in the file of each item. Undefined: the built-in file alone has it. */
  readonly from: readonly (number | undefined)[];
  readonly nested?: readonly [key: string, from: (at: number) => Merged['from'] | undefined];
}

function extend(
  value: unknown,
  list: string,
  builtIn: BuiltIn | undefined,
  merge: (builtIn: readonly JsonObject[], own: readonly unknown[]) => Merged,
): Rewritten {
  const read = builtIn === undefined ? undefined : readYaml(builtIn.text);
  if (!isObject(value) || value.extends !== 'built_in' || read?.ok !== true || !isObject(read.value.value)) {
    return { value, originOf: (path) => path };
  }
  const { extends: _, [list]: own = [], ...fields } = value;
  if (!Array.isArray(own)) return { value, originOf: (path) => path };
  const { items, from, nested } = merge(itemsOf(read.value.value[list]), own);
  return {
    value: { ...fields, [list]: items },
    originOf: ([key, at, inner, innerAt, ...rest]) => {
      if (key !== list || typeof at !== 'number')
        return [key, at, inner, innerAt, ...rest].filter((each) => each !== undefined);
      const place = from[at];
      if (place === undefined) return ['extends'];
      const path = [list, place, ...(inner === undefined ? [] : [inner])];
      if (innerAt === undefined) return path;
      const places = inner === nested?.[0] && typeof innerAt === 'number' ? nested?.[1](at) : undefined;
      return [...path, places === undefined ? innerAt : (places[Number(innerAt)] ?? Number.NaN), ...rest];
    },
  };
}

function mergeById(
  base: readonly JsonObject[],
  own: readonly unknown[],
  id: string,
  merge: (base: JsonObject, own: JsonObject, at: number) => JsonObject,
): Merged {
  const items: unknown[] = [...base];
  const from: (number | undefined)[] = base.map(() => undefined);
  const places = new Map(base.map((item, at) => [item[id], at]));
  for (const [at, item] of own.entries()) {
    const place = isObject(item) ? places.get(item[id]) : undefined;
    const known = place === undefined ? undefined : base[place];
    // An item that the file has twice stays twice, so that the check reports it.
    if (place === undefined || known === undefined || from[place] !== undefined || !isObject(item)) {
      items.push(item);
      from.push(at);
      continue;
    }
    items[place] = merge(known, item, place);
    from[place] = at;
  }
  return { items, from };
}

const itemsOf = (value: unknown): readonly JsonObject[] => asObjects(value) ?? [];

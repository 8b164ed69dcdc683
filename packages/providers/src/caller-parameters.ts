import { asObject } from './json.ts';

/**
 * The API's own parameters that a caller may set. `true` accepts any value; otherwise these are the fields of an
 * object.
 */
export interface CallerParameters {
  readonly [name: string]: true | CallerParameters;
}

/**
 * Returns the path of the first parameter that an API does not accept, such as `['generationConfig', 'seed']`, or
 * undefined.
 */
export function refusedParameter(
  given: Readonly<Record<string, unknown>>,
  taken: CallerParameters,
): readonly string[] | undefined {
  for (const name in given) {
    const inside = Object.hasOwn(taken, name) ? taken[name] : undefined;
    if (inside === true) continue;
    if (inside === undefined) return [name];
    const value = asObject(given[name]);
    if (value === undefined) return [name];
    const refused = refusedParameter(value, inside);
    if (refused !== undefined) return [name, ...refused];
  }
  return undefined;
}

/** Returns the paths of all accepted parameters, such as `generationConfig.topK`, sorted. */
export const parameterPaths = (taken: CallerParameters): readonly string[] =>
  Object.entries(taken)
    .flatMap(([name, inside]) => (inside === true ? [name] : parameterPaths(inside).map((path) => `${name}.${path}`)))
    .sort();

/** Parameters of its own that an API takes from a caller: `true` takes any value, else the fields of an object. */
export interface CallerParameters {
  readonly [name: string]: true | CallerParameters;
}

/** The path of the first parameter that an API does not take, such as `['generationConfig', 'seed']`; undefined: none. */
export function refusedParameter(
  given: Readonly<Record<string, unknown>>,
  taken: CallerParameters,
): readonly string[] | undefined {
  for (const name in given) {
    const inside = Object.hasOwn(taken, name) ? taken[name] : undefined;
    if (inside === true) continue;
    if (inside === undefined) return [name];
    const value = given[name];
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return [name];
    const refused = refusedParameter(value as Record<string, unknown>, inside);
    if (refused !== undefined) return [name, ...refused];
  }
  return undefined;
}

/** The paths of all parameters that an API takes, such as `generationConfig.topK`, in the order of the alphabet. */
export const parameterPaths = (taken: CallerParameters): readonly string[] =>
  Object.entries(taken)
    .flatMap(([name, inside]) => (inside === true ? [name] : parameterPaths(inside).map((path) => `${name}.${path}`)))
    .sort();

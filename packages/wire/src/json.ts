/** Parses JSON. Returns undefined if it is invalid. It drops the parser's message, which quotes the input. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** An object of another party's JSON. The functions below return a value of the expected type, or undefined. */
export type JsonObject = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const asObject = (value: unknown): JsonObject | undefined => (isObject(value) ? value : undefined);

export const asArray = (value: unknown): readonly unknown[] | undefined => (Array.isArray(value) ? value : undefined);

export const asString = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

export const asNumber = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

/** Returns the objects of a list. Undefined for anything else than a list. */
export const asObjects = (value: unknown): readonly JsonObject[] | undefined => asArray(value)?.filter(isObject);

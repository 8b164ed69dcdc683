import { asArray, asObject, type JsonObject, parseExactJson, unboundedExactness } from '@sotto/wire';

export { asArray, asObject, asString, type JsonObject, parseJson } from '@sotto/wire';

/** Parses JSON that is written again, with all digits and in its order. Returns undefined if it is invalid. */
export const parseExact = (text: string): unknown => parseExactJson(text, unboundedExactness);

export const asNumber = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

/** Returns the objects of a list. Undefined for anything else than a list. */
export const asObjects = (value: unknown): readonly JsonObject[] | undefined =>
  asArray(value)?.flatMap((entry): JsonObject[] => {
    const object = asObject(entry);
    return object === undefined ? [] : [object];
  });

import { asArray, asObject, type JsonObject } from '@sotto/wire';

export { asArray, asObject, asString, type JsonObject, parseJson } from '@sotto/wire';

export const asNumber = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

/** Returns the objects of a list. Undefined for anything else than a list. */
export const asObjects = (value: unknown): readonly JsonObject[] | undefined =>
  asArray(value)?.flatMap((entry): JsonObject[] => {
    const object = asObject(entry);
    return object === undefined ? [] : [object];
  });

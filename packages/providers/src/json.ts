import { asObject, type JsonObject, parseJson } from '@sotto/wire';

export { asArray, asObject, asString, type JsonObject } from '@sotto/wire';

export const asCount = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;

/** Returns the JSON object that a body holds. Undefined for any other body. */
export const objectIn = (body: Buffer): JsonObject | undefined => asObject(parseJson(body.toString('utf8')));

declare global {
  interface JSON {
    /** Wraps text that `JSON.stringify` writes unchanged (ECMA-262, JSON.rawJSON). */
    rawJSON(text: string): object;
  }
}

/** Returns an integer for a JSON body. One beyond 53 bits keeps its digits. `null` means absent. */
export const jsonInteger = (value: number | bigint | null | undefined): number | object | undefined =>
  typeof value === 'bigint' ? JSON.rawJSON(String(value)) : (value ?? undefined);

/** An object of another party's JSON. The functions below return a value of the expected type, or undefined. */
export type JsonObject = Readonly<Record<string, unknown>>;

export const asObject = (value: unknown): JsonObject | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;

export const asArray = (value: unknown): readonly unknown[] | undefined => (Array.isArray(value) ? value : undefined);

export const asString = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

export const asCount = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;

declare global {
  interface JSON {
    /** Wraps text that `JSON.stringify` writes unchanged (ECMA-262, JSON.rawJSON). */
    rawJSON(text: string): object;
  }
}

/** Returns an integer for a JSON body. One beyond 53 bits keeps its digits. `null` means absent. */
export const jsonInteger = (value: number | bigint | null | undefined): number | object | undefined =>
  typeof value === 'bigint' ? JSON.rawJSON(String(value)) : (value ?? undefined);

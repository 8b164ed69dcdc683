declare global {
  interface JSON {
    /** Text that `JSON.stringify` writes as it is (ECMA-262, JSON.rawJSON). */
    rawJSON(text: string): object;
  }
}

/** An integer for a JSON body; one beyond 53 bits keeps its digits. `null` means absent. */
export const jsonInteger = (value: number | bigint | null | undefined): number | object | undefined =>
  typeof value === 'bigint' ? JSON.rawJSON(String(value)) : (value ?? undefined);

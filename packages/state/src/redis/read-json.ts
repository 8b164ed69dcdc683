import type { z } from 'zod';

/** Reads a stored record; undefined where it is not one. A parser's error would quote it. */
export function readJson<T>(text: unknown, schema: z.ZodType<T>): T | undefined {
  if (typeof text !== 'string') return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  return schema.safeParse(value).data;
}

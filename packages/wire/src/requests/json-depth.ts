import * as z from 'zod';

/** The deepest nesting a free-form JSON value of a request may have: what we parse we must be able to write again. */
export const maxJsonDepth = 64;

/** Whether a JSON value nests at most `limit` levels. Iterative: hostile depth must not use up the stack. */
export function isJsonWithinDepth(value: unknown, limit: number = maxJsonDepth): boolean {
  const stack: { value: unknown; depth: number }[] = [{ value, depth: 1 }];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    if (typeof next.value !== 'object' || next.value === null) continue;
    if (next.depth > limit) return false;
    for (const child of Object.values(next.value)) {
      if (typeof child === 'object' && child !== null) stack.push({ value: child, depth: next.depth + 1 });
    }
  }
  return true;
}

/** A JSON object whose inside is the caller's own (a JSON schema, provider parameters), bounded in depth. */
export const jsonObjectSchema = z
  .record(z.string(), z.unknown())
  .refine((value) => isJsonWithinDepth(value), { message: `must not nest deeper than ${maxJsonDepth} levels` });

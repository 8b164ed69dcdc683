import * as z from 'zod';

/** The deepest nesting of a free-form JSON value in a request: the broker must be able to write what it parsed. */
export const maxJsonDepth = 64;

/** Whether a JSON value nests at most `limit` levels. It goes level by level, because recursion would use up the stack. */
export function isJsonWithinDepth(value: unknown, limit: number = maxJsonDepth): boolean {
  let level = [value].filter(isContainer);
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > limit) return false;
    const below: object[] = [];
    for (const container of level) addChildren(container, below);
    level = below;
  }
  return true;
}

function addChildren(container: object, below: object[]): void {
  if (Array.isArray(container)) {
    for (const child of container) if (isContainer(child)) below.push(child);
    return;
  }
  const object = container as Record<string, unknown>;
  // A loop over the names of a large object takes a quarter of the time of `Object.values`.
  for (const name in object) {
    const child = object[name];
    if (isContainer(child)) below.push(child);
  }
}

const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null;

/**
 * A JSON object with content of the caller's own, such as a JSON schema, bounded in depth. It stays the object it is:
 * `z.record` would copy it name by name, which takes longer than to parse it.
 */
export const jsonObjectSchema = z
  .custom<Record<string, unknown>>((value) => isContainer(value) && !Array.isArray(value), {
    error: 'must be an object',
    abort: true,
  })
  .refine((value) => isJsonWithinDepth(value), { error: `must not nest deeper than ${maxJsonDepth} levels` })
  .meta({ type: 'object', additionalProperties: {} });

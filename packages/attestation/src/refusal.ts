import type * as z from 'zod';

/**
 * The reason why a check did not pass. Thrown only inside this package, to stop reading evidence. A `CheckList` turns
 * it into an outcome, so public functions never throw it. The message quotes only names, numbers and digests from
 * evidence.
 */
export class Refusal extends Error {
  override readonly name: string = 'Refusal';
}

/** The check could not be made with the given input. It is not a pass, but does not prove a fault either. */
export class Unmade extends Refusal {
  override readonly name = 'Unmade';
}

/** Parses JSON text. Undefined if it is not JSON. Drops the parser's message, which quotes the text. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Parses JSON text of evidence. Throws a `Refusal` that says what is not JSON. */
export function parseJson(text: string, what: string): unknown {
  const value = jsonOf(text);
  if (value === undefined) throw new Refusal(`${what} is not JSON`);
  return value;
}

/** Reads a value with a schema. Throws a `Refusal` with this reason if it does not fit. */
export function readOrRefuse<T>(schema: z.ZodType<T>, value: unknown, reason: string): T {
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw new Refusal(reason);
  return parsed.data;
}

/** Reads a value with a schema. Throws a `Refusal` that says what is malformed, and where: `what` ends in the verb. */
export function readAs<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const place = (parsed.error.issues[0]?.path ?? []).map(String).join('.').slice(0, 128);
  throw new Refusal(`${what} malformed${place === '' ? '' : ` at ${place}`}`);
}

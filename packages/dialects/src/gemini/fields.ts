import { unreadable } from '../chat-body.ts';
import type { JsonObject } from '../json.ts';

/** Returns a field by its name in camel case, or by the same name in snake case: Google's API takes both. */
export const field = (object: JsonObject | undefined, name: string): unknown =>
  object?.[name] ?? object?.[name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)];

/** Throws `invalid_request` for a field whose wish cannot be met, with what would be right. */
export function refuse(param: string, why: string): never {
  throw unreadable(`\`${param}\` ${why}`, param);
}

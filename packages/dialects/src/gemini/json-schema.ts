import { asObject, asObjects, asString, type JsonObject } from '../json.ts';

/** Fields of Google's schemas that no JSON Schema has. */
const own = new Set(['nullable', 'propertyOrdering', 'property_ordering']);
/** Limits, which Google's clients may write as strings. */
const limits = /^(?:min|max)_?(?:Items|Length|Properties|items|length|properties)$/;

/**
 * Writes a schema of Google's API as a JSON Schema. Its types have names in capitals, a flag says that null is allowed, and
 * limits are strings.
 *
 * @see https://ai.google.dev/api/caching#Schema
 */
export function jsonSchema(schema: JsonObject): JsonObject {
  const entries = Object.entries(schema).filter(([name]) => !own.has(name));
  return Object.fromEntries(entries.map(([name, value]) => written(name, value, schema.nullable === true)));
}

function written(name: string, value: unknown, nullable: boolean): readonly [string, unknown] {
  if (name === 'type') {
    const type = asString(value)?.toLowerCase();
    return [name, nullable ? [type, 'null'] : type];
  }
  if (name === 'properties') {
    const properties = Object.entries(asObject(value) ?? {});
    return [name, Object.fromEntries(properties.map(([key, each]) => [key, jsonSchema(asObject(each) ?? {})]))];
  }
  if (name === 'items') return [name, jsonSchema(asObject(value) ?? {})];
  if (name === 'anyOf' || name === 'any_of') return ['anyOf', (asObjects(value) ?? []).map(jsonSchema)];
  if (!limits.test(name)) return [name, value];
  const camel = name.replace(/_([a-z])/, (_, letter: string) => letter.toUpperCase());
  return [camel, typeof value === 'string' ? Number(value) : value];
}

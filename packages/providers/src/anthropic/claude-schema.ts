import { asArray, asObject, type JsonObject } from '../json.ts';

/** Keywords that the schema of an answer may have; others are refused with a 400. */
const kept = new Set(['$ref', '$schema', '$id', 'title', 'description', 'default', 'const', 'enum', 'type', 'format']);
const keptLists = new Set(['anyOf', 'allOf']);
const keptMaps = new Set(['properties', '$defs', 'definitions']);

/**
 * A JSON schema as far as Claude's constrained decoding takes it: bounds and patterns, which it refuses, are left out,
 * objects are closed, as it demands, and `oneOf` becomes `anyOf`. The answer may be looser than the schema in what was
 * left out.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations
 */
export function claudeSchema(schema: JsonObject): JsonObject {
  const result: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(schema)) {
    if (kept.has(name)) result[name] = value;
    else if (name === 'required') result.required = asArray(value);
    else if (keptLists.has(name) || name === 'oneOf')
      result[name === 'oneOf' ? 'anyOf' : name] = asArray(value)?.map(sub);
    else if (keptMaps.has(name)) result[name] = mapValues(asObject(value) ?? {});
    else if (name === 'items') result.items = sub(value);
  }
  if (result.type === 'object' || result.properties !== undefined) result.additionalProperties = false;
  return result;
}

/** A schema inside a schema: an object, or `true` and `false`. */
function sub(value: unknown): unknown {
  const object = asObject(value);
  return object === undefined ? value : claudeSchema(object);
}

const mapValues = (map: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(map).map(([name, value]) => [name, sub(value)]));

import { inOrder } from '@sotto/wire';
import { asArray, asObject, type JsonObject } from '../json.ts';

/** The keywords and formats that such a schema may have. The API refuses others with a 400. */
const kept = new Set(['$ref', '$schema', '$id', 'title', 'description', 'default', 'const', 'enum', 'type']);
const formats = new Set<unknown>('date-time time date duration email hostname uri ipv4 ipv6 uuid'.split(' '));
const keptLists = new Set(['anyOf', 'allOf']);
const keptMaps = new Set(['properties', '$defs', 'definitions']);

/**
 * Reduces a JSON schema to the part that Claude's constrained decoding accepts, in answers and in strict tools. It drops
 * bounds, patterns and most formats, closes objects, and turns `oneOf` into `anyOf`. The output may violate the dropped
 * parts.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations
 */
export function claudeSchema(schema: JsonObject): JsonObject {
  const result: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(schema)) {
    if (kept.has(name) || (name === 'format' && formats.has(value))) result[name] = value;
    else if (name === 'required') result.required = asArray(value);
    else if (keptLists.has(name) || name === 'oneOf')
      result[name === 'oneOf' ? 'anyOf' : name] = asArray(value)?.map(sub);
    else if (keptMaps.has(name)) result[name] = mapValues(asObject(value) ?? {});
    else if (name === 'items') result.items = sub(value);
  }
  if (result.type === 'object' || result.properties !== undefined) result.additionalProperties = false;
  return result;
}

/** Converts a nested schema: an object, or `true` and `false`. */
function sub(value: unknown): unknown {
  const object = asObject(value);
  return object === undefined ? value : claudeSchema(object);
}

const mapValues = (map: JsonObject): JsonObject =>
  inOrder(new Map(Object.entries(map).map(([name, value]) => [name, sub(value)])));

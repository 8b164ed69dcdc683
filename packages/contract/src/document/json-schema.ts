import * as z from 'zod';
import type { JsonSchema, OriginDescription } from '../route.ts';

type Direction = 'input' | 'output';
type Mutable = Record<string, unknown>;

export const refOf = (name: string): string => `#/components/schemas/${name}`;

/**
 * Converts named schemas to JSON schemas that refer to each other by `#/components/schemas/`. Uses their input form. The output
 * form of answers is the same, because their schemas transform nothing.
 */
export function namedJsonSchemas(schemas: ReadonlyMap<string, z.ZodType>): Record<string, JsonSchema> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of schemas) registry.add(schema, { id });
  const made = z.toJSONSchema(registry, { ...options('input'), uri: refOf }).schemas;
  return Object.fromEntries(Object.entries(made).map(([name, schema]) => [name, withoutIds(schema)]));
}

/** The JSON schema of each parameter of a query, and whether it is required. */
export function queryJsonSchemas(query: z.ZodObject): { name: string; required: boolean; schema: JsonSchema }[] {
  const taken = withoutIds(z.toJSONSchema(query, options('input')));
  const read = withoutIds(z.toJSONSchema(query, options('output')));
  const required = Array.isArray(taken.required) ? taken.required : [];
  return Object.entries(propertiesOf(taken)).map(([name, schema]) => ({
    name,
    required: required.includes(name),
    // The bounds of a number that is read from text are on the output side.
    schema: schema.type === 'number' ? (propertiesOf(read)[name] ?? schema) : schema,
  }));
}

/** The schemas of an object's fields by name. Empty without fields. */
export const propertiesOf = (schema: JsonSchema): Record<string, JsonSchema> =>
  (schema.properties ?? {}) as Record<string, JsonSchema>;

const options = (io: Direction) =>
  ({
    io,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodTypes; jsonSchema: Mutable }) => {
      const { def } = zodSchema._zod;
      // Fields that are refused with their own message.
      if (def.type === 'undefined') jsonSchema.not = {};
      // Only strict objects exclude additional properties.
      if (def.type === 'object' && def.catchall === undefined) delete jsonSchema.additionalProperties;
      // OpenAPI 3.1 and JSON schema have a keyword for this instead of a format.
      if (jsonSchema.format === 'base64') {
        delete jsonSchema.format;
        jsonSchema.contentEncoding = 'base64';
      }
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    },
  }) as const;

function withoutIds({ $id: _id, $schema: _schema, '~standard': _standard, ...schema }: JsonSchema): JsonSchema {
  return schema;
}

/**
 * Moves each part that has a `title` into a schema of that name, so that generated clients have a name for it. Parts with the same title
 * must be the same.
 */
export function withNamedParts(schemas: Readonly<Record<string, JsonSchema>>): Record<string, JsonSchema> {
  const named: Record<string, JsonSchema> = {};
  const moved = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(moved);
    if (typeof value !== 'object' || value === null) return value;
    const { title, ...part } = value as JsonSchema;
    const inner = Object.fromEntries(Object.entries(part).map(([name, each]) => [name, moved(each)]));
    if (typeof title !== 'string') return title === undefined ? inner : { title: moved(title), ...inner };
    const known = named[title] ?? inner;
    if (title in schemas || JSON.stringify(known) !== JSON.stringify(inner))
      throw new Error(`two schemas would be called ${title} in the document`);
    named[title] = known;
    return { $ref: refOf(title) };
  };
  const outer = Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, moved(schema) as JsonSchema]),
  );
  return { ...outer, ...named };
}

const ending = /(?:Answer)?Schema$/;

/**
 * The schemas that modules export, by their names in the document. Names follow the exports: `createKeySchema` is `CreateKey`,
 * `keyAnswerSchema` is `Key`.
 */
export function namedSchemas(modules: OriginDescription['schemas']): Map<string, z.ZodType> {
  const named = new Map<string, z.ZodType>();
  for (const [exported, value] of modules.flatMap((module) => Object.entries(module))) {
    if (!(value instanceof z.ZodType) || !ending.test(exported)) continue;
    const name = exported.charAt(0).toUpperCase() + exported.slice(1).replace(ending, '');
    if (named.has(name)) throw new Error(`two schemas would be called ${name} in the document`);
    named.set(name, value);
  }
  return named;
}

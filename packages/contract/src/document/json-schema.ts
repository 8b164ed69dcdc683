import * as z from 'zod';
import type { JsonSchema } from '../route.ts';

type Direction = 'input' | 'output';
type Mutable = Record<string, unknown>;

const refOf = (name: string): string => `#/components/schemas/${name}`;

/**
 * Named schemas as JSON schemas that refer to each other by `#/components/schemas/`: as what is taken. What is sent has the same
 * shape, because schemas of answers transform nothing.
 */
export function namedJsonSchemas(schemas: Readonly<Record<string, z.ZodType>>): Record<string, JsonSchema> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(schemas)) registry.add(schema, { id });
  const made = z.toJSONSchema(registry, { ...options('input'), uri: refOf }).schemas;
  return Object.fromEntries(Object.entries(made).map(([name, schema]) => [name, withoutIds(schema)]));
}

/** The JSON schema of each parameter of a query, and whether it must be there. */
export function queryJsonSchemas(query: z.ZodObject): { name: string; required: boolean; schema: JsonSchema }[] {
  const taken = withoutIds(z.toJSONSchema(query, options('input')));
  const read = withoutIds(z.toJSONSchema(query, options('output')));
  const required = Array.isArray(taken.required) ? taken.required : [];
  return Object.entries(propertiesOf(taken)).map(([name, schema]) => ({
    name,
    required: required.includes(name),
    // A number that is read from text has its bounds where it comes out.
    schema: schema.type === 'number' ? (propertiesOf(read)[name] ?? schema) : schema,
  }));
}

/** The schemas of an object's fields by their names; empty without fields. */
export const propertiesOf = (schema: JsonSchema): Record<string, JsonSchema> =>
  (schema.properties ?? {}) as Record<string, JsonSchema>;

const options = (io: Direction) =>
  ({
    io,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodTypes; jsonSchema: Mutable }) => {
      const { def } = zodSchema._zod;
      // Fields that are refused with a sentence of their own.
      if (def.type === 'undefined') jsonSchema.not = {};
      // Only what is strict promises that there is nothing more.
      if (def.type === 'object' && def.catchall === undefined) delete jsonSchema.additionalProperties;
      // OpenAPI 3.1 and JSON schema know no format of this name, but a keyword.
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

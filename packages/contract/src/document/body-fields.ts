import * as z from 'zod';
import type { JsonSchema, OriginDescription } from '../route.ts';
import { propertiesOf } from './json-schema.ts';

export interface BodyField {
  /** `other`: a choice, a list of objects, or anything else that a person does not type. */
  readonly type: 'text' | 'number' | 'integer' | 'texts' | 'other';
  readonly required?: true;
  /** Null has a meaning of its own, such as "no limit". */
  readonly nullable?: true;
  readonly email?: true;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly min?: number;
  /** The number is above this. */
  readonly above?: number;
  readonly max?: number;
}

/** Fields by name. A field within another object has both names, such as `auto_top_up.threshold_usd`. */
export type BodyFields = Readonly<Record<string, BodyField>>;

/** The fields of each JSON body of an origin, by route. Forms read them instead of the schemas, which are many times as large. */
export const bodyFields = ({ routes }: OriginDescription): Readonly<Record<string, BodyFields>> =>
  Object.fromEntries(
    routes.flatMap(({ method, path, body }) => {
      const schema = body?.content.find(({ mediaType }) => mediaType === 'application/json')?.schema;
      if (!(schema instanceof z.ZodType)) return [];
      const json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema;
      return [[`${method.toUpperCase()} ${path}`, fieldsOf(json)]];
    }),
  );

function fieldsOf(body: JsonSchema, prefix = ''): BodyFields {
  const fields = formsOf(body).map((form) =>
    Object.entries(propertiesOf(form)).map(([name, schema]) => {
      const isRequired = Array.isArray(form.required) && form.required.includes(name);
      const inner = formsOf(schema).find(({ type }) => type === 'object');
      return {
        [`${prefix}${name}`]: fieldOf(schema, isRequired),
        ...(inner === undefined ? {} : fieldsOf(inner, `${prefix}${name}.`)),
      };
    }),
  );
  return Object.assign({}, ...fields.flat()) as BodyFields;
}

function fieldOf(schema: JsonSchema, isRequired: boolean): BodyField {
  const forms = formsOf(schema);
  const form = forms.find(({ type }) => type !== 'null') ?? schema;
  const bounds = {
    minLength: form.minLength,
    maxLength: form.maxLength,
    min: form.minimum,
    above: form.exclusiveMinimum,
    max: form.maximum,
  };
  return {
    type: typeOf(form),
    ...(isRequired ? { required: true } : {}),
    ...(forms.length > 1 && forms.some(({ type }) => type === 'null') ? { nullable: true } : {}),
    ...(form.format === 'email' ? { email: true } : {}),
    ...Object.fromEntries(
      Object.entries(bounds).filter(
        ([, bound]) => typeof bound === 'number' && Math.abs(bound) < Number.MAX_SAFE_INTEGER,
      ),
    ),
  };
}

function typeOf({ type, items, enum: choices }: JsonSchema): BodyField['type'] {
  if (type === 'number' || type === 'integer') return type;
  if (type === 'string' && choices === undefined) return 'text';
  return type === 'array' && (items as JsonSchema | undefined)?.type === 'string' ? 'texts' : 'other';
}

/** The schemas of which a value must match one, or all. */
const formsOf = (schema: JsonSchema): readonly JsonSchema[] =>
  ['anyOf', 'oneOf', 'allOf']
    .flatMap((each) => (schema[each] as readonly JsonSchema[] | undefined) ?? [])
    .flatMap(formsOf)
    .concat(schema.type === undefined ? [] : [schema]);

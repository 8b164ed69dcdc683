import { maxAuthBytes, maxContentBytes, maxControlBytes } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { confidentialOrigin } from './confidential/index.ts';
import { controlOrigin } from './control/index.ts';
import { buildDocument } from './document/build-document.ts';
import type { JsonSchema, RouteDescription } from './route.ts';

/** A value that a request carries: its place and its schema. `requestOf` puts a value there, with the literals that select a branch. */
interface Leaf {
  readonly path: readonly string[];
  readonly schema: JsonSchema;
  readonly requestOf: (value: unknown) => unknown;
}

/** A pattern bounds a text if it covers the whole of it and repeats nothing without end. */
const isBounding = (pattern: unknown): boolean =>
  typeof pattern === 'string' && /^\^.*\$$/.test(pattern) && !/[*+]|\{\d+,\}/.test(pattern.replace(/\\[*+]/g, ''));

const bounds: Readonly<Record<string, (schema: JsonSchema, most: number) => string | undefined>> = {
  string: ({ maxLength, pattern, format }, most) => {
    if (typeof maxLength === 'number') return maxLength <= most ? undefined : `a text of ${maxLength}`;
    return format === 'uuid' || isBounding(pattern) ? undefined : 'a text without an end';
  },
  array: ({ maxItems }, most) => (Number(maxItems) <= most ? undefined : 'a list without an end'),
  number: ({ minimum, exclusiveMinimum, maximum }) =>
    Number.isFinite(minimum ?? exclusiveMinimum) && Number.isFinite(maximum) ? undefined : 'a number without an end',
  object: ({ additionalProperties = false, 'x-max-bytes': bytes }, most) =>
    additionalProperties === false || Number(bytes) <= most ? undefined : 'an object with names without an end',
};

describe.each([
  ['control', controlOrigin, maxControlBytes],
  ['confidential', confidentialOrigin, maxContentBytes],
] as const)('a request of the %s origin', (_name, origin, originBytes) => {
  const document = buildDocument(origin);
  const resolve = (schema: JsonSchema): JsonSchema => {
    const { $ref } = schema;
    return typeof $ref === 'string' ? (document.components.schemas[$ref.split('/').at(-1) ?? ''] ?? {}) : schema;
  };

  /** Every value of a schema at any depth. A schema that says nothing of its type is a value, too. */
  function* leavesOf(given: JsonSchema, { path, requestOf }: Omit<Leaf, 'schema'>): Generator<Leaf> {
    const schema = resolve(given);
    const { anyOf, oneOf, allOf, not, properties, items } = schema as Record<string, unknown>;
    if (not !== undefined) return;
    const branches = [anyOf, oneOf, allOf].flatMap((each) => (each ?? []) as JsonSchema[]);
    for (const branch of branches) yield* leavesOf(branch, { path, requestOf });
    if (branches.length === 0) yield { path, schema, requestOf };
    const fields = Object.entries((properties ?? {}) as Record<string, JsonSchema>);
    const literals = Object.fromEntries(
      fields.flatMap(([name, { const: only }]) => (only === undefined ? [] : [[name, only]])),
    );
    for (const [name, inner] of fields) {
      const within = (value: unknown) => requestOf({ ...literals, [name]: value });
      yield* leavesOf(inner, { path: [...path, name], requestOf: within });
    }
    if (items !== undefined)
      yield* leavesOf(items as JsonSchema, { path: [...path, '0'], requestOf: (value) => requestOf([value]) });
  }

  /** A value of the right type, so that the type is not what is at fault. */
  function sampleOf(given: JsonSchema): unknown {
    const schema = resolve(given);
    const { type, anyOf, oneOf, properties = {}, required = [], items = {}, minimum } = schema as Record<string, never>;
    if ('const' in schema) return schema.const;
    if (Array.isArray(schema.enum)) return schema.enum[0];
    const [branch] = (anyOf ?? oneOf ?? []) as JsonSchema[];
    if (branch !== undefined) return sampleOf(branch);
    if (type === 'string') return 'a';
    if (type === 'array') return [sampleOf(items)];
    if (type !== 'object') return minimum ?? 1;
    return Object.fromEntries(
      (required as string[]).map((name) => [name, sampleOf((properties as Record<string, JsonSchema>)[name] ?? {})]),
    );
  }

  /** A value just over the bound that a schema states. Undefined where the size of the body is the bound. */
  function overBound({ type, maxLength, maxItems, maximum, items, 'x-max-bytes': bytes }: JsonSchema): unknown {
    if (bytes !== undefined) return undefined;
    if (typeof maxLength === 'number') return maxLength < maxAuthBytes ? 'a'.repeat(maxLength + 1) : undefined;
    if (type === 'array' && Number(maxItems) <= 70_000)
      return Array(Number(maxItems) + 1).fill(sampleOf(items as JsonSchema));
    return typeof maximum === 'number' ? maximum * 2 + 1 : undefined;
  }

  const requests = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      most: path.startsWith('/v1/auth/') ? maxAuthBytes : originBytes,
      leaves: [
        ...(operation.parameters ?? [])
          .filter((parameter) => parameter.in !== 'header')
          .flatMap(({ in: place, name, schema }) => [
            ...leavesOf(schema, { path: [place, name], requestOf: (value) => ({ [name]: value }) }),
          ]),
        ...Object.entries(operation.requestBody?.content ?? {})
          .filter(([mediaType]) => mediaType === 'application/json')
          .flatMap(([, { schema }]) => [...leavesOf(schema, { path: ['body'], requestOf: (value) => value })]),
      ],
    })),
  );

  it('has a bound for every text, list, number and object of names', () => {
    const seen = new Set<string>();
    const faults = requests.flatMap(({ name, most, leaves }) =>
      leaves.flatMap(({ path, schema }) => {
        if ('const' in schema || 'enum' in schema) return [];
        const types = [schema.type].flat();
        return types.flatMap((type) => {
          if (type === 'boolean' || type === 'null') return [];
          const kind = type === 'integer' ? 'number' : String(type);
          seen.add(kind);
          const fault = bounds[kind]?.(schema, most) ?? (kind in bounds ? undefined : 'a value of any type');
          return fault === undefined ? [] : [`${name} ${path.join('.')}: ${fault}`];
        });
      }),
    );
    expect(faults).toEqual([]);
    // The walk has found values of every kind that there is.
    expect([...seen].sort()).toEqual(['array', 'number', 'object', 'string']);
    expect(requests.length).toBe(origin.routes.length);
  });

  it.each(origin.routes.filter(({ query, body }) => query ?? body).map((route) => [nameOf(route), route] as const))(
    'is refused if a value is over its bound: %s',
    (name, { query, body }) => {
      const leaves = requests.find((request) => request.name === name)?.leaves ?? [];
      const schemas = (body?.content ?? []).flatMap(({ schema }) => (schema instanceof z.ZodType ? [schema] : []));
      for (const {
        path: [place, ...path],
        schema,
        requestOf,
      } of leaves) {
        const over = overBound(schema);
        // `serve` reads parameters of a path, and its own test is about them.
        if (over === undefined || place === 'path') continue;
        const faults = (place === 'query' ? (query ? [query] : []) : schemas).flatMap((each) =>
          faultsIn(each, requestOf(over)),
        );
        expect(faults, `${JSON.stringify(over).slice(0, 60)}`).toContain(path.join('.'));
      }
    },
  );
});

const nameOf = ({ method, path }: RouteDescription): string => `${method.toUpperCase()} ${path}`;

/** The paths of all faults, including those inside unions. */
function faultsIn(schema: z.ZodType, value: unknown): string[] {
  const flat = (issues: readonly z.core.$ZodIssue[], at: readonly PropertyKey[]): string[] =>
    issues.flatMap((issue) => {
      const path = [...at, ...issue.path];
      const inner = issue.code === 'invalid_union' ? issue.errors.flatMap((each) => flat(each, path)) : [];
      return [path.join('.'), ...inner];
    });
  const parsed = schema.safeParse(value);
  return parsed.success ? [] : flat(parsed.error.issues, []);
}

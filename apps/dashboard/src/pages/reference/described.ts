import type { OpenApiDocument } from '@sotto/contract';

type Schema = Readonly<Record<string, unknown>>;
type Operation = OpenApiDocument['paths'][string][string];
export type Content = NonNullable<Operation['requestBody']>['content'];

/** One operation of an origin, with everything that its page shows. */
export interface Described {
  readonly origin: 'control' | 'broker';
  /** Public, without `/v1`. */
  readonly address: string;
  readonly method: string;
  readonly path: string;
  readonly tag: string;
  readonly operation: Operation;
  readonly schemas: OpenApiDocument['components']['schemas'];
  readonly examples: OpenApiDocument['components']['examples'];
  /** The text that a search looks at, in lower case. */
  readonly searched: string;
}

/** Lists the operations of a document that can succeed, in the order of its tags. */
export function describe(
  origin: Described['origin'],
  address: string,
  { tags, paths, components: { schemas, examples } }: OpenApiDocument,
): readonly Described[] {
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): Described => {
      const tag = operation.tags[0] ?? '';
      const place = { origin, address, method, path, tag, operation, schemas, examples };
      return { ...place, searched: searchedOf(method, path, operation, schemas) };
    }),
  );
  const useful = all.filter(({ operation }) => Object.keys(operation.responses).some((status) => Number(status) < 400));
  return tags.flatMap(({ name }) => useful.filter(({ tag }) => tag === name));
}

function searchedOf(method: string, path: string, operation: Operation, schemas: Described['schemas']): string {
  const { operationId, summary, description = '', parameters = [], requestBody, responses } = operation;
  const said = Object.values(responses).map(({ description: text }) => text);
  const answers = [responses['200'], responses['201']].map((answer) =>
    answer === undefined || '$ref' in answer ? undefined : answer.content,
  );
  const names = [requestBody?.content, ...answers].flatMap((content) => fieldNames(jsonOf(content), schemas, 3));
  const words = [`${method} ${path}`, operationId, summary, description, ...parameters.map(({ name }) => name)];
  return [...words, ...said, ...names].join(' ').toLowerCase();
}

const jsonOf = (content: Content | undefined): Schema => (content?.['application/json']?.schema ?? {}) as Schema;

const fieldNames = (schema: Schema, schemas: Described['schemas'], depth: number): string[] =>
  depth === 0
    ? []
    : fieldsOf(schema, schemas).flatMap(({ name, schema: inner }) => [name, ...fieldNames(inner, schemas, depth - 1)]);

/** The operations in which all typed words occur; those whose summary or path has them come first. */
export function findOperations(all: readonly Described[], typed: string): readonly Described[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const named = ({ path, operation: { summary } }: Described): number => {
    const name = `${path} ${summary}`.toLowerCase();
    return words.every((word) => name.includes(word)) ? 0 : 1;
  };
  const found = all.filter(({ searched }) => words.every((word) => searched.includes(word)));
  return words.length === 0 ? found : found.toSorted((left, right) => named(left) - named(right));
}

/** A field of an object, or one of several shapes that a value can have. */
export interface Field {
  readonly name: string;
  /** "string", "array of numbers, at most 5 entries". */
  readonly type: string;
  readonly note: string | undefined;
  readonly isRequired: boolean;
  readonly schema: Schema;
}

const refPrefix = '#/components/schemas/';

/** Follows a reference to a component. */
const resolved = (schema: Schema, schemas: Described['schemas']): Schema =>
  typeof schema.$ref === 'string' ? (schemas[schema.$ref.slice(refPrefix.length)] ?? {}) : schema;

/**
 * Returns the fields of an object, of the entries of an array, or of the only shape with fields. If several shapes have
 * fields, each is one entry, named after the constant that tells it apart.
 */
export function fieldsOf(given: Schema, schemas: Described['schemas']): readonly Field[] {
  const schema = resolved(given, schemas);
  const { properties, items, anyOf, oneOf, allOf, contentSchema, required } = schema;
  const shapes = (anyOf ?? oneOf ?? allOf) as readonly Schema[] | undefined;
  if (shapes !== undefined) {
    const withFields = shapes.filter((shape) => fieldsOf(shape, schemas).length > 0);
    if (withFields.length < 2) return withFields.flatMap((shape) => fieldsOf(shape, schemas));
    return withFields.map((shape, place) => ({
      ...{ name: shapeName(resolved(shape, schemas), place), type: typeOf(shape), note: undefined },
      ...{ isRequired: false, schema: shape },
    }));
  }
  if (items !== undefined || contentSchema !== undefined) return fieldsOf((items ?? contentSchema) as Schema, schemas);
  const needed = new Set((required ?? []) as readonly string[]);
  return Object.entries((properties ?? {}) as Record<string, Schema>).map(([name, field]) => ({
    ...{ name, type: typeOf(field), isRequired: needed.has(name), schema: field },
    note: noteOf(field) ?? noteOf(resolved(field, schemas)),
  }));
}

const noteOf = ({ description }: Schema): string | undefined =>
  typeof description === 'string' ? description : undefined;

function shapeName({ properties }: Schema, place: number): string {
  for (const [name, field] of Object.entries((properties ?? {}) as Record<string, Schema>))
    if (typeof field.const === 'string') return `with ${name}: ${JSON.stringify(field.const)}`;
  return `shape ${place + 1}`;
}

/** Says a type in words. */
export function typeOf(schema: Schema): string {
  const { $ref, anyOf, oneOf, allOf, type, items, enum: values, not, contentSchema, contentMediaType } = schema;
  if (typeof $ref === 'string') return $ref.slice(refPrefix.length);
  const union = (anyOf ?? oneOf ?? allOf) as readonly Schema[] | undefined;
  if (union !== undefined) return [...new Set(union.map(typeOf))].join(' or ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (Array.isArray(values)) return values.map((value) => JSON.stringify(value)).join(', ');
  if (not !== undefined) return 'not accepted';
  if (type === 'array') return `array of ${typeOf((items ?? {}) as Schema)}${boundsOf(schema)}`;
  if (contentSchema !== undefined) return `${String(contentMediaType)} of ${typeOf(contentSchema as Schema)}`;
  return `${Array.isArray(type) ? type.join(' or ') : String(type ?? 'any')}${boundsOf(schema)}`;
}

function boundsOf(schema: Schema): string {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems, format } = schema;
  const range = (from: unknown, to: unknown, unit: string): string[] => {
    if (from === undefined && to === undefined) return [];
    if (from === undefined) return [`at most ${String(to)}${unit}`];
    return [to === undefined ? `at least ${String(from)}${unit}` : `${String(from)} to ${String(to)}${unit}`];
  };
  return [
    ...(typeof format === 'string' ? [format] : []),
    // Every number of JavaScript is within these, or its format says them. They say nothing to a reader.
    ...range(
      Number(minimum) <= Number.MIN_SAFE_INTEGER ? undefined : minimum,
      Number(maximum) >= Number.MAX_SAFE_INTEGER ? undefined : maximum,
      '',
    ),
    ...range(minLength, maxLength, ' characters'),
    ...range(minItems, maxItems, ' entries'),
    ...(schema.default === undefined ? [] : [`default ${JSON.stringify(schema.default)}`]),
  ]
    .map((each) => `, ${each}`)
    .join('');
}

/** The credentials that an operation accepts, in words. */
export const credentialNames: Readonly<Record<string, string>> = {
  inferenceKey: 'an inference key',
  managementKey: 'a management key',
  accessToken: 'an access token of a connected app',
  session: 'the cookie of a session',
  ticket: 'a ticket',
  attestationTicket: 'an attestation ticket',
};

/** How a request carries each credential: a header, and the variable that holds its value. */
const carriers: Readonly<Record<string, readonly [header: string, prefix: string, variable: string]>> = {
  inferenceKey: ['authorization', 'Bearer ', 'INFERENCE_KEY'],
  managementKey: ['authorization', 'Bearer ', 'MANAGEMENT_KEY'],
  accessToken: ['authorization', 'Bearer ', 'ACCESS_TOKEN'],
  session: ['cookie', '', 'COOKIES'],
  ticket: ['x-router-ticket', '', 'TICKET'],
  attestationTicket: ['x-router-ticket', '', 'TICKET'],
};

const capitals = (name: string): string =>
  name
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .replaceAll('-', '_')
    .toUpperCase();

/** The credentials that a sample can have, the one that needs no other request before it first. */
export const sampleCredentials = ({ operation: { security } }: Described): readonly string[] =>
  security
    .flatMap((each) => Object.keys(each))
    .filter((name) => carriers[name] !== undefined)
    .toSorted((left, right) => Number(isTicket(left)) - Number(isTicket(right)));

const isTicket = (credential: string): boolean => /ticket/i.test(credential);

/** A request for an operation in three languages. Secrets come from variables of the environment. */
export function samplesOf(
  { address, method, path, operation }: Described,
  credential: string | undefined,
  typedBody?: object,
) {
  const { parameters = [], requestBody } = operation;
  const url = `${address}${path.replace(/\{(\w+)\}/g, (_, name: string) => capitals(name))}`;
  const query = parameters
    .filter(({ in: where, required }) => where === 'query' && required)
    .map((each) => `${each.name}=${'example' in each ? String(each.example) : capitals(each.name)}`);
  const target = query.length === 0 ? url : `${url}?${query.join('&')}`;
  const needed = parameters.filter(({ in: where, required }) => where === 'header' && required);
  const headers = [
    ...(credential === undefined || carriers[credential] === undefined ? [] : [carriers[credential]]),
    ...needed.map(({ name }) => [name, '', capitals(name)] as const),
  ];
  const body = typedBody ?? requestBody?.content['application/json']?.example;
  return {
    curl: curlOf(method, target, headers, body),
    python: pythonOf(method, target, headers, body),
    javascript: javaScriptOf(method, target, headers, body),
  };
}

type Headers = readonly (readonly [header: string, prefix: string, variable: string])[];

const curlOf = (method: string, target: string, headers: Headers, body: unknown): string =>
  [
    `curl ${method === 'get' || (method === 'post' && body !== undefined) ? '' : `-X ${method.toUpperCase()} `}"${target}"`,
    ...headers.map(([name, prefix, variable]) => `-H "${name}: ${prefix}$${variable}"`),
    ...(body === undefined
      ? []
      : ["-H 'content-type: application/json'", `-d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`]),
  ].join(' \\\n  ');

function pythonOf(method: string, target: string, headers: Headers, body: unknown): string {
  const sent = headers.map(([name, prefix, variable]) => {
    const value = `os.environ[${JSON.stringify(variable)}]`;
    return `        ${JSON.stringify(name)}: ${prefix === '' ? value : `${JSON.stringify(prefix)} + ${value}`},\n`;
  });
  return `import os, requests

answer = requests.${method}(
    ${JSON.stringify(target)},
${sent.length === 0 ? '' : `    headers={\n${sent.join('')}    },\n`}${body === undefined ? '' : `    json=${pythonLiteral(body, 1)},\n`})
answer.raise_for_status()
print(answer.text)`;
}

/** Writes a value of JSON as a literal of Python. */
function pythonLiteral(value: unknown, depth: number): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value !== 'object') return JSON.stringify(value);
  const pad = '    '.repeat(depth + 1);
  const inner = Array.isArray(value)
    ? value.map((each) => pythonLiteral(each, depth + 1))
    : Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${pythonLiteral(each, depth + 1)}`);
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  if (inner.length === 0) return `${open}${close}`;
  return `${open}\n${inner.map((line) => `${pad}${line},\n`).join('')}${'    '.repeat(depth)}${close}`;
}

function javaScriptOf(method: string, target: string, headers: Headers, body: unknown): string {
  const sent = [
    ...headers.map(
      ([name, prefix, variable]) =>
        `    '${name}': ${prefix === '' ? `process.env.${variable}` : `\`${prefix}\${process.env.${variable}}\``},\n`,
    ),
    ...(body === undefined ? [] : ["    'content-type': 'application/json',\n"]),
  ];
  const options = [
    ...(method === 'get' ? [] : [`  method: '${method.toUpperCase()}',\n`]),
    ...(sent.length === 0 ? [] : [`  headers: {\n${sent.join('')}  },\n`]),
    ...(body === undefined
      ? []
      : [`  body: JSON.stringify(${JSON.stringify(body, null, 2).replaceAll('\n', '\n  ')}),\n`]),
  ];
  return `const answer = await fetch('${target}'${options.length === 0 ? '' : `, {\n${options.join('')}}`});
if (!answer.ok) throw new Error(await answer.text());
console.log(await answer.text());`;
}

import { buildDocument, type OpenApiDocument } from '@sotto/contract';
import { confidentialOrigin } from '@sotto/contract/confidential';
import { controlOrigin } from '@sotto/contract/control';
import { mutateBytes } from '../engine/mutate-bytes.ts';
import { mutateJson, nastyWords } from '../engine/mutate-input.ts';
import type { SeededRandom } from '../engine/seeded-random.ts';

/** One request, with everything that HTTP allows. */
export interface FuzzedRequest {
  readonly origin: 'control' | 'confidential';
  readonly operation: string;
  readonly method: string;
  /** Includes the query. */
  readonly path: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer | undefined;
}

/** The credentials for requests, by their names in the description. */
export interface Credentials {
  readonly inferenceKey: string;
  readonly managementKey: string;
  readonly session: string;
  ticket(): string | undefined;
}

interface Described {
  readonly origin: FuzzedRequest['origin'];
  readonly method: string;
  readonly path: string;
  readonly operation: OpenApiDocument['paths'][string][string];
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

const described = (['control', 'confidential'] as const).flatMap((origin): Described[] => {
  const document = buildDocument(origin === 'control' ? controlOrigin : confidentialOrigin);
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      origin,
      method: method.toUpperCase(),
      path,
      operation,
      components: document.components.schemas,
    })),
  );
});

/** All operations of both descriptions. */
export const operationCount = described.length;

/** Existing models, and one unknown model. */
const models = ['fuzz/chat', 'fuzz/embedding', 'fuzz/image', 'fuzz/speech', '/auto', 'fuzz/none'];
const words = [...models, 'fuzz', 'price', 'tee', 'private', 'user', 'text', 'stream'];

/** Generates a request that roughly fits its description. Then it changes none, some or all of its parts. */
export function makeRequest(random: SeededRandom, credentials: Credentials): FuzzedRequest {
  const chosen = described[random.below(described.length)];
  if (chosen === undefined) throw new Error('the descriptions have no operations');
  const { operation, components, origin } = chosen;
  const value = (schema: Readonly<Record<string, unknown>>): string => {
    const made = sample(schema, components, random);
    const text = typeof made === 'string' ? made : JSON.stringify(made);
    return random.below(6) === 0 ? strangeText(text, random) : text;
  };
  const model = models[random.below(models.length)] ?? '';
  const parameters = operation.parameters ?? [];
  let { path, method } = chosen;
  for (const { name, schema } of parameters.filter((each) => each.in === 'path')) {
    path = path.replace(`{${name}}`, () =>
      encodeURIComponent(value(schema)).replaceAll('%2F', random.below(2) === 0 ? '/' : '%2F'),
    );
  }
  const query = parameters
    .filter((each) => each.in === 'query' && (each.required || random.below(2) === 0))
    .map(({ name, schema }) => `${name}=${encodeURIComponent(name === 'model' ? model : value(schema))}`);
  if (random.below(20) === 0) query.push('__proto__=1', 'limit=1', 'limit=2');
  if (random.below(25) === 0) path = strangePath(path, random);
  if (random.below(25) === 0) method = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'][random.below(6)] ?? 'GET';
  const headers: [string, string][] = [];
  for (const { name, schema } of parameters.filter(
    (each) => each.in === 'header' && (each.required || random.below(4) === 0),
  )) {
    headers.push([name, printable(value(schema))]);
  }
  headers.push(...credentialHeaders(random, credentials));
  const body = makeBody(chosen, model, random);
  if (body !== undefined) {
    headers.push(['content-type', random.below(30) === 0 ? 'text/plain' : 'application/json']);
    if (random.below(50) === 0) headers.push(['content-encoding', 'gzip']);
  }
  if (random.below(30) === 0) headers.push(['origin', 'https://evil.example'], ['x-forwarded-for', '1.2.3.4']);
  return {
    origin,
    operation: operation.operationId,
    method,
    path: query.length === 0 ? path : `${path}?${query.join('&')}`,
    headers,
    body: method === 'GET' ? undefined : body,
  };
}

function credentialHeaders(random: SeededRandom, credentials: Credentials): [string, string][] {
  switch (random.below(9)) {
    case 0:
      return [];
    case 1:
      return [['authorization', `Bearer ${printable(strangeText(credentials.inferenceKey, random))}`]];
    case 2:
      return [['authorization', `Bearer ${credentials.managementKey}`]];
    case 3:
    case 4:
      return [['cookie', credentials.session]];
    case 5: {
      const ticket = credentials.ticket() ?? 'sotto_tkt_none';
      return [['x-router-ticket', random.below(4) === 0 ? printable(strangeText(ticket, random)) : ticket]];
    }
    default:
      return [['authorization', `Bearer ${credentials.inferenceKey}`]];
  }
}

function makeBody({ operation, components }: Described, model: string, random: SeededRandom): Buffer | undefined {
  const media = operation.requestBody?.content['application/json'];
  if (media === undefined) return undefined;
  const isExample = media.example !== undefined && random.below(2) === 0;
  const made = isExample ? structuredClone(media.example) : sample(media.schema, components, random);
  if (typeof made === 'object' && made !== null && 'model' in made) made.model = model;
  let text = JSON.stringify(made);
  for (let changes = [0, 0, 1, 1, 2, 4][random.below(6)] ?? 0; changes > 0; changes -= 1)
    text = mutateJson(text, words, random);
  const bytes = Buffer.from(text);
  return random.below(12) === 0 ? Buffer.from(mutateBytes(bytes, random)) : bytes;
}

function strangeText(text: string, random: SeededRandom): string {
  const at = random.below(text.length + 1);
  return text.slice(0, at) + (nastyWords[random.below(nastyWords.length)] ?? '') + text.slice(at + random.below(3));
}

const oddSegments = '// /../ /./ /%2e%2e/ /%00 /%zz ;x=1 /__proto__ /%F0%9F%92%A9 %ff /'.split(' ');

function strangePath(path: string, random: SeededRandom): string {
  const at = 1 + random.below(path.length);
  return path.slice(0, at) + (oddSegments[random.below(oddSegments.length)] ?? '') + path.slice(at);
}

/** Keeps only characters that a header may contain. */
const printable = (text: string): string =>
  text
    .replaceAll(/[^\x20-\x7e\x80-\xff]/g, '?')
    .trim()
    .slice(0, 4000);

type Schema = Readonly<Record<string, unknown>>;

/** The content of generated strings if their schema allows any. No error may return it. */
export const marker = 'MARK-9f31c7';

const knownStrings: Readonly<Record<string, string>> = {
  'date-time': '2026-01-01T00:00:00Z',
  date: '2026-01-01',
  email: 'somebody@fuzz.example',
  uuid: '7f9c0d5e-8d0e-4b57-9a3f-1d2f7b7c9a10',
  uri: 'https://fuzz.example/x',
};

/** Generates a value that roughly fits a JSON schema. For patterns it uses `examples`. */
function sample(
  schema: Schema,
  components: Readonly<Record<string, Schema>>,
  random: SeededRandom,
  depth = 0,
): unknown {
  const inside = (inner: unknown): unknown => sample((inner ?? {}) as Schema, components, random, depth + 1);
  const pick = <T>(from: readonly T[]): T | undefined => from[random.below(Math.max(1, from.length))];
  if (typeof schema.$ref === 'string') return inside(components[schema.$ref.split('/').at(-1) ?? '']);
  if ('const' in schema) return schema.const;
  if (Array.isArray(schema.enum)) return pick(schema.enum);
  if ('example' in schema && random.below(2) === 0) return structuredClone(schema.example);
  if ('default' in schema && random.below(3) === 0) return structuredClone(schema.default);
  for (const keyword of ['anyOf', 'oneOf']) {
    const options = schema[keyword];
    if (Array.isArray(options) && options.length > 0) return inside(pick(options));
  }
  if (Array.isArray(schema.allOf)) return Object.assign({}, ...schema.allOf.map(inside));
  const type = Array.isArray(schema.type) ? pick(schema.type) : schema.type;
  switch (type) {
    case 'object': {
      const made: Record<string, unknown> = {};
      const required = (schema.required ?? []) as string[];
      for (const [name, inner] of Object.entries((schema.properties ?? {}) as Record<string, Schema>)) {
        if (required.includes(name) || (depth < 6 && random.below(3) === 0)) made[name] = inside(inner);
      }
      return made;
    }
    case 'array':
      return Array.from({ length: depth > 6 ? 0 : Number(schema.minItems ?? 0) + random.below(3) }, () =>
        inside(schema.items),
      );
    case 'integer':
    case 'number':
      return Number(schema.minimum ?? 0) + random.below(Math.min(1000, Number(schema.maximum ?? 1000) + 1));
    case 'boolean':
      return random.below(2) === 0;
    case 'null':
      return null;
    default:
      return knownStrings[String(schema.format)] ?? `${marker}${random.below(10)}`;
  }
}

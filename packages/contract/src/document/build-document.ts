import { type ErrorType, errorEnvelope, errorTable, headerNames } from '@sotto/wire';
import * as z from 'zod';
import type { Content, Credential, JsonSchema, OriginDescription, RouteDescription } from '../route.ts';
import { allHeaders, headerGroups, headersOfAll, headersOfErrors } from './headers.ts';
import { namedJsonSchemas, namedSchemas, queryJsonSchemas, refOf, withNamedParts } from './json-schema.ts';

/** An OpenAPI 3.1 document, with the fields that its readers here use. */
export interface OpenApiDocument {
  readonly openapi: '3.1.1';
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly tags: OriginDescription['tags'];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly responses: Readonly<Record<string, ApiResponse>>;
    readonly headers: Readonly<Record<string, JsonSchema>>;
    readonly examples: Readonly<Record<string, JsonSchema>>;
    readonly securitySchemes: Readonly<Record<string, JsonSchema>>;
  };
}

export interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: MediaTypes };
  readonly responses: Readonly<Record<string, ApiResponse | ErrorReference>>;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description: string;
  readonly schema: JsonSchema;
}

export interface ApiResponse {
  readonly description: string;
  readonly headers?: Readonly<Record<string, JsonSchema>>;
  readonly content?: MediaTypes;
}

/** An error answer, with the types of its status that the operation has. */
export interface ErrorReference {
  readonly $ref: string;
  readonly description: string;
}

/** Returns the answer that an operation has for a status: its own, or the one that it refers to, with its description. */
export function responseOf(
  { components: { responses } }: OpenApiDocument,
  answer: ApiResponse | ErrorReference,
): ApiResponse {
  if (!('$ref' in answer)) return answer;
  return { ...responses[answer.$ref.slice(responsePrefix.length)], description: answer.description };
}

const responsePrefix = '#/components/responses/';

export type MediaTypes = Readonly<Record<string, { readonly schema: JsonSchema; readonly [keyword: string]: unknown }>>;

const version = '1';

/** Builds the document of one origin. The address of its server is relative, so that it holds at every deployment. */
export function buildDocument(origin: OriginDescription): OpenApiDocument {
  const named = namedSchemas(origin.schemas);
  const refs = new Map([...named].map(([name, schema]) => [schema, refOf(name)]));
  const paths: Record<string, Record<string, Operation>> = {};
  for (const route of origin.routes) {
    const path = paths[route.path] ?? {};
    paths[route.path] = path;
    path[route.method] = operationOf(route, refs);
  }
  const { title, description, tags, routes } = origin;
  const used = new Set(routes.flatMap(({ credentials }) => credentials));
  const responses = errorResponses(routes.flatMap(({ errors }) => errors));
  const headers = headersReferredTo([paths, responses]);
  const document = {
    openapi: '3.1.1' as const,
    info: { title, version, description, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    servers: [{ url: '/' }],
    tags,
    paths,
    components: {
      schemas: schemasReachedFrom([paths, responses, headers], withNamedParts(namedJsonSchemas(named))),
      responses,
      headers,
      examples: errorExamples(routes.flatMap(({ errors }) => errors)),
      securitySchemes: Object.fromEntries(
        Object.entries(securitySchemes).filter(([name]) => used.has(name as Credential)),
      ),
    },
  };
  return document;
}

function headersReferredTo(part: unknown): Record<string, JsonSchema> {
  const text = JSON.stringify(part);
  return Object.fromEntries(Object.entries(allHeaders).filter(([name]) => text.includes(`"${headerRef(name)}"`)));
}

/** The `$ref` of each schema that has a name. */
type Refs = ReadonlyMap<z.ZodType, string>;

/** Returns the components that `root` refers to, directly or through others, in the order of their names. */
function schemasReachedFrom(root: unknown, all: Readonly<Record<string, JsonSchema>>): Record<string, JsonSchema> {
  const reached = new Set<string>();
  const visit = (value: unknown): void => {
    for (const [, name = ''] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/([A-Za-z0-9]+)"/g)) {
      if (reached.has(name)) continue;
      const schema = all[name];
      if (schema === undefined) throw new Error(`there is no schema ${name}`);
      reached.add(name);
      visit(schema);
    }
  };
  visit(root);
  return Object.fromEntries([...reached].sort().map((name) => [name, all[name] ?? {}]));
}

function operationOf(route: RouteDescription, refs: Refs): Operation {
  const { operationId, tag, summary, description, credentials, isOpenToAll, body, answers, errors, errorContent } =
    route;
  const parameters = parametersOf(route);
  return {
    operationId,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    security: [...credentials.map((name) => ({ [name]: [] })), ...(isOpenToAll ? [{}] : [])],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : { requestBody: { required: body.required ?? true, content: contentOf(body.content, refs) } }),
    responses: responsesOf({ answers, errors, errorContent }, refs),
  };
}

function parametersOf({ pathParameters = {}, query, headers = {} }: RouteDescription): Parameter[] {
  const inPath = Object.entries(pathParameters).map(([name, note]) => {
    const schema = { type: 'string', ...(typeof note === 'string' ? { description: note } : note) };
    return parameter({ name, in: 'path', required: true, schema });
  });
  const inQuery = (query === undefined ? [] : queryJsonSchemas(query)).map((of) => parameter({ ...of, in: 'query' }));
  const inHeaders = Object.entries(headers).map(([name, { required = false, ...schema }]) =>
    parameter({ name, in: 'header', required, schema }),
  );
  return [...inPath, ...inQuery, ...inHeaders];
}

/** A parameter has what its schema says beside the schema. Throws if it says nothing. */
function parameter({ schema: { description, example, ...schema }, ...of }: Omit<Parameter, 'description'>): Parameter {
  if (typeof description !== 'string') throw new Error(`nothing is said of the parameter ${of.name}`);
  return { ...of, description, schema, ...(example === undefined ? {} : { example }) };
}

const contentOf = (contents: readonly Content[], refs: Refs): MediaTypes =>
  Object.fromEntries(
    contents.map(({ mediaType, schema, example }) => [
      mediaType,
      {
        schema: schema instanceof z.ZodType ? { $ref: referredTo(schema, refs) } : schema,
        ...(example === undefined ? {} : { example }),
      },
    ]),
  );

function referredTo(schema: z.ZodType, refs: Refs): string {
  const ref = refs.get(schema);
  if (ref === undefined) throw new Error('a route uses a schema that has no name: list its module in the origin');
  return ref;
}

function responsesOf(
  { answers, errors, errorContent }: Pick<RouteDescription, 'answers' | 'errors' | 'errorContent'>,
  refs: Refs,
): Record<string, ApiResponse | ErrorReference> {
  const responses: Record<string, ApiResponse | ErrorReference> = {};
  for (const { status, description, content, headers: groups = [] } of answers) {
    const names = groups.flatMap((group) => Object.keys(headerGroups[group]));
    responses[status] = {
      description,
      headers: headerRefs([...Object.keys(headersOfAll), ...names]),
      ...(content === undefined ? {} : { content: contentOf(content, refs) }),
    };
  }
  for (const [status, types] of byStatus(errors)) {
    const beside = responses[status];
    if (errorContent !== undefined) {
      const headers = headerRefs(Object.keys(headersOfErrors));
      responses[status] = { description: toldTypes(types), headers, content: contentOf([errorContent], refs) };
      continue;
    }
    responses[status] =
      beside === undefined || '$ref' in beside
        ? { $ref: `${responsePrefix}${responseName(status)}`, description: toldTypes(types) }
        : eitherOf(beside, errorResponse(types));
  }
  return responses;
}

const byStatus = (types: readonly ErrorType[]): Map<number, ErrorType[]> =>
  Map.groupBy(new Set(types), (type) => errorTable[type].status);

/** `404` is `NotFound`, as HTTP names it. */
const responseName = (status: number): string => {
  const name = statusNames[status];
  if (name === undefined) throw new Error(`the status ${status} of an error has no name`);
  return name;
};

/** The names of RFC 9110 and, for 429, of RFC 6585. */
const statusNames: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  402: 'PaymentRequired',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  409: 'Conflict',
  410: 'Gone',
  412: 'PreconditionFailed',
  413: 'ContentTooLarge',
  415: 'UnsupportedMediaType',
  422: 'UnprocessableContent',
  429: 'TooManyRequests',
  500: 'InternalServerError',
  502: 'BadGateway',
  503: 'ServiceUnavailable',
  504: 'GatewayTimeout',
};

/** The error answers of an origin, one for each status. */
const errorResponses = (types: readonly ErrorType[]): Record<string, ApiResponse> =>
  Object.fromEntries([...byStatus(types)].map(([status, own]) => [responseName(status), errorResponse(own)]));

/** Merges a status that has both an answer of its own and the error body, as 503 of `/readyz` does. */
function eitherOf(own: ApiResponse, error: ApiResponse): ApiResponse {
  const schemas = [own, error].map(({ content }) => content?.['application/json']?.schema ?? {});
  return {
    description: `${own.description}\n\n${error.description}`,
    headers: { ...own.headers, ...error.headers },
    content: { 'application/json': { schema: { anyOf: schemas } } },
  };
}

function errorResponse(types: readonly ErrorType[]): ApiResponse {
  return {
    description: toldTypes(types),
    headers: headerRefs(Object.keys(headersOfErrors)),
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Error' },
        examples: Object.fromEntries(types.map((type) => [type, { $ref: `#/components/examples/${type}` }])),
      },
    },
  };
}

const toldTypes = (types: readonly ErrorType[]): string =>
  types.map((type) => `\`${type}\`: ${errorTable[type].message}`).join('\n\n');

const headerRef = (name: string): string => `#/components/headers/${name}`;
const headerRefs = (names: readonly string[]): Record<string, JsonSchema> =>
  Object.fromEntries(names.map((name) => [name, { $ref: headerRef(name) }]));

const errorExamples = (types: readonly ErrorType[]): Record<string, JsonSchema> =>
  Object.fromEntries(
    [...new Set(types)]
      .sort()
      .map((type) => [
        type,
        { value: errorEnvelope({ message: errorTable[type].message, type }, 'req_3kTq9vXbA2mNcR7d') },
      ]),
  );

const securitySchemes: Readonly<Record<Credential, JsonSchema>> = {
  inferenceKey: {
    type: 'http',
    scheme: 'bearer',
    description: 'An inference key, `sotto_inf_…`. At the confidential origin, it selects compatibility mode.',
  },
  managementKey: { type: 'http', scheme: 'bearer', description: 'A management key, `sotto_mgt_…`.' },
  accessToken: {
    type: 'http',
    scheme: 'bearer',
    description:
      'An access token of a connected app, with the scope `inference` (tickets, evidence, models, effective routing) or `usage:read` (usage of its workspace, balance). Only if the operator enabled Connected Apps.',
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: 'sotto.session_token',
    description:
      'The cookie of `POST /v1/auth/sign-in/email`. Its name begins with `__Secure-` unless the origin is loopback.',
  },
  operator: {
    type: 'apiKey',
    in: 'cookie',
    name: 'sotto.session_token',
    description:
      'The session of an operator. A request that changes something also needs a second factor, which counts for five minutes: a passkey, or a code of `POST /v1/auth/two-factor/verify-totp`.',
  },
  scimToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'The token of the identity provider, `SCIM_TOKEN`. Only if the operator enabled SCIM.',
  },
  ticket: {
    type: 'apiKey',
    in: 'header',
    name: headerNames.ticket,
    description:
      'A ticket of `POST /v1/inference/tickets`. It serves one request. Do not send `authorization` with it.',
  },
  attestationTicket: {
    type: 'apiKey',
    in: 'header',
    name: headerNames.ticket,
    description: 'A ticket of `POST /v1/inference/attestation-tickets`, for one verification of a provider.',
  },
};

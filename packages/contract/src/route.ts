import type { ErrorType } from '@sotto/wire';
import type * as z from 'zod';

/** A JSON schema (2020-12), as OpenAPI 3.1 takes it. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

/** Kinds of credentials: the keys of `securitySchemes` in the document. `operator` is a session with that role. */
export type Credential =
  | 'inferenceKey'
  | 'managementKey'
  | 'accessToken'
  | 'session'
  | 'operator'
  | 'scimToken'
  | 'ticket'
  | 'attestationTicket';

/** A body of one media type. Its schema is an exported one, which the document names, or its own. */
export interface Content {
  readonly mediaType: string;
  readonly schema: z.ZodType | JsonSchema;
  readonly example?: unknown;
}

export interface AnswerDescription {
  readonly status: 200 | 201 | 202 | 204 | 302 | 503;
  readonly description: string;
  readonly content?: readonly Content[] | undefined;
  /** Groups of response headers, by their names in `headers.ts`. */
  readonly headers?: readonly HeaderGroup[] | undefined;
}

export type HeaderGroup = 'rate' | 'route' | 'enclave' | 'location';

/** The description of a parameter, optionally with keywords that its generated schema lacks. */
export type Note = string | (JsonSchema & { readonly description: string });

/** A request header: its schema and its description. */
export type HeaderNote = JsonSchema & { readonly description: string; readonly required?: boolean };

/** One operation of one origin. The document, the reference page and the tests use it. */
export interface RouteDescription {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** With parameters in braces. */
  readonly path: string;
  readonly operationId: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string | undefined;
  /** Any one of these; empty: none is needed. */
  readonly credentials: readonly Credential[];
  readonly isOpenToAll?: boolean | undefined;
  readonly pathParameters?: Readonly<Record<string, Note>> | undefined;
  readonly query?: z.ZodObject | undefined;
  readonly headers?: Readonly<Record<string, HeaderNote>> | undefined;
  readonly body?: { readonly content: readonly Content[]; readonly required?: boolean } | undefined;
  readonly answers: readonly AnswerDescription[];
  readonly errors: readonly ErrorType[];
  /** The body of every error. Default: our envelope. */
  readonly errorContent?: Content | undefined;
  /** Pages of other origins may call it. */
  readonly isOpenToPages?: boolean;
}

/** The routes and tags of one origin, in reading order. */
export interface OriginDescription {
  readonly title: string;
  readonly description: string;
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  /** Modules whose schemas have names in the document: those whose export ends in `Schema`. */
  readonly schemas: readonly Readonly<Record<string, unknown>>[];
  readonly routes: readonly RouteDescription[];
}

export const json = (schema: Content['schema'], example?: unknown): Content => ({
  mediaType: 'application/json',
  schema,
  ...(example === undefined ? {} : { example }),
});

export const csv: Content = {
  mediaType: 'text/csv',
  schema: { type: 'string', description: 'RFC 4180, UTF-8, with a header row.' },
};

export const nonceNote = {
  description: 'Exactly 64 hex digits, random and new for each verification.',
  example: '0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0',
};

import type { ErrorType } from '@sotto/wire';
import type { z } from 'zod';

/** A JSON schema (2020-12), as OpenAPI 3.1 takes it. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

/** What a caller can show; the keys of `securitySchemes` in the document. */
export type Credential = 'inferenceKey' | 'managementKey' | 'accessToken' | 'session' | 'ticket' | 'attestationTicket';

/** A body of one media type: a schema that a package exports, which the document names, or one of its own. */
export interface Content {
  readonly mediaType: string;
  readonly schema: z.ZodType | JsonSchema;
  readonly example?: unknown;
}

export interface AnswerDescription {
  readonly status: 200 | 201 | 204 | 302 | 503;
  readonly description: string;
  readonly content?: readonly Content[];
  /** Groups of response headers, by the name under which `headers.ts` has them. */
  readonly headers?: readonly HeaderGroup[];
}

export type HeaderGroup = 'rate' | 'route' | 'enclave' | 'location';

/** A parameter's sentence, or that and what of its schema the generated one does not say. */
export type Note = string | (JsonSchema & { readonly description: string });

/** One operation of one origin, in the words of its users. The document, the page and the tests are made from it. */
export interface RouteDescription {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** With parameters in braces. */
  readonly path: string;
  readonly operationId: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** Any one of these; empty: none is needed. */
  readonly credentials: readonly Credential[];
  readonly pathParameters?: Readonly<Record<string, Note>>;
  readonly query?: { readonly schema: z.ZodObject; readonly notes: Readonly<Record<string, Note>> };
  readonly headers?: Readonly<
    Record<string, JsonSchema & { readonly description: string; readonly required?: boolean }>
  >;
  readonly body?: { readonly content: readonly Content[]; readonly required?: boolean };
  readonly answers: readonly AnswerDescription[];
  readonly errors: readonly ErrorType[];
  /** Pages of other origins may call it. */
  readonly isOpenToPages?: boolean;
}

/** The routes of one origin, and what its tags are about, in the order to read them in. */
export interface OriginDescription {
  readonly title: string;
  readonly description: string;
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly routes: readonly RouteDescription[];
}

export const json = (schema: Content['schema'], example?: unknown): Content => ({
  mediaType: 'application/json',
  schema,
  ...(example === undefined ? {} : { example }),
});

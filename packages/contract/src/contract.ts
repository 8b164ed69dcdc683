import type { ErrorType } from '@sotto/wire';
import type { z } from 'zod';
import type { AnswerDescription, Content, Credential, Note } from './route.ts';

/** A route, by its method and its path with parameters in braces. */
export type RouteKey = `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`;

/** What ids in paths name. */
export type Identified = 'app' | 'grant' | 'invitation' | 'key' | 'member' | 'order' | 'receipt' | 'workspace';

/** A part of a path. With `id` it is a UUID: one that cannot be is 404, like one that is not there. */
export interface PathParameter {
  readonly note: Note;
  readonly id?: Identified;
}

/**
 * What a route takes and answers. The service is bound to it by the compiler (`serve`), the dashboard calls by it (`call`),
 * and the OpenAPI document is made from it.
 */
export interface Contract {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  /** Any one of these opens the route; empty: none is needed. */
  readonly credentials: readonly Credential[];
  /** The handler reads the credential itself: which one counts depends on the query. */
  readonly readsCaller?: true;
  readonly params?: Readonly<Record<string, PathParameter>>;
  readonly query?: { readonly schema: z.ZodObject; readonly notes: Readonly<Record<string, Note>> };
  /** The handler parses the query itself, as with `parsesBody`. */
  readonly parsesQuery?: true;
  /** A JSON body. `empty`: callers send `{}`, because a page of another origin cannot send that type; `optional`: or nothing. */
  readonly body?: z.ZodType | 'empty' | 'optional';
  /** The handler parses the body itself, which `body` describes: it takes more than a schema to judge it. */
  readonly parsesBody?: true;
  readonly status: 200 | 201 | 204 | 302;
  /** The JSON of the answer; absent with 204. */
  readonly answer?: z.ZodType;
  /** What the answer is, as a sentence. */
  readonly returns: string;
  readonly answerHeaders?: AnswerDescription['headers'];
  /** Further forms of the answer, such as CSV: their handler sends them itself. */
  readonly otherContent?: readonly Content[];
  /** Answers of another status, which their handler sets. */
  readonly otherAnswers?: readonly AnswerDescription[];
  readonly examples?: { readonly body?: unknown; readonly answer?: unknown };
  /** Errors beyond those that credentials, parameters, query and body bring. */
  readonly errors?: readonly ErrorType[];
  /** A limit of its own, by the name under which control has it. */
  readonly limit?: 'invitations' | 'minting';
  /** `public`: the same for everybody, so that caches may keep it. */
  readonly cache?: 'public';
  /** Pages of other origins may call it, although it takes no credential. Routes that take keys alone are open anyway. */
  readonly openToPages?: true;
}

export type Contracts = Readonly<Record<RouteKey, Contract>>;

/** States the routes of one noun. The literals keep their types, which handlers and callers are checked by. */
export const contracts = <const Routes extends Contracts>(routes: Routes): Routes => routes;

/** The values of a path's parameters. */
export type ParamsOf<Route> = Route extends { readonly params: infer Params }
  ? { readonly [Name in keyof Params]: string }
  : Readonly<Record<never, string>>;

/** A query as the handler gets it. */
export type QueryOf<Route> = Route extends { readonly parsesQuery: true }
  ? Readonly<Record<string, unknown>>
  : Route extends { readonly query: { readonly schema: infer Schema extends z.ZodType } }
    ? z.output<Schema>
    : undefined;

/** A query as the caller gives it. */
export type QueryInput<Route> = Route extends { readonly query: { readonly schema: infer Schema extends z.ZodType } }
  ? z.input<Schema>
  : undefined;

/** A body as the handler gets it. */
export type BodyOf<Route> = Route extends { readonly parsesBody: true }
  ? object
  : Route extends { readonly body: infer Schema extends z.ZodType }
    ? z.output<Schema>
    : undefined;

/** A body as the caller gives it. */
export type BodyInput<Route> = Route extends { readonly body: infer Schema extends z.ZodType }
  ? z.input<Schema>
  : undefined;

/** An answer, on either side. */
export type AnswerOf<Route> = Route extends { readonly answer: infer Schema extends z.ZodType }
  ? z.output<Schema>
  : // biome-ignore lint/suspicious/noConfusingVoidType: what a handler without an answer returns
    void;

import type { ErrorType } from '@sotto/wire';
import type * as z from 'zod';
import type { RateLimitName } from './limits.ts';
import type { MaximumName } from './maxima.ts';
import type { AnswerDescription, Content, Credential, HeaderNote, Note } from './route.ts';

/** A route, by its method and its path with parameters in braces. */
export type RouteKey = `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`;

/** Objects that ids in paths name. */
export type Identified =
  | 'account'
  | 'app'
  | 'budget'
  | 'grant'
  | 'invitation'
  | 'key'
  | 'member'
  | 'order'
  | 'receipt'
  | 'scimResource'
  | 'settlement'
  | 'workspace';

/**
 * A parameter of a path. With `id` it must be a UUID. A malformed id and a text that is too long get 404, as an unknown one does.
 */
export type PathParameter = { readonly note: Note } & (
  | { readonly id: Identified; readonly maxLength?: never }
  | { readonly maxLength: number; readonly id?: never }
);

/**
 * The requests and answers of a route. The compiler checks the handler (`serve` in control, `serveRoutes` in the broker) and the
 * dashboard (`call`) against it, and the OpenAPI document is generated from it. The answers of better-auth's routes (`signInContracts`)
 * are its own: there the compiler checks that each route is served, and its body.
 */
export interface Contract {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  /** Any one of these is accepted. Empty: no credential is needed. */
  readonly credentials: readonly Credential[];
  /** Without a credential, it answers as well. */
  readonly isOpenToAll?: true;
  /** The handler reads the credential itself, because the accepted kind depends on the query. */
  readonly readsCaller?: true;
  /** The key may be one that the process remembers. The handler lets the shared state check it. */
  readonly remembersCaller?: true;
  readonly params?: Readonly<Record<string, PathParameter>>;
  /** Each field describes itself. */
  readonly query?: z.ZodObject;
  /** Headers beyond those of the credentials. */
  readonly headers?: Readonly<Record<string, HeaderNote>>;
  /** The handler parses the query itself, as with `parsesBody`. */
  readonly parsesQuery?: true;
  /** A JSON body. `empty`: `{}`, because a page of another origin cannot send JSON. `optional`: `{}` or no body. */
  readonly body?: z.ZodType | 'empty' | 'optional';
  /** The handler parses the body itself, because a schema cannot check it completely. `body` describes it. */
  readonly parsesBody?: true;
  /** The handler reads the bytes of the body and writes the answer itself, as streams need. `body` and `answer` describe them. */
  readonly isRaw?: true;
  /** Other media types of the body. */
  readonly otherBodies?: readonly Content[];
  /** Default: 200. */
  readonly status?: 201 | 204 | 302;
  /** The JSON of the answer. Absent with 204. */
  readonly answer?: z.ZodType;
  /** Describes the answer in a sentence. Absent: every answer is an error, because the route only refers to another one. */
  readonly returns?: string;
  readonly answerHeaders?: AnswerDescription['headers'];
  /** Other media types of the answer, such as CSV, which the handler sends itself. */
  readonly otherContent?: readonly Content[];
  /** Answers with another status, which the handler sets. */
  readonly otherAnswers?: readonly AnswerDescription[];
  readonly examples?: { readonly body?: unknown; readonly answer?: unknown };
  /** The body of every error. Default: our envelope. */
  readonly errorContent?: Content;
  /** Errors in addition to those of credentials, parameters, query and body. */
  readonly errors?: readonly ErrorType[];
  /** A rate limit of its own, instead of the one of every route. */
  readonly limit?: 'minting' | 'outgoing' | 'uncounted';
  /** Rate limits besides. The handler counts them. */
  readonly limits?: readonly RateLimitName[];
  /** Creates something of which an account has at most a number. At the maximum the answer is `conflict`. */
  readonly maximum?: MaximumName;
  /** `public`: the same for every caller, so that caches may keep it. */
  readonly cache?: 'public';
  /** Opens a route without credentials to pages of other origins. Routes that accept only keys are always open to them. */
  readonly openToPages?: true;
}

export type Contracts = Readonly<Record<RouteKey, Contract>>;

/** Declares routes. The literals keep their types, so that the compiler can check handlers and callers. */
export const contracts = <const Routes extends Contracts>(routes: Routes): Routes => routes;

/** The same for routes that share some fields, such as their credentials. */
export const contractsWith =
  <const Common extends Partial<Contract>>(common: Common) =>
  <const Routes extends Readonly<Record<RouteKey, Omit<Contract, keyof Common>>>>(routes: Routes) =>
    Object.fromEntries(Object.entries(routes).map(([key, route]) => [key, { ...common, ...route }])) as {
      readonly [Key in keyof Routes]: Common & Routes[Key];
    };

/** The paths of a set of contracts, with parameters in braces: all, or those of one method. */
export type PathOf<Routes, Method extends string = string> = keyof Routes extends infer Key
  ? Key extends `${Method} ${infer Path}`
    ? Path
    : never
  : never;

export type ParamsOf<Route> = Route extends { readonly params: infer Params }
  ? { readonly [Name in keyof Params]: string }
  : Readonly<Record<never, string>>;

/** A query as the handler receives it. */
export type QueryOf<Route> = Route extends { readonly parsesQuery: true }
  ? Readonly<Record<string, unknown>>
  : Route extends { readonly query: infer Schema extends z.ZodType }
    ? z.output<Schema>
    : undefined;

/** A query as the caller sends it. */
export type QueryInput<Route> = Route extends { readonly query: infer Schema extends z.ZodType }
  ? z.input<Schema>
  : undefined;

/** A body as the handler receives it. */
export type BodyOf<Route> = Route extends { readonly isRaw: true }
  ? undefined
  : Route extends { readonly parsesBody: true }
    ? object
    : Route extends { readonly body: infer Schema extends z.ZodType }
      ? z.output<Schema>
      : undefined;

/** A body as the caller sends it. */
export type BodyInput<Route> = Route extends { readonly body: infer Schema extends z.ZodType }
  ? z.input<Schema>
  : undefined;

/** An answer, for both sides. */
export type AnswerOf<Route> = Route extends { readonly answer: infer Schema extends z.ZodType }
  ? z.output<Schema>
  : // biome-ignore lint/suspicious/noConfusingVoidType: what a handler without an answer returns
    void;

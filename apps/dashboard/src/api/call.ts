import type { AnswerOf, BodyInput, ParamsOf, QueryInput } from '@sotto/contract';
import type { ControlContracts } from '@sotto/contract/control';
import { parseJson } from '@sotto/wire';
import { errorOf, unreachable } from './errors.ts';

/** A route of the control origin, such as `GET /v1/keys`. */
export type Route = keyof ControlContracts;

/** The answer of a route. */
export type Answer<Key extends Route> = AnswerOf<ControlContracts[Key]>;

type QueryValues<Query> = { readonly [Name in keyof Query]: Query[Name] | undefined };

/** The parameters and query that a route's contract states. */
type Asked<Contract> = (keyof ParamsOf<Contract> extends never ? unknown : { readonly params: ParamsOf<Contract> }) &
  (QueryInput<Contract> extends object ? { readonly query?: QueryValues<QueryInput<Contract>> } : unknown);

/** Options of a call: the parts that its contract states, and a signal that aborts it. */
type CallOptions<Contract> = Asked<Contract> &
  (BodyInput<Contract> extends object ? { readonly body: BodyInput<Contract> } : unknown) & {
    readonly signal?: AbortSignal | undefined;
  };

/** The options of any call. */
interface AnyOptions {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  readonly body?: object;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Calls control with the session of this browser. Resolves to the parsed answer, or undefined for an empty one. Page and
 * service are of one release, so the answer has the type of the contract. Throws `ApiError`; an abort throws the signal's
 * reason.
 */
export const call = <Key extends Route>(
  route: Key,
  ...[options]: object extends CallOptions<ControlContracts[Key]>
    ? [options?: CallOptions<ControlContracts[Key]>]
    : [options: CallOptions<ControlContracts[Key]>]
): Promise<Answer<Key>> => send(route, options ?? {}) as Promise<Answer<Key>>;

/** The routes whose answers are pages of a list. */
type PagedRoute = {
  [Key in Route]: Answer<Key> extends { readonly data: readonly unknown[]; readonly next_cursor: string | null }
    ? Key
    : never;
}[Route];

/** Reads all pages of a list, which an account's maximum bounds. */
export async function callAll<Key extends PagedRoute>(
  route: Key,
  options: Omit<CallOptions<ControlContracts[Key]>, 'body'>,
): Promise<Answer<Key>['data']> {
  const { query, ...rest }: AnyOptions = options;
  const all: unknown[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = (await send(route, { ...rest, query: { ...query, limit: pageLimit, cursor } })) as Answer<Key>;
    all.push(...page.data);
    if (page.next_cursor === null) return all as Answer<Key>['data'];
    cursor = page.next_cursor;
  }
}

/** The longest page of the lists that `callAll` reads. */
const pageLimit = 500;

/** The routes that take a body. */
export type BodyRoute = { [Key in Route]: BodyInput<ControlContracts[Key]> extends object ? Key : never }[Route];

/** The body of a route. */
export type Body<Key extends Route> = BodyInput<ControlContracts[Key]>;

/** `call` for routes that are known by their type alone. */
export const callWith = <Key extends BodyRoute>(
  route: Key,
  params: Readonly<Record<string, string>>,
  body: Body<Key>,
): Promise<Answer<Key>> => send(route, { params, body: body as object }) as Promise<Answer<Key>>;

/** The address of a route that is read with GET, for links and downloads. */
export const addressOf = <Key extends Extract<Route, `GET ${string}`>>(
  route: Key,
  asked: Asked<ControlContracts[Key]>,
): string => pathOf(route, asked as AnyOptions);

async function send(route: Route, options: AnyOptions): Promise<unknown> {
  const { body = {}, signal } = options;
  const [method = ''] = route.split(' ');
  const fail = (error: unknown): never => {
    if (signal?.aborted) throw error;
    throw unreachable();
  };
  const answer = await fetch(pathOf(route, options), {
    method,
    // Browsers add `Origin` to all but GET; the type keeps forms of other sites out (they cannot set it).
    headers: { accept: 'application/json', ...(method === 'GET' ? {} : { 'content-type': 'application/json' }) },
    credentials: 'same-origin',
    ...(method === 'GET' || method === 'DELETE' ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  }).catch(fail);
  // The connection may also break within the body.
  const text = await answer.text().catch(fail);
  const parsed = text === '' ? undefined : parseJson(text);
  if (!answer.ok) throw errorOf(answer, parsed);
  return parsed;
}

/** The path of a route with its parameters and its query. Undefined values are left out of the query. */
function pathOf(route: Route, { params = {}, query = {} }: AnyOptions): string {
  const path = route
    .replace(/^\w+ /, '')
    .replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  return `${path}${search.size === 0 ? '' : `?${search}`}`;
}

import type { AnswerOf, BodyInput, ParamsOf, QueryInput } from '@sotto/contract';
import type { ControlContracts } from '@sotto/contract/control';

/** What the service answered instead of what was asked for (interface 7), or `network` where it did not answer. */
export class ApiError extends Error {
  readonly type: string;
  readonly status: number;
  /** What to name when asking for help; absent where no answer came. */
  readonly requestId: string | undefined;
  /** The field at fault, where there is one. */
  readonly param: string | undefined;
  /** When to try again; seconds. */
  readonly retryAfterS: number | undefined;

  constructor(message: string, told: Omit<ApiError, 'name' | 'message' | 'stack' | 'cause'>) {
    super(message);
    this.name = 'ApiError';
    this.type = told.type;
    this.status = told.status;
    this.requestId = told.requestId;
    this.param = told.param;
    this.retryAfterS = told.retryAfterS;
  }
}

type QueryValues<Query> = { readonly [Name in keyof Query]: Query[Name] | undefined };

/** What a call gives: the parameters, query and body of its contract, and how it is made. */
export type CallOptions<Route> = (keyof ParamsOf<Route> extends never
  ? unknown
  : { readonly params: ParamsOf<Route> }) &
  (QueryInput<Route> extends object ? { readonly query?: QueryValues<QueryInput<Route>> } : unknown) &
  (BodyInput<Route> extends object ? { readonly body: BodyInput<Route> } : unknown) & {
    /** An inference or management key, for what a session does not open. */
    readonly key?: string | undefined;
    readonly signal?: AbortSignal | undefined;
  };

/** A route of the control origin, such as `GET /v1/keys`. */
export type Route = keyof ControlContracts;

/** The options of a call without what its contract demands. */
interface AnyOptions {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Query;
  readonly body?: object;
  readonly key?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Asks the control plane, with the session of this browser. Resolves to the parsed answer, undefined for an empty one: page
 * and service are of one release, so its type is the contract's. Throws `ApiError`; an abort throws what the signal says.
 */
export async function call<Key extends Route>(
  route: Key,
  ...[options]: object extends CallOptions<ControlContracts[Key]>
    ? [options?: CallOptions<ControlContracts[Key]>]
    : [options: CallOptions<ControlContracts[Key]>]
): Promise<AnswerOf<ControlContracts[Key]>> {
  const { params = {}, query, body, key, signal }: AnyOptions = options ?? {};
  const [method = ''] = route.split(' ');
  const answer = await fetch(withQuery(pathOf(route, params), query), {
    method,
    // Browsers add `Origin` to all but GET; the type keeps forms of other sites out (they cannot set it).
    headers: {
      accept: 'application/json',
      ...(method === 'GET' ? {} : { 'content-type': 'application/json' }),
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    },
    credentials: 'same-origin',
    ...(method === 'GET' || method === 'DELETE' ? {} : { body: JSON.stringify(body ?? {}) }),
    ...(signal === undefined ? {} : { signal }),
  }).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw unreachable();
  });
  const text = await answer.text();
  const parsed: unknown = text === '' ? undefined : parsedJson(text);
  if (!answer.ok) throw errorOf(answer, parsed);
  return parsed as AnswerOf<ControlContracts[Key]>;
}

/** No answer came. */
export const unreachable = (): ApiError =>
  new ApiError('The service cannot be reached. Check your connection, then try again.', {
    type: 'network',
    status: 0,
    requestId: undefined,
    param: undefined,
    retryAfterS: undefined,
  });

/** Reads an answer that is no success. */
export const refusalOf = async (answer: Response): Promise<ApiError> =>
  errorOf(answer, parsedJson(await answer.text().catch(() => '')));

type Query = Readonly<Record<string, unknown>> | undefined;

/** The address of a route that is read with GET, for links and downloads. */
export const addressOf = (
  route: Extract<Route, `GET ${string}`>,
  { params = {}, query }: Pick<AnyOptions, 'params' | 'query'>,
): string => withQuery(pathOf(route, params), query);

/** The path of a route with its parameters filled in. */
const pathOf = (route: Route, params: Readonly<Record<string, string>>): string =>
  route.replace(/^\w+ /, '').replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));

/** A path with its query; what is undefined is left out. */
function withQuery(path: string, query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  return `${path}${search.size === 0 ? '' : `?${search}`}`;
}

/** The sentence of any failure, fit to be shown. */
export const sentenceOf = (error: unknown): string =>
  error instanceof ApiError ? error.message : 'Something went wrong on this page. Reload it, then try again.';

interface ToldError {
  readonly message?: unknown;
  readonly type?: unknown;
  readonly request_id?: unknown;
  readonly param?: unknown;
}

function errorOf(answer: Response, parsed: unknown): ApiError {
  const told: ToldError =
    typeof parsed === 'object' && parsed !== null && 'error' in parsed ? ((parsed.error ?? {}) as ToldError) : {};
  const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
  const retryAfter = Number(answer.headers.get('retry-after') ?? Number.NaN);
  return new ApiError(
    text(told.message) ?? `The service answered with status ${answer.status}. Try again in a moment.`,
    {
      type: text(told.type) ?? 'unexpected_answer',
      status: answer.status,
      requestId: text(told.request_id) ?? answer.headers.get('x-request-id') ?? undefined,
      param: text(told.param),
      retryAfterS: Number.isFinite(retryAfter) ? retryAfter : undefined,
    },
  );
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

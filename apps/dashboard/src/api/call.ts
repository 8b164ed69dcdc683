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

export interface CallOptions {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Sent as JSON. */
  readonly body?: object | undefined;
  /** What is undefined is left out. */
  readonly query?: Readonly<Record<string, string | number | undefined>> | undefined;
  /** An inference or management key, for what a session does not open. */
  readonly key?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Asks the control plane, with the session of this browser. `path` begins after `/v1`, such as `/keys`. Resolves to the
 * parsed answer (undefined for an empty one), whose type the caller states: page and service are of one release.
 * Throws `ApiError`; an abort throws what the signal says.
 */
export async function call<Answer>(path: string, options: CallOptions = {}): Promise<Answer> {
  const { method = 'GET', body, query, key, signal } = options;
  const answer = await fetch(addressOf(path, query), {
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
  return parsed as Answer;
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

/** The address of a path after `/v1`, for links and downloads as well. */
export function addressOf(path: string, query: CallOptions['query'] = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  return `/v1${path}${search.size === 0 ? '' : `?${search}`}`;
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

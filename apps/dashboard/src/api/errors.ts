import { parseJson } from '@sotto/wire';

/** An error answer of the service; of type `network` if no answer came. */
export class ApiError extends Error {
  readonly type: string;
  readonly status: number;
  /** To quote when asking for help; absent if no answer came. */
  readonly requestId: string | undefined;
  /** The field at fault, where there is one. */
  readonly param: string | undefined;
  /** When to try again; seconds. */
  readonly retryAfterS: number | undefined;

  constructor(message: string, told: Pick<ApiError, 'type'> & Partial<Omit<ApiError, keyof Error>>) {
    super(message);
    this.name = 'ApiError';
    this.type = told.type;
    this.status = told.status ?? 0;
    this.requestId = told.requestId;
    this.param = told.param;
    this.retryAfterS = told.retryAfterS;
  }
}

/** No answer came. */
export const unreachable = (): ApiError =>
  new ApiError('The service cannot be reached. Check your connection, then try again.', { type: 'network' });

/** Reads an error answer. */
export const refusalOf = async (answer: Response): Promise<ApiError> =>
  errorOf(answer, parseJson(await answer.text().catch(() => '')));

/** The sentence to show for any error. */
export const sentenceOf = (error: unknown): string =>
  error instanceof ApiError ? error.message : 'Something went wrong on this page. Reload it, then try again.';

/** The service's sentence about one field of a form, or about an entry of it; undefined if the error is not about that field. */
export const errorAt = (error: unknown, field: string): string | undefined =>
  error instanceof ApiError && `${error.param}.`.startsWith(`${field}.`) ? error.message : undefined;

/** Whether a change takes a sign-in of the last five minutes, and this session is older. */
export const needsNewSignIn = (error: unknown): boolean =>
  error instanceof ApiError && error.type === 'session_not_fresh';

/**
 * Awaits an answer whose 401 is about what was typed, a code or a password. It does not mean that the session of this
 * browser has ended.
 */
export const aboutWhatWasTyped = <Answer>(answer: Promise<Answer>): Promise<Answer> =>
  answer.catch((error: unknown) => {
    if (!(error instanceof ApiError) || error.type !== 'unauthenticated') throw error;
    const { status, requestId, param, retryAfterS } = error;
    throw new ApiError(error.message, { type: 'refused', status, requestId, param, retryAfterS });
  });

interface ToldError {
  readonly message?: unknown;
  readonly type?: unknown;
  readonly request_id?: unknown;
  readonly param?: unknown;
}

/** The error of an answer, whose body was parsed. */
export function errorOf(answer: Response, parsed: unknown): ApiError {
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

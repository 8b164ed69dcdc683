/** One row of the error table. `message` is the default public sentence. */
export interface ErrorRow {
  readonly status: number;
  /** Whether the same request may succeed later without a change. */
  readonly retryable: boolean;
  readonly message: string;
}

const row = (status: number, message: string, retryable = false): ErrorRow => ({ status, retryable, message });

/** Every error type of the service, with its HTTP status and default message. See docs/reference/errors.md. */
export const errorTable = {
  invalid_request: row(400, 'The request is malformed.'),
  missing_model: row(400, 'The query parameter `model` is required, for example `?model=creator/model`.'),
  invalid_provider_policy: row(400, 'The field `provider` is malformed.'),
  provider_policy_conflict: row(400, 'The provider policy contradicts itself.'),
  no_provider_route: row(400, 'No provider of this model is eligible under the policy.'),
  no_provider_route_meets_price: row(400, 'No provider of this model is within `max_price`.'),
  context_too_large: row(400, 'No eligible provider holds the prompt plus the requested output.'),
  ticket_required: row(
    401,
    'This endpoint needs a ticket in the header `x-router-ticket`, or an inference key. If you set the header, the ticket was empty: run the request for it alone to see why.',
  ),
  invalid_ticket: row(401, 'The ticket is invalid, expired or already used. Ask the control origin for a new one.'),
  invalid_api_key: row(401, 'The API key is unknown, disabled, expired or revoked. Copy it again, or create another.'),
  unauthenticated: row(401, 'This endpoint needs a credential.'),
  insufficient_balance: row(402, 'The balance does not cover this request.'),
  insufficient_scope: row(403, 'This credential may not be used here.'),
  compatibility_access_disabled: row(
    403,
    'This key has no OpenAI-compatible access. Use it for tickets, or enable the access on the key, if the policy of its workspace allows it.',
  ),
  no_provider_route_meets_privacy: row(403, 'No provider of this model meets the privacy floor.'),
  privacy_boundary_not_met: row(403, 'No provider of this model meets the workspace privacy boundary.'),
  forbidden: row(403, 'This action is not allowed.'),
  email_not_verified: row(403, 'The address of this account is not verified. Follow the link that was mailed to it.'),
  session_not_fresh: row(
    403,
    'This needs a fresh proof of who you are. Confirm your password or your second factor, or sign in again.',
  ),
  model_not_found: row(404, 'The model does not exist or is not enabled. `GET /v1/models` lists those that are.'),
  not_found: row(404, 'There is nothing at this address.'),
  method_not_allowed: row(405, 'This address does not take this method.'),
  request_timeout: row(408, 'The request took too long to arrive.', true),
  conflict: row(409, 'The request conflicts with the current state.'),
  credits_spent: row(409, 'Some of these credits were deposited before. Nothing was accepted.'),
  top_up_limit: row(409, 'This top-up would exceed a limit of the deployment or the account.'),
  ticket_model_mismatch: row(409, 'The body asks for another model than the ticket was issued for.'),
  ticket_reasoning_mismatch: row(409, 'The body asks for another reasoning selection than the ticket was issued for.'),
  ticket_provider_policy_mismatch: row(409, 'The body has another provider policy than the ticket was issued for.'),
  ticket_media_mismatch: row(409, 'The body has other media settings than the ticket was issued for.'),
  payload_too_large: row(413, 'The request body is too large.'),
  unsupported_media_type: row(415, 'The body must be JSON, sent with `content-type: application/json`.'),
  expectation_failed: row(417, 'The server meets no expectation but `100-continue`. Leave the header `expect` out.'),
  header_fields_too_large: row(431, 'The request headers are too large.'),
  rate_limited: row(429, 'The rate limit is exceeded. Wait as long as `retry-after` says.', true),
  internal_error: row(500, 'An internal error occurred.'),
  provider_error: row(502, 'The provider failed before it produced output.', true),
  rail_error: row(502, 'The payment service refused the order.'),
  rail_disabled: row(503, 'This way to pay is switched off on this deployment.'),
  media_disabled: row(503, 'This media operation is switched off on this deployment.'),
  provider_fallback_exhausted: row(503, 'Every permitted provider failed before it produced output.', true),
  provider_fallback_not_supported_for_e2ee: row(
    503,
    'The end-to-end-encrypted provider failed before output. Retry with fresh attestation and a fresh ticket.',
  ),
  service_unavailable: row(503, 'The service is not ready. Try again shortly.', true),
  provider_timeout: row(504, 'The provider did not answer in time.', true),
} as const satisfies Record<string, ErrorRow>;

export type ErrorType = keyof typeof errorTable;

/** The public details of an error: the message, the field at fault and the time to wait before a retry. */
export interface ErrorDetails {
  /** Public sentence. Never contains content, nor the message of a foreign error. */
  readonly message?: string | undefined;
  /** The request field at fault, as a dotted path. */
  readonly param?: string | undefined;
  /** Seconds to wait. */
  readonly retryAfterS?: number | undefined;
  /** True if clients must not retry automatically: a retry cannot help, or the request may already have been charged. */
  readonly mustNotRetry?: boolean | undefined;
}

/** An error whose type, message and param are public. */
export class ServiceError extends Error {
  readonly type: ErrorType;
  readonly param: string | undefined;
  readonly retryAfterS: number | undefined;
  readonly mustNotRetry: boolean;

  constructor(type: ErrorType, details: ErrorDetails = {}) {
    super(details.message ?? errorTable[type].message);
    this.name = 'ServiceError';
    this.type = type;
    this.param = details.param;
    this.retryAfterS = details.retryAfterS;
    this.mustNotRetry = details.mustNotRetry ?? false;
  }

  get status(): number {
    return errorTable[this.type].status;
  }
}

/** The body of every error answer, with all fields that OpenAI's schema requires. */
export interface ErrorEnvelope<Type extends string = ErrorType> {
  readonly error: {
    readonly message: string;
    readonly type: Type;
    /** The same as `type`, except for a conversation that is too long. OpenAI's types are coarse, so its clients branch on the code. */
    readonly code: Type | typeof tooLongCode;
    readonly param: string | null;
    readonly request_id: string;
  };
}

/** Builds the error body for one request. */
export function errorEnvelope<Type extends string>(
  {
    message,
    type,
    param = null,
  }: { readonly message: string; readonly type: Type; readonly param?: string | undefined | null },
  requestId: string,
): ErrorEnvelope<Type> {
  // An error about `max_tokens` alone does not get better with a shorter conversation.
  const code = type === 'context_too_large' && param !== 'max_tokens' ? tooLongCode : type;
  return { error: { message, type, code, param, request_id: requestId } };
}

/** OpenAI's code, at which clients shorten the conversation. They know no other. */
const tooLongCode = 'context_length_exceeded';

/** Response headers of an error: when to retry, and whether an SDK may retry automatically. */
export function errorHeaders(error: ServiceError): Record<string, string> {
  const headers: Record<string, string> = {};
  const retryAfterS = error.retryAfterS ?? (error.type === 'service_unavailable' ? 1 : undefined);
  if (retryAfterS !== undefined) {
    headers['retry-after'] = String(Math.max(1, Math.ceil(retryAfterS)));
    if (!Number.isInteger(retryAfterS)) headers['retry-after-ms'] = String(Math.round(retryAfterS * 1000));
  }
  // The OpenAI SDKs retry 409 and every 5xx automatically. This header stops them if a retry cannot help or could charge twice.
  const hopeless = !errorTable[error.type].retryable && (error.status === 409 || error.status >= 500);
  if (error.mustNotRetry || hopeless) headers['x-should-retry'] = 'false';
  return headers;
}

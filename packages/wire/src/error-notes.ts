import type { ErrorType } from './errors.ts';
import type { UsageError } from './usage-words.ts';

/** When an error type occurs and what its caller can do. */
export interface ErrorNote {
  /** When the service answers with it. */
  readonly when: string;
  /** What the caller can do. */
  readonly remedy: string;
}

const note = (when: string, remedy: string): ErrorNote => ({ when, remedy });

/** A note for every error type. Apart from `errorTable`, so that the service and the client do not load these texts. */
export const errorNotes = {
  invalid_request: note(
    'The path, query, headers or body are malformed, or a field has a value that is not allowed.',
    'Correct the field that `param` names.',
  ),
  missing_model: note('`/v1/models/uptime` was called without `model`.', 'Add `?model=creator/model`.'),
  invalid_provider_policy: note(
    'A field of `provider` is malformed, such as an invalid provider id.',
    'Correct the field that `param` names.',
  ),
  provider_policy_conflict: note(
    'Two fields of the policy exclude each other, such as a provider in both `only` and `ignore`.',
    'Remove one of them.',
  ),
  no_provider_route: note(
    'Providers offer the model, but none meets the policy and the parameters of the request.',
    'Relax `provider`, or remove the parameter that the message names.',
  ),
  no_provider_route_meets_price: note('Every route costs more than `max_price`.', 'Raise `max_price`.'),
  context_too_large: note(
    'The prompt and the requested output exceed the context of every eligible route.',
    'Shorten the prompt, lower `max_tokens`, or use a model with a larger context.',
  ),
  ticket_required: note(
    'The route needs a ticket and the request has none.',
    'Get a ticket from control and send it in `x-router-ticket`.',
  ),
  invalid_ticket: note('The ticket is malformed, expired or already used.', 'Get a new ticket for every request.'),
  invalid_api_key: note(
    'The key is unknown or revoked, or the access token has expired.',
    'Check the key, or create a new one.',
  ),
  unauthenticated: note(
    'The request has no credential, or its session has ended.',
    'Send `authorization: Bearer` with a key, or sign in.',
  ),
  insufficient_balance: note(
    'The balance of the account, the credit limit of the key, or a monthly budget does not cover the hold for this request.',
    'Add credit, or raise the limit or the budget that the message names.',
  ),
  insufficient_scope: note(
    'The route does not accept this kind of credential.',
    'Use the credential that the message names.',
  ),
  compatibility_access_disabled: note(
    'The key may get tickets, but may not be sent to the broker.',
    'Enable OpenAI-compatible access for the key, or use tickets.',
  ),
  no_provider_route_meets_privacy: note(
    'No route of the model reaches the privacy tier that the request asks for.',
    'Lower the floor, or choose another model.',
  ),
  privacy_boundary_not_met: note(
    'No route of the model is within the privacy boundary of the workspace.',
    'Choose another model, or ask the owner to change the boundary.',
  ),
  forbidden: note(
    'The role of the signed-in user is too low, or the request came from a page of another origin.',
    'Ask the owner of the workspace for the role that the message names.',
  ),
  email_not_verified: note(
    'The email address of the account is not verified yet.',
    'Follow the link in the mail that you got.',
  ),
  session_not_fresh: note(
    'A sensitive change needs a recent sign-in.',
    'Confirm your password or your second factor, or sign in again.',
  ),
  model_not_found: note(
    'The catalog has no such model, or the model is not enabled.',
    'Use an id from `GET /v1/models`.',
  ),
  not_found: note('The address, or the object that its id names, does not exist.', 'Check the path and the id.'),
  method_not_allowed: note(
    'The address does not accept this HTTP method.',
    'Use a method that the header `allow` lists.',
  ),
  request_timeout: note('The request arrived too slowly.', 'Send it again on a faster connection.'),
  conflict: note('The change contradicts the current state, such as a limit that is reached.', 'Follow the message.'),
  credits_spent: note(
    'Some credits of the deposit paid for another wallet. `param` has their positions, from 0.',
    'Remove them. Other credits in the same deposit now name each other.',
  ),
  top_up_limit: note('The order would exceed what the account may add or hold.', 'Choose a smaller package, or wait.'),
  ticket_model_mismatch: note('The ticket was issued for another model.', 'Get a ticket for the model that you send.'),
  ticket_reasoning_mismatch: note(
    'The ticket was issued for another reasoning selection.',
    'Get a ticket for the `reasoning` that you send.',
  ),
  ticket_provider_policy_mismatch: note(
    'The ticket was issued for another provider policy.',
    'Send the `provider` that the ticket was issued for, or omit it.',
  ),
  ticket_media_mismatch: note(
    'The ticket was issued for other media settings.',
    'Send the settings that the ticket was issued for.',
  ),
  payload_too_large: note(
    'The body exceeds the limit: 32 MiB at the broker, less on a small machine; 256 KiB at control.',
    'Send a smaller body.',
  ),
  unsupported_media_type: note(
    'The body is compressed, or is not of a type that the route accepts.',
    'Send JSON with `content-type: application/json`, uncompressed.',
  ),
  expectation_failed: note('The header `expect` has another value than `100-continue`.', 'Leave the header out.'),
  header_fields_too_large: note('The request line and the headers exceed the limit.', 'Send fewer or shorter headers.'),
  rate_limited: note(
    'The key, the account or the address has sent too much in the last minute.',
    'Wait for the seconds in `retry-after`.',
  ),
  internal_error: note(
    'Sotto has a bug or lost a part of itself. The request may have been served.',
    'Report the `request_id` to the operator.',
  ),
  provider_error: note(
    'The only provider that was permitted failed before it sent output.',
    'Try again, or permit more providers. If `x-should-retry` is `false`, a retry fails again, or the first try may have been charged.',
  ),
  rail_error: note('The payment service refused the order.', 'Choose another way to pay, or ask the operator.'),
  rail_disabled: note(
    'The operator has not set up this way to pay.',
    'Choose one that `GET /v1/billing/catalog` lists.',
  ),
  media_disabled: note(
    'The operator has not enabled image generation or speech synthesis.',
    'Ask the operator to enable it.',
  ),
  provider_fallback_exhausted: note(
    'Several providers were tried, and each failed before it sent output.',
    'Try again later, or permit more providers.',
  ),
  provider_fallback_not_supported_for_e2ee: note(
    'The provider that the request is encrypted for failed before it sent output.',
    'Verify an enclave again, get a new ticket and encrypt again.',
  ),
  service_unavailable: note(
    'The process is starting, stopping or overloaded, or has lost its state store.',
    'Wait for the seconds in `retry-after`, then try again.',
  ),
  provider_timeout: note(
    'The provider did not answer in time.',
    'Try again. The first try may have been charged if `x-should-retry` is `false`.',
  ),
} as const satisfies Record<ErrorType, ErrorNote>;

/** A note for every class of error that a row of usage can have. */
export const usageErrorNotes = {
  provider: note(
    'The provider failed, broke off its answer, or could not be verified.',
    'Try again, or permit more providers.',
  ),
  timeout: note(
    'The provider did not answer in time, or the service restarted before the answer ended.',
    'Try again, or ask for a shorter answer.',
  ),
  rate_limit: note('The provider was at its own rate limit.', 'Wait, or permit more providers.'),
  request: note(
    'The provider refused the request, for its parameters, its length or its content, or the answer was too large.',
    'Correct the request. The answer to the request says more than the row.',
  ),
  cancelled: note(
    'The client left before the answer ended, or took nothing of it for too long.',
    'If you did not mean to, raise the time limit of the client.',
  ),
} as const satisfies Record<UsageError, ErrorNote>;

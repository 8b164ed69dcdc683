import { ApiError } from '../../api/call.ts';

/** What to do about a failure: a sentence, and where to. */
export interface Advice {
  readonly text: string;
  readonly to?: '/billing' | '/routing' | '/verify' | '/keys';
  readonly linkText?: string;
}

const routing = { to: '/routing', linkText: 'Routing' } as const;
const verify = { to: '/verify', linkText: 'Verify' } as const;

const known: Readonly<Record<string, Advice>> = {
  insufficient_balance: {
    text: 'Add money, lower the most output tokens, or raise the limit of the key.',
    to: '/billing',
    linkText: 'Billing',
  },
  no_provider_route_meets_privacy: { text: 'Choose a weaker minimum privacy here or for the workspace.', ...routing },
  privacy_boundary_not_met: { text: 'The workspace’s privacy boundary keeps this model out.', ...routing },
  no_provider_route: {
    text: 'Loosen provider, sort or privacy here, or see which rule leaves each route out.',
    ...routing,
  },
  no_provider_route_meets_price: { text: 'The price ceiling of the workspace is below every route.', ...routing },
  context_too_large: { text: 'Start a new conversation, or lower the most output tokens.' },
  model_not_found: { text: 'Choose another model: this one is not enabled.' },
  invalid_api_key: { text: 'The key was revoked or is wrong. Make another one.' },
  unauthenticated: { text: 'The key was revoked or is wrong. Make another one.' },
  compatibility_access_disabled: {
    text: 'Use the private flow, or allow compatibility mode on the key.',
    to: '/keys',
    linkText: 'Keys',
  },
  insufficient_scope: { text: 'This takes an inference key.', to: '/keys', linkText: 'Keys' },
  invalid_ticket: { text: 'Send it once more: a new ticket is made.' },
  rate_limited: { text: 'Send it again then.' },
  media_disabled: { text: 'The operator has switched this off.' },
  provider_error: { text: 'Failed attempts are free. Try again, or choose another provider.' },
  provider_timeout: { text: 'Failed attempts are free. Try again, or choose another provider.' },
  provider_fallback_exhausted: { text: 'Failed attempts are free. Try again in a minute, or choose another model.' },
  provider_fallback_not_supported_for_e2ee: { text: 'Try again: the enclave is verified anew.' },
  service_unavailable: { text: 'Try again in a moment.' },
  attestation_untrusted: {
    text: 'See which check failed, or ask in compatibility mode, which verifies nothing.',
    ...verify,
  },
  attestation_unavailable: { text: 'See why, or ask in compatibility mode, which verifies nothing.', ...verify },
  nonce_mismatch: { text: 'Do not send content to this origin until this is explained.', ...verify },
  answer_lost: { text: 'It may have been served and charged. It is not sent again by itself.' },
  e2ee_request_unsupported: { text: 'End-to-end encryption takes text and sampling settings only.' },
  network: { text: 'Check your connection, then try again.' },
};

/** What to do about a failure; undefined where its own sentence says all. When to come back is said where it is known. */
export function adviseOn(error: unknown): Advice | undefined {
  if (!(error instanceof ApiError)) return undefined;
  const advice = known[error.type];
  if (error.retryAfterS === undefined) return advice;
  const when = `Try again in ${error.retryAfterS === 1 ? '1 second' : `${String(error.retryAfterS)} seconds`}.`;
  return error.type === 'rate_limited' || advice === undefined
    ? { text: when }
    : { ...advice, text: `${advice.text} ${when}` };
}

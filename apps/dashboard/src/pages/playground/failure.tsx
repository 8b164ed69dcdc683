import { errorTable } from '@sotto/wire';
import { CircleAlert } from 'lucide-react';
import { ApiError, sentenceOf } from '../../api/errors.ts';
import { formatCountOf } from '../../format/format.ts';
import { Sentence } from '../../ui/text.tsx';
import { type HelpfulPage, useSurroundings } from './surroundings.ts';

/** A failed request: the error, the advice, and the request id to quote when asking for help. */
export function Failure({ error }: { error: unknown }) {
  const { linkTo } = useSurroundings();
  const advice = adviseOn(error);
  return (
    <div role="alert" className="flex gap-3 rounded-xl border border-danger bg-danger-soft p-3">
      <CircleAlert aria-hidden className="mt-0.5 size-5 shrink-0 text-danger" />
      <div className="min-w-0">
        <p className="break-words">
          <Sentence text={sentenceOf(error)} />
        </p>
        {advice !== undefined && (
          <p>
            {advice.text} {advice.link !== undefined && linkTo(advice.link.to, advice.link.text)}
          </p>
        )}
        {error instanceof ApiError && (
          <p className="text-sm break-all text-muted">
            <ErrorType type={error.type} />
            {error.requestId !== undefined && ` · request ${error.requestId}`}
          </p>
        )}
      </div>
    </div>
  );
}

function ErrorType({ type }: { type: string }) {
  const { linkToError } = useSurroundings();
  const name = <code className="font-mono">{type}</code>;
  const row = rowOf(type);
  return row === undefined ? name : linkToError(row, name);
}

/** The types that this page gives to failures itself. */
const ownTypes: ReadonlySet<string> = new Set(['network', 'unexpected_answer', 'incomplete', 'command_ended']);

/** The row of the reference about a type of error; undefined if it has none. */
export function rowOf(type: string): string | undefined {
  if (ownTypes.has(type)) return undefined;
  return `${Object.hasOwn(errorTable, type) ? 'types' : 'errors-of-the-private-client'}-${type}`;
}

/** Advice on an error: a sentence, and a page that helps. */
interface Advice {
  readonly text: string;
  readonly link?: { readonly to: HelpfulPage; readonly text: string };
}

const routing = { link: { to: '/routing', text: 'Routing' } } as const;
const verify = { link: { to: '/verify', text: 'Verify' } } as const;
const keys = { link: { to: '/keys', text: 'Keys' } } as const;
const billing = { link: { to: '/billing', text: 'Billing' } } as const;
const budgets = { link: { to: '/budgets', text: 'Budgets' } } as const;

const known: Readonly<Record<string, Advice>> = {
  insufficient_balance: { text: 'Add funds, or lower the limit of output tokens.', ...billing },
  no_provider_route_meets_privacy: { text: 'Choose a weaker minimum privacy here or for the workspace.', ...routing },
  privacy_boundary_not_met: { text: 'The workspace’s privacy boundary keeps this model out.', ...routing },
  no_provider_route: {
    text: 'Loosen provider, sort or privacy here, or see which rule leaves each route out.',
    ...routing,
  },
  no_provider_route_meets_price: {
    text: 'The workspace’s price ceiling is below the price of every route. Raise it.',
    ...routing,
  },
  context_too_large: { text: 'Start a new conversation, or lower the limit of output tokens.' },
  model_not_found: { text: 'Choose another model: this one is not enabled.' },
  invalid_api_key: { text: 'Create another key, or choose one of yours.', ...keys },
  unauthenticated: { text: 'Create another key, or choose one of yours.', ...keys },
  compatibility_access_disabled: {
    text: 'Use the private flow, or allow compatibility mode on the key.',
    ...keys,
  },
  insufficient_scope: { text: 'Use an inference key.', ...keys },
  invalid_ticket: { text: 'Send it again with a new ticket.' },
  rate_limited: { text: 'Wait, then send it again.' },
  media_disabled: { text: 'The operator has disabled this.' },
  provider_error: { text: 'Failed attempts are free. Try again, or choose another provider.' },
  provider_timeout: { text: 'Failed attempts are free. Try again, or choose another provider.' },
  provider_fallback_exhausted: { text: 'Failed attempts are free. Try again in a minute, or choose another model.' },
  provider_fallback_not_supported_for_e2ee: { text: 'Try again. The enclave is verified again.' },
  service_unavailable: { text: 'Try again in a moment.' },
  attestation_untrusted: {
    text: 'Do not send content to this origin until you know which check failed.',
    ...verify,
  },
  attestation_unavailable: {
    text: 'Do not send content to this origin until it answers. See why it did not.',
    ...verify,
  },
  nonce_mismatch: { text: 'Do not send content to this origin until you know the reason.', ...verify },
  answer_lost: { text: 'It may have been charged, so it was not sent again. Check your usage before you repeat it.' },
  e2ee_relay_can_read: { text: 'Choose a model with a provider that only its enclave can read.' },
  e2ee_request_unsupported: { text: 'End-to-end encryption takes text and sampling settings only.' },
  network: { text: 'Check your connection, then try again.' },
};

/** One type of error has three causes, and only its message says which. */
function adviceOf({ type, message }: ApiError): Advice | undefined {
  if (type !== 'insufficient_balance') return known[type];
  if (/\bbudget\b/.test(message)) return { text: 'Raise the budget, or wait for the next month.', ...budgets };
  if (/\bkey\b/.test(message)) return { text: 'Raise the limit of the key, or use another key.', ...keys };
  return known[type];
}

/** The advice on an error, with the time to wait if it is known; undefined if the error says enough. */
export function adviseOn(error: unknown): Advice | undefined {
  if (!(error instanceof ApiError)) return undefined;
  const advice = adviceOf(error);
  if (error.retryAfterS === undefined) return advice;
  const when = `Try again in ${formatCountOf(error.retryAfterS, 'second')}.`;
  return error.type === 'rate_limited' || advice === undefined
    ? { text: when }
    : { ...advice, text: `${advice.text} ${when}` };
}

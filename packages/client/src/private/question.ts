import {
  type Operation,
  type ProviderPolicyObject,
  parseJson,
  parseRequest,
  ServiceError,
  type TicketRequest,
  ticketRequestSchema,
} from '@sotto/wire';

/** The parameters of a request without its content. The control origin learns nothing else. */
export interface PrivateQuestion {
  readonly ticket: TicketRequest;
  /** Whether similar requests are likely, so that tickets for them are worth keeping. */
  readonly recurs: boolean;
}

type Body = Readonly<Record<string, unknown>>;

/** Parses the body of a request. Throws `invalid_request` if it is not JSON. */
export function parseBody(body: string, parse: (text: string) => unknown = parseJson): unknown {
  const parsed = parse(body);
  if (parsed === undefined) throw new ServiceError('invalid_request', { message: 'The body is not valid JSON.' });
  return parsed;
}

/** The fields that each operation's ticket binds, besides model and policy (see docs/concepts/tickets.md). */
const bound: Readonly<Record<Operation, readonly string[]>> = {
  chat: ['models', 'reasoning_effort', 'reasoning'],
  embeddings: [],
  image: ['size', 'response_format'],
  speech: ['voice', 'response_format'],
};

/**
 * Reads the fields that a request's ticket must bind. The ticket's strict schema parses them, so that no other part of
 * a body reaches the control origin. Throws the `ServiceError` that the service would return.
 */
export function readQuestion(operation: Operation, body: unknown): PrivateQuestion {
  const fields = asFields(body);
  const named = ['model', 'provider', ...bound[operation]];
  const picked = Object.fromEntries(named.flatMap((name) => (fields[name] == null ? [] : [[name, fields[name]]])));
  const length = operation === 'speech' ? { input_chars: lengthOf(fields.input) } : {};
  const ticket = parseRequest(ticketRequestSchema, { operation, ...picked, ...length });
  // Two texts rarely have the same length, so a kept ticket would rarely fit.
  return { ticket, recurs: operation !== 'speech' };
}

/** The exact length of the text to speak, in UTF-16 code units. */
function lengthOf(input: unknown): number {
  if (typeof input === 'string' && input !== '') return input.length;
  throw new ServiceError('invalid_request', { message: '`input` must be the text to speak.', param: 'input' });
}

function asFields(body: unknown): Body {
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body as Body;
  throw new ServiceError('invalid_request', { message: 'The body must be a JSON object.' });
}

/** Whether only the provider's enclave may read the request. */
export const asksForE2ee = ({ provider }: TicketRequest): boolean =>
  typeof provider === 'object' && provider?.minimum_privacy === 'e2ee';

/** Returns the policy with end-to-end encryption required. */
export function e2eePolicy(provider: TicketRequest['provider']): ProviderPolicyObject {
  const policy = typeof provider === 'string' ? { only: [provider] } : (provider ?? {});
  return { ...policy, minimum_privacy: 'e2ee' };
}

import {
  type Operation,
  type ProviderPolicyObject,
  parseRequest,
  ServiceError,
  type TicketRequest,
  ticketRequestSchema,
} from '@sotto/wire';

/** What a request asks for, without its content: all that the control origin is told. */
export interface PrivateQuestion {
  readonly ticket: TicketRequest;
  /** Whether requests like this one are likely to come again, so that tickets for them are worth keeping. */
  readonly recurs: boolean;
}

type Body = Readonly<Record<string, unknown>>;

const operationsByPath: ReadonlyMap<string, Operation> = new Map([
  ['/v1/chat/completions', 'chat'],
  ['/v1/embeddings', 'embeddings'],
  ['/v1/images/generations', 'image'],
  ['/v1/audio/speech', 'speech'],
]);

/** The operation that a path of the confidential origin is for; undefined where it takes no content. */
export const operationAt = (path: string): Operation | undefined => operationsByPath.get(path);

/** What each operation's ticket binds beside model and policy (interface 2.4). */
const bound: Readonly<Record<Operation, readonly string[]>> = {
  chat: ['models', 'reasoning_effort', 'reasoning'],
  embeddings: [],
  image: ['size', 'response_format'],
  speech: ['voice', 'response_format'],
};

/**
 * Reads what a request's ticket must bind. The result is of the ticket's own strict form, so that nothing else of a body
 * reaches the control origin. Throws the `ServiceError` that the service would give.
 */
export function readQuestion(operation: Operation, body: unknown): PrivateQuestion {
  const fields = asFields(body);
  const named = ['model', 'provider', ...bound[operation]];
  const picked = Object.fromEntries(named.flatMap((name) => (fields[name] == null ? [] : [[name, fields[name]]])));
  const length = operation === 'speech' ? { input_chars: lengthOf(fields.input) } : {};
  const ticket = parseRequest(ticketRequestSchema, { operation, ...picked, ...length });
  // A length is seldom met twice.
  return { ticket, recurs: operation !== 'speech' };
}

/** Of speech: its exact length in UTF-16 code units. */
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

/** The same policy with end-to-end encryption asked for. */
export function e2eePolicy(provider: TicketRequest['provider']): ProviderPolicyObject {
  const policy = typeof provider === 'string' ? { only: [provider] } : (provider ?? {});
  return { ...policy, minimum_privacy: 'e2ee' };
}

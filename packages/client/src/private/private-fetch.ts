import { headerNames, type Operation, ServiceError } from '@sotto/wire';
import { ClientError } from '../errors.ts';
import type { GatewaySession } from '../gateway/gateway-session.ts';
import type { OriginVerification } from '../gateway/verify-origin.ts';
import { answerOfFailure, answerOfRefusal } from '../local-answer.ts';
import type { Control } from './control.ts';
import { operationAt, readQuestion } from './question.ts';
import type { SentRequests } from './sent-requests.ts';
import type { TakenTicket, TicketPool } from './ticket-pool.ts';

/**
 * A `fetch` for any OpenAI SDK whose base address is the confidential origin's. What it throws left nothing of the content
 * behind; what may have been sent and lost is answered, with `x-should-retry: false`, so that no SDK buys it again.
 */
export interface PrivateFetch {
  (input: string | URL | Request, init?: RequestInit): Promise<Response>;
  /** Verifies the confidential origin now, where no verification is in force. Throws as the first request would. */
  verified(): Promise<OriginVerification>;
  /** Lets go of connections; requests that run may end. */
  close(): void;
}

export interface PrivateFetchParts {
  readonly origin: string;
  readonly session: GatewaySession;
  readonly control: Control;
  readonly tickets: TicketPool;
  readonly sent: SentRequests;
}

interface Asked {
  readonly path: string;
  readonly operation: Operation;
  readonly headers: Headers;
  readonly body: string;
  readonly signal: AbortSignal;
}

export function privateFetch(parts: PrivateFetchParts): PrivateFetch {
  const ask = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init);
    const { origin, pathname, search } = new URL(request.url);
    request.signal.throwIfAborted();
    try {
      const operation = origin === parts.origin && request.method === 'POST' ? operationAt(pathname) : undefined;
      if (operation !== undefined) {
        const { headers, signal } = request;
        return await sendPrivately(parts, { path: pathname, operation, headers, body: await request.text(), signal });
      }
      if (origin === parts.origin && request.method === 'GET' && pathname === '/v1/models') {
        return await parts.control.read(`${pathname}${search}`, request.signal);
      }
      throw new ServiceError('not_found', { message: offered });
    } catch (error) {
      if (error instanceof ServiceError) return answerOfRefusal(error);
      throw error;
    }
  };
  return Object.assign(ask, { verified: () => parts.session.verified(), close: () => parts.session.close() });
}

const offered =
  'The private flow offers POST /v1/chat/completions, /v1/embeddings, /v1/images/generations and /v1/audio/speech, and ' +
  'GET /v1/models, at the confidential origin that it was made for.';

async function sendPrivately(parts: PrivateFetchParts, asked: Asked): Promise<Response> {
  if (await isRepeated(parts, asked)) return answerOfFailure(new ClientError('retry_refused'));
  const question = readQuestion(asked.operation, parsed(asked.body));
  // Both at once; nothing of the content moves before both are there.
  const [ticket] = await Promise.all([
    question.recurs
      ? parts.tickets.take(question.ticket, asked.signal)
      : parts.tickets.fresh(question.ticket, asked.signal),
    parts.session.verified(asked.signal),
  ]);
  if (ticket instanceof Response) return ticket;
  const answer = await sendOnce(parts, asked, ticket);
  if (ticket.isFresh || answer.status !== 401 || !(await isRefusedTicket(answer))) return answer;
  // A ticket that was kept may have died meanwhile: its key's limits or preferences changed. The broker says so before it
  // redeems anything or asks a provider, so nothing was bought, and this answer comes from the broker that was verified.
  parts.tickets.drop(question.ticket);
  const fresh = await parts.tickets.fresh(question.ticket, asked.signal);
  if (fresh instanceof Response) return fresh;
  await answer.body?.cancel();
  return sendOnce(parts, asked, fresh);
}

/** Whether this is an SDK's own second try of what was given up after it was sent. */
async function isRepeated({ sent }: PrivateFetchParts, { headers, body }: Asked): Promise<boolean> {
  return Number(headers.get('x-stainless-retry-count') ?? 0) > 0 && (await sent.has(body));
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    throw new ServiceError('invalid_request', { message: 'The body is not valid JSON.' });
  }
}

async function isRefusedTicket(answer: Response): Promise<boolean> {
  const body: unknown = await answer
    .clone()
    .json()
    .catch(() => undefined);
  const { error } = (body ?? {}) as { readonly error?: { readonly type?: unknown } };
  return error?.type === 'invalid_ticket';
}

async function sendOnce(parts: PrivateFetchParts, asked: Asked, { ticket }: TakenTicket): Promise<Response> {
  const { path, body, signal } = asked;
  const headers = { ...passedOn(asked.headers), [headerNames.ticket]: ticket };
  try {
    return await parts.session.send({ path, method: 'POST', headers, body, signal });
  } catch (error) {
    if (error instanceof ClientError) throw error;
    await parts.sent.remember(body);
    if (signal.aborted) throw signal.reason;
    return answerOfFailure(new ClientError('answer_lost', undefined, { cause: error }));
  }
}

/** Of an SDK's headers those that say something of the request, and none that could say who makes it. */
function passedOn(headers: Headers): Record<string, string> {
  const kept = ['accept', 'content-type', headerNames.receipt].flatMap((name) => {
    const value = headers.get(name);
    return value === null ? [] : [[name, value]];
  });
  return { ...Object.fromEntries(kept), 'content-type': 'application/json' };
}

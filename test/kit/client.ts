import { Answer } from './answer.ts';
import { type HeaderMap, post, type SendOptions } from './send.ts';
import type { Service } from './service.ts';

/** How a request is authorized: with the key itself, or with a ticket that was bought with it. */
export type Flow = 'compatibility' | 'ticket';
export const flows: readonly Flow[] = ['compatibility', 'ticket'];

export const hello = [{ role: 'user', content: 'Say hello.' }];

export const bearer = (key: string): HeaderMap => ({ authorization: `Bearer ${key}` });
export const ticketHeader = (ticket: string): HeaderMap => ({ 'x-router-ticket': ticket });

/** Asks for a ticket. */
export const mint = (service: Service, key: string, request: object, options: SendOptions = {}): Promise<Answer> =>
  post(`${service.controlUrl}/inference/tickets`, request, bearer(key), options);

const boundByTicket = ['model', 'models', 'provider', 'reasoning', 'reasoning_effort'];

/** Returns the body of the ticket request for a chat or embeddings body. */
const ticketRequestOf = (body: object): object =>
  Object.fromEntries(Object.entries(body).filter(([name]) => boundByTicket.includes(name)));

/**
 * Returns the header that authorizes a request with this body. If the ticket request is rejected, returns that answer.
 */
export async function credentialFor(
  service: Service,
  key: string,
  body: object,
  flow: Flow,
  options: SendOptions = {},
): Promise<HeaderMap | Answer> {
  if (flow === 'compatibility') return bearer(key);
  const minted = await mint(service, key, ticketRequestOf(body), options);
  if (minted.status !== 200) return minted;
  return ticketHeader((minted.json as { ticket: string }).ticket);
}

export interface Asked extends SendOptions {
  readonly flow?: Flow;
  readonly path?: string;
  readonly headers?: HeaderMap;
}

/**
 * Requests a chat completion, or what `path` names, in either flow. If the ticket request is rejected, that is the
 * answer. Chat gets messages, if the body has none.
 */
export async function ask(
  service: Service,
  key: string,
  body: object,
  { flow = 'compatibility', path = '/chat/completions', headers = {}, ...options }: Asked = {},
): Promise<Answer> {
  const whole = path === '/chat/completions' ? { messages: hello, ...body } : body;
  const { deadlineMs } = options;
  const credential = await credentialFor(service, key, whole, flow, deadlineMs === undefined ? {} : { deadlineMs });
  if (credential instanceof Answer) return credential;
  return post(`${service.baseUrl}${path}`, whole, { ...credential, ...headers }, options);
}

/** Requests a chat completion with a ticket. */
export const redeem = (service: Service, ticket: string, body: object): Promise<Answer> =>
  post(`${service.baseUrl}/chat/completions`, { messages: hello, ...body }, ticketHeader(ticket));

import type { Service } from '../kit/service.ts';

type Body = Readonly<Record<string, unknown>>;

const pick = (body: Body, names: readonly string[]): object =>
  Object.fromEntries(names.filter((name) => name in body).map((name) => [name, body[name]]));

/** What of a body a ticket binds, by the end of its path; content never leaves for the control plane. */
const bindings: Readonly<Record<string, (body: Body) => object>> = {
  generations: (body) => ({ operation: 'image', ...pick(body, ['model', 'provider', 'size', 'response_format']) }),
  speech: (body) => ({
    operation: 'speech',
    ...pick(body, ['model', 'provider', 'voice', 'response_format']),
    input_chars: String(body.input).length,
  }),
};
const usualBindings = (body: Body): object =>
  pick(body, ['model', 'models', 'provider', 'reasoning_effort', 'reasoning']);

/**
 * A `fetch` for any OpenAI client: for each request it buys a ticket at the control origin with the key, and sends the
 * content to the broker with the ticket alone.
 */
export const ticketFetch =
  (service: Service, key: string): typeof fetch =>
  async (input, init) => {
    const body = JSON.parse(String(init?.body)) as Body;
    const path = new URL(input instanceof Request ? input.url : input).pathname;
    const { ticket } = await service.mintTicket(key, (bindings[path.split('/').at(-1) ?? ''] ?? usualBindings)(body));
    const headers = new Headers(init?.headers);
    headers.delete('authorization');
    headers.set('x-router-ticket', ticket);
    return fetch(input, { ...init, headers });
  };

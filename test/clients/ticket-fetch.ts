import type { Service } from '../kit/service.ts';

/** What of a body a ticket binds; content never leaves for the control plane. */
const bound = ['model', 'models', 'provider', 'reasoning_effort', 'reasoning'];

/**
 * A `fetch` for any OpenAI client: for each request it buys a ticket at the control origin with the key, and sends the
 * content to the broker with the ticket alone.
 */
export const ticketFetch =
  (service: Service, key: string): typeof fetch =>
  async (input, init) => {
    const body = JSON.parse(String(init?.body)) as Record<string, unknown>;
    const bindings = Object.fromEntries(bound.filter((name) => name in body).map((name) => [name, body[name]]));
    const { ticket } = await service.mintTicket(key, bindings);
    const headers = new Headers(init?.headers);
    headers.delete('authorization');
    headers.set('x-router-ticket', ticket);
    return fetch(input, { ...init, headers });
  };

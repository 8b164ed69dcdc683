import { describe, expect, it } from 'vitest';
import { bearer, hello, ticketHeader } from '../../kit/client.ts';
import type { Concept } from '../../kit/conformance.ts';

const origin = 'https://page.example';
const exposed = { 'access-control-allow-origin': '*', 'access-control-expose-headers': '*' };

/** Browsers call both origins from pages of other sites. Credentials are headers, never cookies. */
export const pages: Concept = (suite) => {
  const preflight = (url: string, method: string): Promise<Response> =>
    fetch(url, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': method,
        'access-control-request-headers': 'authorization, content-type, x-router-ticket, x-stainless-lang',
      },
    });
  const headersOf = (answer: Response): Record<string, string> => Object.fromEntries(answer.headers);

  describe('pages of another origin', () => {
    it.each([
      ['baseUrl', '/chat/completions', 'POST'],
      ['baseUrl', '/audio/speech', 'POST'],
      ['baseUrl', '/gateway/attestation', 'GET'],
      ['controlUrl', '/inference/tickets', 'POST'],
      ['controlUrl', '/inference/attestation-tickets', 'POST'],
      ['controlUrl', '/models', 'GET'],
    ] as const)('may ask %s%s, with a key or a ticket', async (base, path, method) => {
      const answer = await preflight(`${suite.service[base]}${path}`, method);
      expect(answer.status).toBe(204);
      expect(headersOf(answer)).toMatchObject({
        ...exposed,
        'access-control-allow-methods': expect.stringContaining(method),
        'access-control-allow-headers': 'authorization, *',
      });
      expect(answer.headers.has('access-control-allow-credentials')).toBe(false);
    });

    it.each(['/auth/sign-in/email', '/keys', '/usage', '/balance', '/routing/preferences', '/billing/orders'])(
      'cannot call %s, which requires a session',
      async (path) => {
        const answer = await preflight(`${suite.service.controlUrl}${path}`, 'POST');
        expect(answer.headers.has('access-control-allow-origin')).toBe(false);
      },
    );

    it.each([true, false])('can read answers and their headers, streamed: %s', async (stream) => {
      const { service, account } = suite;
      const minted = await fetch(`${service.controlUrl}/inference/tickets`, {
        method: 'POST',
        headers: { origin, 'content-type': 'application/json', ...bearer(account.inferenceKey) },
        body: JSON.stringify({ model: 'acme/small' }),
      });
      expect(headersOf(minted)).toMatchObject(exposed);
      const { ticket } = (await minted.json()) as { ticket: string };
      const answer = await fetch(`${service.baseUrl}/chat/completions`, {
        method: 'POST',
        headers: { origin, 'content-type': 'application/json', ...ticketHeader(ticket) },
        body: JSON.stringify({ model: 'acme/small', messages: hello, stream }),
      });
      expect(answer.status, await answer.text()).toBe(200);
      expect(headersOf(answer)).toMatchObject(exposed);
    });

    it('can read errors too', async () => {
      const answer = await fetch(`${suite.service.baseUrl}/chat/completions`, { method: 'POST', headers: { origin } });
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(headersOf(answer)).toMatchObject(exposed);
    });

    it('a request without an origin gets no CORS headers', async () => {
      const answer = await fetch(`${suite.service.baseUrl}/models`);
      expect(answer.headers.has('access-control-allow-origin')).toBe(false);
    });
  });
};

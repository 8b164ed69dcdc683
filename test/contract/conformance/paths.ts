import { describe, expect, it } from 'vitest';
import type { Answer } from '../../kit/answer.ts';
import { bearer, hello, ticketHeader } from '../../kit/client.ts';
import type { Concept } from '../../kit/conformance.ts';
import { expectError } from '../../kit/expect-error.ts';
import { get, send } from '../../kit/send.ts';

type Call = readonly [method: string, path: string];

/** Routes that only control serves, whatever the credential. */
const controlCalls: readonly Call[] = [
  ['GET', '/catalog/models'],
  ['GET', '/catalog/measurements'],
  ['GET', '/models/uptime?model=acme/small'],
  ['GET', '/capabilities'],
  ['POST', '/inference/tickets'],
  ['POST', '/inference/attestation-tickets'],
  ['GET', '/balance'],
  ['GET', '/usage'],
  ['GET', '/keys'],
  ['POST', '/keys'],
  ['GET', '/workspaces'],
  ['POST', '/workspaces'],
  ['POST', '/invitations/accept'],
  ['GET', '/routing/effective'],
  ['GET', '/routing/preferences'],
  ['PUT', '/routing/preferences'],
  ['POST', '/routing/preview'],
  ['POST', '/routing/eligible-models'],
  ['GET', '/billing/catalog'],
  ['GET', '/billing/orders'],
  ['GET', '/connect/grants'],
  ['POST', '/auth/sign-in/email'],
  ['GET', '/auth/get-session'],
  ['GET', '/tee/attestation?model=acme/small'],
];

const brokerCalls: readonly Call[] = [
  ['POST', '/chat/completions'],
  ['POST', '/embeddings'],
  ['POST', '/images/generations'],
  ['POST', '/audio/speech'],
  ['GET', '/gateway/attestation'],
  ['POST', '/tee/attestation'],
];

/** Calls that Sotto does not offer. OpenAI's API has most of them. */
const notOffered: readonly Call[] = [
  ['POST', '/responses'],
  ['POST', '/completions'],
  ['GET', '/models/acme/small'],
  ['GET', '/models/acme%2Fsmall'],
  ['POST', '/videos'],
  ['POST', '/audio/transcriptions'],
  ['GET', '/chat/completions/chatcmpl-1'],
  ['GET', '/nothing'],
  ['GET', '/'],
];

/** Tests which origin serves which path. */
export const paths: Concept = (suite) => {
  const call = ([method, path]: Call, base: string, headers: Record<string, string> = {}): Promise<Answer> =>
    send(method, `${base}${path}`, {
      headers,
      ...(method === 'GET' || method === 'DELETE' ? {} : { body: { model: 'acme/small', messages: hello } }),
    });

  describe('paths', () => {
    it.each(controlCalls)('%s %s is not on the broker, in either flow', async (...what) => {
      const { service, account } = suite;
      const { ticket } = await service.mintTicket(account.inferenceKey, { model: 'acme/small' });
      for (const headers of [
        {},
        bearer(account.inferenceKey),
        bearer(account.managementKey),
        bearer('bad'),
        ticketHeader(ticket),
      ]) {
        expectError(await call(what, service.baseUrl, headers), 404, 'not_found');
      }
    });

    it.each(brokerCalls)('%s %s is not on control, whatever the request contains', async (...what) => {
      const { service, account } = suite;
      const { ticket } = await service.mintTicket(account.inferenceKey, { model: 'acme/small' });
      for (const headers of [{}, bearer(account.inferenceKey), ticketHeader(ticket)]) {
        expectError(await call(what, service.controlUrl, headers), 404, 'not_found');
      }
      expect(suite.asked).toBe(0);
    });

    it.each(notOffered)('%s %s is 404 on both origins', async (...what) => {
      const { service, account } = suite;
      for (const base of [service.controlUrl, service.baseUrl]) {
        for (const headers of [{}, bearer(account.inferenceKey)]) {
          expectError(await call(what, base, headers), 404, 'not_found');
        }
      }
    });

    it('the 404 of a wrong turn says what to use instead', async () => {
      const { controlUrl, baseUrl } = suite.service;
      const messageOf = async (method: string, url: string): Promise<string> => {
        const answer = await send(method, url, method === 'GET' ? {} : { body: {} });
        expectError(answer, 404, 'not_found');
        return (answer.json as { readonly error: { readonly message: string } }).error.message;
      };
      const { origin } = new URL(baseUrl);
      expect(await messageOf('POST', `${controlUrl}/chat/completions`)).toContain(`confidential origin (${origin})`);
      expect(await messageOf('GET', `${baseUrl}/usage`)).toContain('The control origin serves this path.');
      expect(await messageOf('POST', `${origin}/chat/completions`)).toContain('base URL of a client ends in /v1');
      expect(await messageOf('POST', `${baseUrl}/v1/chat/completions`)).toContain('/v1 twice');
      for (const slashes of [
        `${origin}//v1/chat/completions`,
        `${baseUrl}//chat/completions`,
        `${baseUrl}/embeddings/`,
      ])
        expect(await messageOf('POST', slashes)).toContain('a slash too many');
      expect(await messageOf('POST', `${baseUrl}/chat/completions/chat/completions`)).toContain(
        'without /chat/completions',
      );
      expect(await messageOf('POST', `${baseUrl}/responses`)).toContain('Use POST /v1/chat/completions');
      expect(await messageOf('POST', `${baseUrl}/messages`)).toContain('sotto proxy');
      expect(await messageOf('GET', `${baseUrl}/models`)).toContain('needs an API key');
    });

    it('with connected apps disabled, discovery and endpoints are 404', async () => {
      const { controlUrl } = suite.service;
      const { origin } = new URL(controlUrl);
      for (const path of [
        `${origin}/connect/.well-known/openid-configuration`,
        `${controlUrl}/connect/.well-known/openid-configuration`,
        `${controlUrl}/connect/grants`,
        `${controlUrl}/connect/apps`,
      ]) {
        expect((await get(path)).status).toBe(404);
      }
    });

    it.each<[string, 'baseUrl' | 'controlUrl', string, string | undefined]>([
      ['QUERY', 'controlUrl', '/keys', 'GET, HEAD, POST'],
      ['QUERY', 'baseUrl', '/chat/completions', 'POST'],
      ['PROPFIND', 'controlUrl', '/balance', 'GET, HEAD'],
      ['PUT', 'controlUrl', '/keys/00000000-0000-0000-0000-000000000000', 'PATCH, DELETE'],
      ['DELETE', 'controlUrl', '/auth/sign-in/email', 'POST'],
      ['POST', 'controlUrl', '/auth/get-session', 'GET, HEAD'],
      ['QUERY', 'controlUrl', '/anything', undefined],
      ['QUERY', 'baseUrl', '/anything', undefined],
      ['DELETE', 'controlUrl', '/auth/nothing', undefined],
    ])(
      '%s at %s%s is 405, names the methods of the path, and is 404 if there are none',
      async (method, at, path, allow) => {
        const answer = await send(method, `${suite.service[at]}${path}`);
        if (allow === undefined) return expectError(answer, 404, 'not_found');
        expectError(answer, 405, 'method_not_allowed');
        expect(answer.headers.get('allow')).toBe(allow);
      },
    );

    it('paths begin with /v1', async () => {
      const { origin } = new URL(suite.service.baseUrl);
      const headers = bearer(suite.account.inferenceKey);
      expect((await call(['POST', '/chat/completions'], origin, headers)).status).toBe(404);
      expect((await get(`${new URL(suite.service.controlUrl).origin}/capabilities`)).status).toBe(404);
    });

    it.each<[string, 'baseUrl' | 'controlUrl', 'inferenceKey' | 'managementKey' | undefined]>([
      ['/models', 'baseUrl', 'inferenceKey'],
      ['/models', 'baseUrl', undefined],
      ['/openapi.json', 'baseUrl', undefined],
      ['/gateway/attestation', 'baseUrl', undefined],
      ['/nothing', 'baseUrl', undefined],
      ['/models', 'controlUrl', 'inferenceKey'],
      ['/catalog/models', 'controlUrl', undefined],
      ['/catalog/measurements', 'controlUrl', undefined],
      ['/models/uptime', 'controlUrl', undefined],
      ['/balance', 'controlUrl', 'managementKey'],
      ['/usage?format=csv', 'controlUrl', 'managementKey'],
      ['/keys', 'controlUrl', undefined],
      ['/auth/get-session', 'controlUrl', undefined],
      ['/auth/list-sessions', 'controlUrl', undefined],
      ['/docs', 'controlUrl', undefined],
    ])('HEAD %s of %s answers as GET does, without a body', async (path, origin, credential) => {
      const headers = credential === undefined ? {} : bearer(suite.account[credential]);
      const url = `${suite.service[origin]}${path}`;
      const [whole, bare] = [await get(url, headers), await send('HEAD', url, { headers })];
      expect([bare.status, bare.text]).toEqual([whole.status, '']);
      expect(bare.headers.get('content-type')).toBe(whole.headers.get('content-type'));
    });

    it.each(['/healthz', '/readyz'])('HEAD %s answers on both origins', async (path) => {
      for (const base of [suite.service.controlUrl, suite.service.baseUrl]) {
        expect((await send('HEAD', new URL(base).origin + path)).status).toBe(200);
      }
    });

    it.each([
      ['baseUrl', 'GET', '/chat/completions'],
      ['baseUrl', 'PUT', '/chat/completions'],
      ['baseUrl', 'DELETE', '/embeddings'],
      ['baseUrl', 'POST', '/models'],
      ['controlUrl', 'GET', '/inference/tickets'],
      ['controlUrl', 'POST', '/balance'],
      ['controlUrl', 'DELETE', '/usage'],
      ['controlUrl', 'PATCH', '/models'],
      ['controlUrl', 'POST', '/capabilities'],
    ] as const)('on %s %s %s is 405 method_not_allowed', async (origin, method, path) => {
      const answer = await call([method, path], suite.service[origin], bearer(suite.account.inferenceKey));
      expectError(answer, 405, 'method_not_allowed');
      // RFC 9110, section 15.5.6 requires the answer to list the allowed methods.
      expect(answer.headers.get('allow')).toMatch(/[A-Z]+/);
      expect(answer.headers.get('allow')?.split(/, */)).not.toContain(method);
    });

    it('odd paths are a clear 4xx', async () => {
      for (const base of [suite.service.controlUrl, suite.service.baseUrl]) {
        for (const path of ['/%', '/%ff', '/%00', `/${'x'.repeat(8000)}`, '/models%00']) {
          const answer = await get(base + path, bearer(suite.account.inferenceKey));
          expect(answer.status, `${path.slice(0, 50)} ${answer.text.slice(0, 200)}`).toBeGreaterThanOrEqual(400);
          expect(answer.status, `${path.slice(0, 50)} ${answer.text.slice(0, 200)}`).toBeLessThan(500);
          expect((answer.json as { error: { request_id: string } }).error.request_id).toMatch(/\S/);
        }
      }
    });
  });
};

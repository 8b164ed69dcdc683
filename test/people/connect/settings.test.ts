import { capabilitiesAnswerSchema } from '@sotto/contract/control/catalog';
import { newKeyAnswerSchema } from '@sotto/contract/control/keys';
import * as oauth from 'openid-client';
import { describe, expect, it } from 'vitest';
import { bearer } from '../../kit/client.ts';
import { describeConformance } from '../../kit/conformance.ts';
import { connect, newApp, newPerson } from '../../kit/connected-apps.ts';
import { expectError } from '../../kit/expect-error.ts';
import { get, send } from '../../kit/send.ts';

const paths = [
  '',
  '/',
  '/.well-known/openid-configuration',
  '/.well-known/oauth-authorization-server',
  '/authorize?client_id=x',
  '/authorize/x',
  '/token',
  '/userinfo',
  '/jwks',
  '/revoke',
  '/introspect',
  '/logout',
  '/logout/confirm',
  '/grants',
  '/grants/00000000-0000-4000-8000-000000000000',
  '/apps',
  '/apps/00000000-0000-4000-8000-000000000000',
  '/apps/00000000-0000-4000-8000-000000000000/rotate-secret',
  '/interactions/x',
];

await describeConformance('connected apps, off', [
  (suite) => {
    describe('by default, when it is off', () => {
      const url = (path: string): string => `${suite.service.controlUrl}${path}`;

      it('every address of it is 404 in the envelope, whatever the method and credential', async () => {
        const person = await newPerson(suite.service);
        const session = { cookie: person.browser.cookiesFor(url('/')) };
        for (const path of paths) {
          for (const method of ['GET', 'POST', 'PATCH', 'DELETE', 'OPTIONS']) {
            const body = method === 'POST' || method === 'PATCH' ? { body: {} } : {};
            const answer = await send(method, url(`/connect${path}`), { headers: session, ...body });
            expect(answer.status, `${method} ${path}`).toBe(404);
            expectError(answer, 404, 'not_found');
          }
        }
      });

      it('capabilities say so, and a token that looks like an access token is an unknown key', async () => {
        const { json } = await get(url('/capabilities'));
        expect(capabilitiesAnswerSchema.parse(json).connected_apps).toEqual({ enabled: false });
        for (const path of ['/models', '/balance', '/usage']) {
          expectError(await get(url(path), bearer('a'.repeat(43))), 401, 'invalid_api_key');
        }
      });
    });
  },
]);

await describeConformance(
  'connected apps, limited',
  [
    (suite) => {
      describe('the rate limit of control', () => {
        it("applies to the protocol's endpoints, in OAuth's shape of errors", async () => {
          const ask = (): Promise<Response> =>
            fetch(`${suite.service.controlUrl}/connect/token`, { method: 'POST', body: new URLSearchParams() });
          const statuses: number[] = [];
          let last = await ask();
          for (; last.status !== 429 && statuses.length < 100; last = await ask()) statuses.push(last.status);
          expect(new Set(statuses)).toEqual(new Set([400]));
          expect(last.status).toBe(429);
          expect(Number(last.headers.get('retry-after'))).toBeGreaterThan(0);
          expect(last.headers.get('x-request-id')).toMatch(/^req_/);
          expect(await last.json()).toMatchObject({
            error: 'temporarily_unavailable',
            error_description: expect.any(String),
          });
        });

        it('is not evaded by made-up credentials, where each request leaves a row', async () => {
          const url = `${suite.service.controlUrl}/connect/authorize?client_id=none`;
          const statuses = await Promise.all(
            Array.from({ length: 100 }, async (_, call) => {
              const made = { authorization: `Bearer made-up-${call}`, cookie: `sotto.session_token=made.up${call}` };
              const answer = await fetch(url, { headers: made, redirect: 'manual' });
              await answer.body?.cancel();
              return answer.status;
            }),
          );
          expect(statuses).toContain(429);
        });
      });
    },
  ],
  { features: ['connected apps'], environment: { RATE_LIMIT_CONTROL: '60' } },
);

await describeConformance(
  'minting, limited',
  [
    (suite) => {
      describe('the rate limit of minting counts by key', () => {
        const url = (path: string): string => `${suite.service.controlUrl}${path}`;
        const minted = async (secret: string): Promise<number> =>
          (await send('POST', url('/inference/tickets'), { headers: bearer(secret), body: { model: 'acme/small' } }))
            .status;
        const useUp = async (secret: string): Promise<void> => {
          for (let at = 0; at < 4; at += 1) expect(await minted(secret)).toBe(200);
          expect(await minted(secret)).toBe(429);
        };

        it('all of whose secrets it counts together', async () => {
          const { browser } = await newPerson(suite.service, 1);
          const asked = async (path: string, body: object) =>
            newKeyAnswerSchema.parse(await (await browser.ask('POST', url(path), { body })).json());
          const { id, key = '' } = await asked('/keys', { name: 'x', kind: 'inference' });
          await useUp(key);
          const rotated = await asked(`/keys/${id}/rotate-secret`, { overlap_hours: 1 });
          expect(await minted(rotated.key ?? '')).toBe(429);
          const other = await asked('/keys', { name: 'y', kind: 'inference' });
          expect(await minted(other.key ?? '')).toBe(200);
        });

        it('and all access tokens of a connection', async () => {
          const app = await newApp(suite.service, await newPerson(suite.service));
          const { client, accessToken, refreshToken } = await connect(
            suite.service,
            await newPerson(suite.service, 1),
            app,
          );
          await useUp(accessToken);
          const refreshed = await oauth.refreshTokenGrant(client, refreshToken);
          expect(refreshed.access_token).not.toBe(accessToken);
          expect(await minted(refreshed.access_token)).toBe(429);
        });
      });
    },
  ],
  { features: ['connected apps'], environment: { RATE_LIMIT_REQUESTS: '2' } },
);

import { capabilitiesAnswerSchema } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { bearer, expectError, get, send } from '../../contract/conformance/client.ts';
import { describeConformance } from '../../contract/conformance/suite.ts';
import { newPerson } from './people.ts';

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
    describe('interface 1: off, as it is by default', () => {
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

      it('capabilities say so, and what looks like an access token is an unknown key', async () => {
        const { json } = await get(url('/capabilities'));
        expect(capabilitiesAnswerSchema.parse(json).connected_apps).toEqual({ enabled: false });
        for (const path of ['/models', '/balance', '/usage']) {
          expectError(await get(url(path), bearer('a'.repeat(43))), 401, 'invalid_api_key');
        }
      });
    });
  },
]);

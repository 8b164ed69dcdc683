import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Concept } from '../../contract/conformance/suite.ts';
import { clientOf, connect, start } from './flow.ts';
import { newApp, newPerson, type Person } from './people.ts';

/** Fields by which OpenID Connect lets a client have the server fetch something. */
const fetchedFields = [
  'jwks_uri',
  'sector_identifier_uri',
  'logo_uri',
  'policy_uri',
  'tos_uri',
  'client_uri',
  'initiate_login_uri',
];

/** No address that a developer or an app names is ever asked for anything. */
export const fetchesNothing: Concept = (suite) => {
  describe('an address that an app names', () => {
    let server: Server;
    let hits = 0;
    let address: string;
    let person: Person;
    beforeAll(async () => {
      server = createServer((_request, response) => {
        hits += 1;
        response.end('{}');
      }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/inside`;
      person = await newPerson(suite.service, 1);
    });
    afterAll(() => server.close());

    it.each(fetchedFields)('is not taken as `%s`', async (field) => {
      const body = {
        name: 'x',
        homepage: 'https://app.example',
        type: 'confidential',
        redirect_uris: ['https://app.example/callback'],
        scopes: ['openid'],
        [field]: address,
      };
      const answer = await person.browser.ask('POST', `${suite.service.controlUrl}/connect/apps`, { body });
      expect(answer.status).toBe(400);
      expect(((await answer.json()) as { error: { message: string } }).error.message).toContain(field);
    });

    it('is not asked where it is a page of the app, its callback, or part of a request', async () => {
      const app = await newApp(suite.service, person, {
        homepage: address,
        redirect_uris: ['https://app.example/callback', address],
      });
      await connect(suite.service, person, app);
      const client = await clientOf(suite.service, app);
      for (const name of ['request_uri', 'request', 'registration', 'jwks_uri', 'resource', 'claims_uri']) {
        const { url } = await start(client, { [name]: address });
        await person.browser.ask('GET', url);
      }
      expect(hits).toBe(0);
      // It would have been seen.
      await fetch(address);
      expect(hits).toBe(1);
    });
  });
};

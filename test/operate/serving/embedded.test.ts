import { afterAll, expect, it } from 'vitest';
import { describeInBothPlanes } from '../../kit/both-planes.ts';
import { filesOf, providerEntry, routeEntry, textModel } from '../../kit/catalog.ts';
import { ask, hello } from '../../kit/client.ts';
import { peopleOf } from '../../kit/people.ts';
import { type FakeProvider, startProvider } from '../../kit/provider.ts';
import { get, post } from '../../kit/send.ts';

const model = 'acme/small';
let provider: FakeProvider | undefined;
afterAll(() => provider?.stop());

// Embedded mode hands each setting to both planes by itself.
await describeInBothPlanes(
  'one process',
  async () => {
    provider = await startProvider();
    const alpha = providerEntry('alpha', provider.baseUrl, { api_key_env: 'ALPHA_KEY' });
    return {
      ...filesOf([alpha], [textModel(model, [routeEntry('alpha')])]),
      environment: { ALPHA_KEY: 'sk-alpha', BILLING_TEST_RAIL: 'on', CONNECTED_APPS: 'on' },
    };
  },
  (planes) => {
    it('serves a key that exists, and sends the provider its own key', async () => {
      const { inferenceKey } = await planes.service.createAccount();
      const answer = await ask(planes.service, inferenceKey, { model, messages: hello });
      expect(answer.status, answer.text).toBe(200);
      expect(provider?.seen.at(-1)?.headers.authorization).toBe('Bearer sk-alpha');
    });

    it('has booked an answer when the answer ends, because memory does not survive the process', async () => {
      const { inferenceKey, accountId } = await planes.service.createAccount();
      for (let requests = 1; requests <= 5; requests += 1) {
        expect((await ask(planes.service, inferenceKey, { model, messages: hello })).status).toBe(200);
        const { rows } = await planes.service.pool.query('select 1 from usage where account_id = $1', [accountId]);
        expect(rows).toHaveLength(requests);
      }
    });

    it('takes orders by the test rail', async () => {
      const people = peopleOf(planes);
      const person = await people.signUp();
      await people.verifyAddress(person);
      const order = await post(people.url('/billing/orders'), { package_id: 'usd-10', rail: 'test' }, person.session);
      expect(order.status, order.text).toBe(201);
    });

    it('lets apps connect', async () => {
      const { status } = await get(`${planes.service.controlUrl}/connect/.well-known/oauth-authorization-server`);
      expect(status).toBe(200);
    });

    it('lets its pages call the broker', async () => {
      const page = await fetch(new URL('/', planes.service.controlUrl));
      expect(page.headers.get('content-security-policy')).toContain(new URL(planes.service.baseUrl).origin);
    });
  },
  { planes: ['one'] },
);

import { freePort, until } from '@sotto/test-servers';
import { expect, it } from 'vitest';
import { ask, hello } from '../../kit/client.ts';
import { peopleOf } from '../../kit/people.ts';
import { get, post } from '../../kit/send.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';

const model = 'acme/small';

const metricsPort = await freePort();

/** An answer waits no longer for its booking. A busy machine may need more. */
const patienceMs = 250;

await describeStage(
  'one process',
  {
    providers: { alpha: { api_key_env: 'ALPHA_KEY' } },
    models: { [model]: { routes: { alpha: [1, 2] } } },
    environment: {
      ...{ ALPHA_KEY: 'sk-alpha', BILLING_TEST_RAIL: 'on', CONNECTED_APPS: 'on' },
      METRICS_PORT: String(metricsPort),
    },
  },
  (stage) => {
    it('serves a key that exists, and sends the provider its own key', async () => {
      const { inferenceKey } = await stage.service.createAccount();
      const answer = await ask(stage.service, inferenceKey, { model, messages: hello });
      expect(answer.status, answer.text).toBe(200);
      expect(stage.provider('alpha').seen.at(-1)?.headers.authorization).toBe('Bearer sk-alpha');
    });

    it('has booked an answer when the answer ends, because memory does not survive the process', async () => {
      const { inferenceKey, accountId } = await stage.service.createAccount();
      const count = async () =>
        (await stage.service.pool.query('select 1 from usage where account_id = $1', [accountId])).rowCount;
      for (let requests = 1; requests <= 5; requests += 1) {
        const askedAt = performance.now();
        expect((await ask(stage.service, inferenceKey, { model, messages: hello })).status).toBe(200);
        const isPatient = performance.now() - askedAt < patienceMs;
        const booked = await count();
        if (isPatient) expect(booked).toBe(requests);
        else await until(async () => (await count()) === requests, 'the answer is booked');
      }
    });

    it('takes orders by the test rail', async () => {
      const people = peopleOf(stage);
      const person = await people.signUp();
      await people.verifyAddress(person);
      const order = await post(people.url('/billing/orders'), { package_id: 'usd-10', rail: 'test' }, person.session);
      expect(order.status, order.text).toBe(201);
    });

    it('lets apps connect', async () => {
      const { status } = await get(`${stage.service.controlUrl}/connect/.well-known/oauth-authorization-server`);
      expect(status).toBe(200);
    });

    it('shows the metrics of both planes on one port', async () => {
      const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
      expect(text).toContain('sotto_attempts_total{provider="alpha"');
      expect(text).toContain('sotto_settler_passed_timestamp_seconds');
      expect(text.match(/^process_resident_memory_bytes /gm)).toHaveLength(1);
    });

    it('lets its pages call the broker', async () => {
      const page = await fetch(new URL('/', stage.service.controlUrl));
      expect(page.headers.get('content-security-policy')).toContain(new URL(stage.service.baseUrl).origin);
    });
  },
  { planes: ['one'] },
);

import { billingCatalogSchema } from '@sotto/contract/control/billing';
import { describe, expect, it } from 'vitest';
import { expectError } from '../../kit/expect-error.ts';
import { get, post } from '../../kit/send.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';
import { type Person, signUp, startPayments, Till } from './world.ts';

await describeStage(
  'a service without rails',
  async () => {
    const spec = await startPayments();
    return { ...spec, environment: { BILLING_FILE: spec.environment.BILLING_FILE, BILLING_TEST_RAIL: 'off' } };
  },
  (stage) => {
    const person = (): Promise<Person> => signUp(stage.service);
    const url = (path: string): string => `${stage.service.controlUrl}${path}`;

    it('shows them as off in the catalog', async () => {
      const { rails } = billingCatalogSchema.parse((await get(url('/billing/catalog'))).json);
      expect(rails).toEqual({ card: { enabled: false }, crypto: { enabled: false }, test: { enabled: false } });
    });

    describe.each(['card', 'crypto', 'test'])('%s', (rail) => {
      it('refuses orders clearly, and leaves none behind', async () => {
        const { session } = await person();
        const answer = await post(url('/billing/orders'), { package_id: 'small', rail }, session);
        expectError(answer, 503, 'rail_disabled', 'rail');
        expect(answer.text).toContain(`\`${rail}\` is switched off`);
        expect(answer.headers.get('x-should-retry')).toBe('false');
        expect((await get(url('/billing/orders'), session)).json).toEqual({ data: [], next_cursor: null });
      });
    });

    it.each(['stripe', 'btcpay'])('says so to a webhook of %s', async (service) => {
      expectError(await post(url(`/billing/webhooks/${service}`), {}), 503, 'rail_disabled');
    });

    it('has no auto top-up', async () => {
      const till = new Till(stage.service, stage.standIns);
      const auto = { enabled: true, threshold_usd: 5, package_id: 'small', monthly_limit_usd: 50 };
      const answer = await till.putSettings(await person(), { low_balance_usd: null, auto_top_up: auto });
      expectError(answer, 503, 'rail_disabled', 'auto_top_up.enabled');
    });
  },
);

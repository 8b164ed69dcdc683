import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeInBothPlanes } from '../kit/both-planes.ts';
import { filesOf, providerEntry, routeEntry, textModel } from '../kit/catalog.ts';
import { bearer } from '../kit/client.ts';
import { type OwnBroker, sharedSecrets, startOwnBroker } from '../kit/own-broker.ts';
import { answerChat, answerError, type FakeProvider, type ProviderHandler, startProvider } from '../kit/provider.ts';
import { post } from '../kit/send.ts';
import { type TestAccount, until } from '../kit/service.ts';

const model = 'm/one';
const secrets = sharedSecrets();

/** The clock moves only when a test moves it, so the duration of a test does not matter. */
const clock = { nowMs: Date.now(), now: () => clock.nowMs };
let alpha: FakeProvider;
let beta: FakeProvider;
let registry: string;

await describeInBothPlanes(
  'penalties, on two brokers with a clock that tests move',
  async () => {
    [alpha, beta] = [await startProvider(), await startProvider()];
    const providers = [providerEntry('alpha', alpha.baseUrl), providerEntry('beta', beta.baseUrl)];
    const [first, second] = [routeEntry('alpha', { input: 1, output: 1 }), routeEntry('beta', { input: 2, output: 2 })];
    const models = [
      textModel(model, [first, second]),
      textModel('m/two', [first, second]),
      textModel('m/alone', [first]),
    ];
    const files = filesOf(providers, models);
    ({ registry } = files);
    return {
      ...files,
      environment: secrets,
      stop: async () => {
        await Promise.all([alpha.stop(), beta.stop()]);
      },
    };
  },
  (planes) => {
    let account: TestAccount;
    const brokers: OwnBroker[] = [];
    const startBroker = (): Promise<OwnBroker> =>
      startOwnBroker({ redisUrl: planes.service.redisUrl ?? '', registry, secrets, now: clock.now });
    beforeAll(async () => {
      account = await planes.service.createAccount({ preferences: { provider_sort: 'price' } });
      brokers.push(await startBroker(), await startBroker());
    });
    afterAll(async () => {
      for (const broker of brokers) await broker.stop();
    });

    /** The provider that a broker tries first, according to one request. */
    async function firstOf(at: number, asked = model): Promise<string> {
      const { text, headers, status } = await post(
        `${brokers[at]?.baseUrl}/chat/completions`,
        { model: asked, messages: [{ role: 'user', content: 'hello' }] },
        bearer(account.inferenceKey),
      );
      expect(status, text).toBe(200);
      const served = headers.get('x-router-provider') ?? '';
      return headers.get('x-router-provider-fallback') === 'true' ? `not ${served}` : served;
    }

    /** Lets alpha fail at the first broker. Then alpha recovers, and the second broker has learned of the failure. */
    async function failAlpha(how: ProviderHandler = answerError(500), asked = model): Promise<void> {
      alpha.answer(how);
      expect(await firstOf(0, asked)).toBe('not beta');
      alpha.answer(answerChat());
      await until(async () => (await firstOf(1, asked)) === 'beta', 'the other broker has heard of it');
    }

    const advance = (ms: number): void => {
      clock.nowMs += ms;
    };

    /**
     * Expects alpha to be behind for exactly this many seconds, on both brokers. Afterwards the clock is past that
     * time.
     */
    async function expectBehindFor(seconds: number): Promise<void> {
      advance((seconds - 1) * 1000);
      for (const at of [0, 1]) expect(await firstOf(at), `before ${seconds} s, broker ${at}`).toBe('beta');
      advance(2000);
      for (const at of [0, 1]) expect(await firstOf(at), `after ${seconds} s, broker ${at}`).toBe('alpha');
    }

    it('a first failure puts the route behind healthy ones for 30 s; each further one doubles it, up to 5 minutes', async () => {
      for (const seconds of [30, 60, 120, 240, 300, 300]) {
        await failAlpha();
        await expectBehindFor(seconds);
      }
    });

    it('ten minutes without a failure restart the count', async () => {
      advance(600_000);
      await failAlpha();
      await expectBehindFor(30);
      advance(600_000);
    });

    it('a 429 affects only that route, a 401 and a 402 every route of the provider', async () => {
      await failAlpha(answerError(429));
      expect(await firstOf(0, 'm/two')).toBe('alpha');
      for (const status of [401, 402]) {
        advance(700_000);
        await failAlpha(answerError(status));
        for (const at of [0, 1]) expect(await firstOf(at, 'm/two'), `${status}`).toBe('beta');
      }
      advance(700_000);
    });

    it('a model with one route keeps working while that is penalized', async () => {
      await failAlpha(answerError(401));
      for (const at of [0, 1]) expect(await firstOf(at, 'm/alone')).toBe('alpha');
      advance(700_000);
    });

    it('survive a broker’s restart', async () => {
      await failAlpha();
      const [old] = brokers.splice(0, 1);
      await old?.stop();
      brokers.push(await startBroker());
      expect(await firstOf(1)).toBe('beta');
    });
  },
  { planes: ['two'] },
);

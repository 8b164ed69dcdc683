import { afterAll, beforeAll, expect, it } from 'vitest';
import { bearer } from '../kit/client.ts';
import { type OwnBroker, sharedSecrets, startOwnBroker } from '../kit/own-broker.ts';
import { answerChat, answerError, type ProviderHandler } from '../kit/provider.ts';
import { post } from '../kit/send.ts';
import { type TestAccount, until } from '../kit/service.ts';
import { describeStage } from '../kit/stage/describe-stage.ts';

const model = 'm/one';
const secrets = sharedSecrets();

/** The clock moves only when a test moves it, so the duration of a test does not matter. */
const clock = { nowMs: Date.now(), now: () => clock.nowMs };

await describeStage(
  'penalties, on two brokers with a clock that tests move',
  {
    providers: { alpha: {}, beta: {} },
    models: {
      [model]: { routes: { alpha: [1, 1], beta: [2, 2] } },
      'm/two': { routes: { alpha: [1, 1], beta: [2, 2] } },
      'm/alone': { routes: { alpha: [1, 1] } },
    },
    environment: secrets,
  },
  (stage) => {
    let account: TestAccount;
    const brokers: OwnBroker[] = [];
    const startBroker = (): Promise<OwnBroker> =>
      startOwnBroker({
        redisUrl: stage.service.redisUrl ?? '',
        registry: stage.files.registry,
        secrets,
        now: clock.now,
      });
    beforeAll(async () => {
      account = await stage.service.createAccount({ preferences: { provider_sort: 'price' } });
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
      stage.provider('alpha').answer(how);
      expect(await firstOf(0, asked)).toBe('not beta');
      stage.provider('alpha').answer(answerChat());
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

import { randomBytes } from 'node:crypto';
import type { PrivateFetch } from '@sotto/client';
import { makePrivateFetch, nodePlatform } from '@sotto/client/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bearer, hello } from '../../kit/client.ts';
import { expectError } from '../../kit/expect-error.ts';
import { startRelay, type TestRelay } from '../../kit/relay.ts';
import { get, post } from '../../kit/send.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';

const model = 'acme/small';
const requestLimit = 5;
const controlLimit = 40;
const receiptLimit = 600;

await describeStage(
  'users behind one exit of a relay',
  {
    providers: { acme: {} },
    models: { [model]: { routes: { acme: [0.5, 1.5] } } },
    environment: { RATE_LIMIT_REQUESTS: String(requestLimit), RATE_LIMIT_CONTROL: String(controlLimit) },
  },
  (stage) => {
    let relay: TestRelay;
    const opened: PrivateFetch[] = [];
    beforeAll(async () => {
      relay = await startRelay();
    });
    afterAll(async () => {
      for (const fetch of opened) fetch.close();
      await relay.stop();
    });

    /** A new user whose client connects through the relay. Its key was never used. */
    const newUser = async () => {
      const { inferenceKey } = await stage.service.createAccount();
      const platform = nodePlatform({
        ...{ selfSigned: false, relay: `socks5://127.0.0.1:${relay.port}`, relaysPlainHttp: true },
      });
      const fetch = makePrivateFetch(platform, {
        ...{ apiKey: inferenceKey, controlOrigin: stage.service.controlUrl, baseOrigin: stage.service.baseUrl },
        ...{ allowSimulated: true, ticketsAhead: 0 },
      });
      opened.push(fetch);
      const ask = async (headers: Record<string, string> = {}): Promise<number> => {
        const body = JSON.stringify({ model, messages: hello });
        const url = `${stage.service.baseUrl}/chat/completions`;
        const answer = await fetch(url, { method: 'POST', headers, body });
        await answer.body?.cancel();
        return answer.status;
      };
      return { inferenceKey, ask };
    };

    /** Sends wrong credentials from the exit’s address until they are limited. Returns how many were not. */
    const guess = async (send: (secret: string) => ReturnType<typeof get>, status: number, most: number) => {
      for (let wrong = 0; wrong < most; wrong += 1) {
        const answer = await send(randomBytes(32).toString('hex'));
        if (answer.status !== status) {
          expectError(answer, 429, 'rate_limited');
          return wrong;
        }
      }
      return most;
    };

    it('goes on being served after another one has used up the limit of their key', async () => {
      const [greedy, honest] = [await newUser(), await newUser()];
      const statuses: number[] = [];
      while (!statuses.includes(429) && statuses.length < 100) statuses.push(await greedy.ask());
      expect(statuses.slice(0, requestLimit)).toEqual(Array(requestLimit).fill(200));
      expect(statuses.at(-1)).toBe(429);
      expect(await honest.ask()).toBe(200);
      expect(new Set(relay.asked).size).toBe(2);
    });

    it('goes on being served while others send wrong keys, which are limited by the address', async () => {
      const { controlUrl } = stage.service;
      const seen = await newUser();
      expect(await seen.ask()).toBe(200);
      const mint = (key: string) => post(`${controlUrl}/inference/tickets`, { model }, bearer(key));
      expect(await guess(mint, 401, 2 * controlLimit)).toBeLessThanOrEqual(controlLimit);
      const unseen = await newUser();
      expect([await seen.ask(), await unseen.ask()]).toEqual([200, 200]);
      expectError(await mint('wrong'), 429, 'rate_limited');
    });

    it('gets their receipts while others guess, and guesses are limited by the address', async () => {
      const user = await newUser();
      const secret = randomBytes(32).toString('hex');
      expect(await user.ask({ 'x-router-receipt': secret })).toBe(200);
      const receipt = (of: string) => get(`${stage.service.baseUrl}/inference/receipt`, { 'x-router-receipt': of });
      expect(await guess(receipt, 404, 2 * receiptLimit)).toBeLessThanOrEqual(receiptLimit);
      expect((await receipt(secret)).status).toBe(200);
    });
  },
);

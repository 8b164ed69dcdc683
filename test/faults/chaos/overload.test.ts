import { Pool } from 'undici';
import { expect, it } from 'vitest';
import { end, startNode } from '../../../tools/bench/contender.ts';
import { bearer } from '../../kit/client.ts';
import { type Service, type TestAccount, until } from '../../kit/service.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';

const model = 'burst-500';
/** This exceeds the 2,000 requests of a burst that may wait. */
const clients = 3000;

interface Answered {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly isWhole: boolean;
  readonly text: string;
}

let provider: Awaited<ReturnType<typeof startNode>>;

await describeStage(
  'more than a broker can do',
  async () => {
    provider = await startNode('./processes/provider.ts', [], false);
    const server = { baseUrl: `http://127.0.0.1:${provider.port}/v1`, stop: () => end(provider.child) };
    return {
      providers: { p: { server } },
      models: { [`m/${model}`]: { routes: { p: { upstream: model, pricing: [1, 2] } } } },
    };
  },
  (stage) => {
    function openClients(service: Service, account: TestAccount) {
      const pool = new Pool(new URL(service.baseUrl).origin, { connections: clients, pipelining: 1 });
      const body = JSON.stringify({
        ...{ model: `m/${model}`, stream: true, max_tokens: 1000 },
        messages: [{ role: 'user', content: 'Hi' }],
      });
      const headers = { ...bearer(account.inferenceKey), 'content-type': 'application/json' };
      const ask = (): Promise<Answered> =>
        new Promise((resolve, reject) => {
          let status = 0;
          let retryAfter: string | undefined;
          let text = '';
          pool.dispatch(
            { path: '/v1/chat/completions', method: 'POST', headers, body },
            {
              onRequestStart() {},
              onResponseStart(_controller, code, got) {
                status = code;
                retryAfter = got['retry-after']?.toString();
              },
              onResponseData(_controller, piece) {
                text = (text + piece.toString('latin1')).slice(-400);
              },
              onResponseEnd: () => resolve({ status, retryAfter, isWhole: text.includes('data: [DONE]'), text }),
              onResponseError: (_controller, error) => reject(error),
            },
          );
        });
      return { ask, close: () => pool.destroy() };
    }

    it('requests beyond the waiting limit are served or get a 503 at once, and every answer is paid', async () => {
      const { service } = stage;
      const account = await service.createAccount({ usd: 1000 });
      const { ask, close } = openClients(service, account);
      const answers: Answered[] = [];
      // Clients ask until one is refused. How soon that happens depends on the machine.
      let isOver = false;
      const askAgain = async (): Promise<void> => {
        while (!isOver) {
          const answer = await ask();
          answers.push(answer);
          isOver ||= answer.status !== 200;
        }
      };
      await Promise.all(Array.from({ length: clients }, askAgain));
      const served = answers.filter(({ status }) => status === 200);
      const refused = answers.filter(({ status }) => status !== 200);
      expect(served.length).toBeGreaterThan(0);
      expect(served.filter(({ isWhole }) => !isWhole)).toEqual([]);
      expect(refused.filter(({ status, retryAfter }) => status !== 503 || retryAfter !== '1')).toEqual([]);
      expect(JSON.parse(refused[0]?.text ?? '{}')).toMatchObject({ error: { type: 'service_unavailable' } });
      await until(() => service.logs().includes('requests shed'), 'the log says how many were refused', 60_000);

      // Once there is room again, every request is served.
      const isForAll = async (): Promise<boolean> =>
        (await Promise.all(Array.from({ length: 100 }, ask))).every(({ status }) => status === 200);
      await until(isForAll, 'a hundred at once are served', 60_000);
      await close();
      await service.settled(account);
      expect(await service.runControl(['audit'])).toMatchObject({ code: 0 });
    }, 240_000);
  },
  { planes: ['two'] },
);

import type { ServerResponse } from 'node:http';
import { until } from '@sotto/test-servers';
import { expect, it } from 'vitest';
import type { Answer } from '../../kit/answer.ts';
import { bearer } from '../../kit/client.ts';
import { answerChat, answerError, type SeenRequest } from '../../kit/provider.ts';
import { post } from '../../kit/send.ts';
import type { TestAccount } from '../../kit/service.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';

const mebibyte = 1024 * 1024;
/** A request holds three bytes for each of its body. One key may hold a quarter of this: a body of 8 MiB. */
const memory = 96 * mebibyte;
const largestBody = memory / 4 / 3;

await describeStage(
  'the memory of running requests',
  {
    providers: { alpha: {} },
    models: { 'm/one': { routes: { alpha: { pricing: [1, 2], capabilities: { vision: true } } } } },
    environment: { REQUEST_MEMORY_MIB: String(memory / mebibyte) },
  },
  (stage) => {
    /** A chat body with one image that fills it to this size in bytes. */
    const bodyOf = (bytes: number, more: object = {}): string => {
      const withImage = (base64: string): string => {
        const url = `data:image/png;base64,${base64}`;
        const content = [{ type: 'image_url', image_url: { url } }];
        return JSON.stringify({ model: 'm/one', messages: [{ role: 'user', content }], ...more });
      };
      return withImage('A'.repeat(4 * Math.floor((bytes - withImage('').length) / 4)));
    };
    const ask = (account: TestAccount, raw: string, options: object = {}): Promise<Answer> =>
      post(`${stage.service.baseUrl}/chat/completions`, raw, bearer(account.inferenceKey), options);

    /** Makes the provider keep its requests, until `answerAll`. */
    const keepWaiting = () => {
      const waiting: [SeenRequest, ServerResponse][] = [];
      stage.provider('alpha').answer((request, response) => void waiting.push([request, response]));
      const answerAll = (): void => {
        const answer = answerChat();
        for (const [request, response] of waiting.splice(0)) void answer(request, response);
        stage.provider('alpha').answer(answer);
      };
      return { waiting, answerAll };
    };

    /** The largest body fits only if no request holds anything. */
    const expectNothingHeld = async (account: TestAccount): Promise<void> => {
      stage.provider('alpha').answer(answerChat());
      await until(async () => (await ask(account, bodyOf(largestBody))).status === 200, 'all memory is free');
    };

    it('is limited for each key until the provider answers, and leaves room for others', async () => {
      const [greedy, other] = [await stage.service.createAccount(), await stage.service.createAccount()];
      const { waiting, answerAll } = keepWaiting();
      const answers: Promise<Answer>[] = [];
      for (let sent = 0; sent < 3; sent += 1) {
        answers.push(ask(greedy, bodyOf(2 * mebibyte)));
        await until(() => waiting.length === sent + 1, 'the provider has the request');
      }
      const refused = await ask(greedy, bodyOf(3 * mebibyte));
      expect(refused.status).toBe(503);
      expect(refused.headers.get('retry-after')).toBe('1');
      expect(refused.error).toMatchObject({ type: 'service_unavailable' });
      const neighbour = ask(other, bodyOf(2 * mebibyte));
      await until(() => waiting.length === 4, 'another key is served');
      answerAll();
      for (const { status } of await Promise.all([...answers, neighbour])) expect(status).toBe(200);
      await expectNothingHeld(greedy);
    });

    it('is free again after every end: an error, a refusal, a client that leaves, a failed provider', async () => {
      const account = await stage.service.createAccount();
      stage.provider('alpha').answer(answerError(500));
      expect((await ask(account, bodyOf(2 * mebibyte))).status).toBe(502);
      expect((await ask(account, `${bodyOf(2 * mebibyte)},`)).status).toBe(400);
      expect((await ask(account, bodyOf(2 * mebibyte, { model: 'm/none' }))).status).toBe(404);
      expect((await ask(account, bodyOf(largestBody + 1024))).status).toBe(413);
      const { waiting } = keepWaiting();
      const { promise: left, resolve: leave } = Promise.withResolvers<void>();
      const leaving = ask(account, bodyOf(2 * mebibyte), { leaveOn: left });
      await until(() => waiting.length === 1, 'the provider has the request');
      leave();
      expect((await leaving).ended).toBe('left');
      await expectNothingHeld(account);
    });

    it('does not count the prompt of a stream that has begun', async () => {
      const account = await stage.service.createAccount();
      const { promise: mayEnd, resolve: letEnd } = Promise.withResolvers<void>();
      let begun = '';
      stage.provider('alpha').answer(async (_request, response) => {
        const chunk = (choice: object): string => `data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`;
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(chunk({ delta: { content: 'Hi' } }));
        await mayEnd;
        response.end(`${chunk({ delta: {}, finish_reason: 'stop' })}data: [DONE]\n\n`);
      });
      const streaming = ask(account, bodyOf(6 * mebibyte, { stream: true }), {
        leaveWhen: (text: string) => {
          begun = text;
          return false;
        },
      });
      await until(() => begun.includes('Hi'), 'the stream has begun');
      await expectNothingHeld(account);
      letEnd();
      expect(await streaming).toMatchObject({ status: 200, complete: true });
    });
  },
  { planes: ['two'] },
);

import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventsIn } from '../../kit/answer.ts';
import { usageRows } from '../../kit/books.ts';
import { ask } from '../../kit/client.ts';
import { type OpenRequest, openRequest } from '../../kit/open-request.ts';
import { answerError, type ProviderHandler } from '../../kit/provider.ts';
import { createAccounts } from '../../kit/scenes/accounts.ts';
import * as sse from '../../kit/scenes/events.ts';
import { rawText } from '../../kit/scenes/misbehave.ts';
import { bothModes, everyWay } from '../../kit/scenes/ways.ts';
import { type TestAccount, until } from '../../kit/service.ts';
import type { Suite } from '../../kit/stage/suites.ts';
import { textOf } from '../../kit/stage/usual-answer.ts';

const price = [1, 2] as const;
const megabyte = 1024 * 1024;

export const pressureSuite: Suite = {
  name: 'pressure',
  spec: {
    copies: 30,
    providers: { alpha: {}, beta: {}, leaky: {} },
    models: {
      single: { routes: { alpha: price } },
      pair: { routes: { alpha: price, beta: [3, 6] } },
      leaky: { routes: { leaky: price, beta: [3, 6] } },
    },
  },
  tests(stage) {
    let account: TestAccount;
    let other: TestAccount;
    beforeAll(async () => {
      ({ account, other } = await createAccounts(stage.service, { account: {}, other: {} }));
    });

    const residentBytes = (): number => stage.service.broker.residentBytes();

    /** Streams large pieces as fast as the broker reads them, and records how many were sent. */
    function pours(
      count: number,
      piece: string,
      { start = '', end = sse.ending } = {},
    ): { readonly handler: ProviderHandler; sent: number; movedAt: number } {
      const progress = {
        sent: 0,
        movedAt: performance.now(),
        async handler(_request: object, response: Parameters<ProviderHandler>[1]) {
          sse.openStream(response);
          await sse.send(response, start);
          for (; progress.sent < count; progress.sent += 1) {
            if (!(await sse.send(response, piece))) return;
            progress.movedAt = performance.now();
          }
          response.end(end);
        },
      };
      return progress;
    }
    const isHeldBack = (progress: { movedAt: number }): boolean => performance.now() - progress.movedAt > 500;

    describe('a client that does not read', () => {
      const piece = 'x'.repeat(64 * 1024);
      const count = 1600;
      let model: string;
      let client: OpenRequest;
      let progress: ReturnType<typeof pours>;
      let before: number;
      beforeEach(async () => {
        before = residentBytes();
        progress = pours(count, sse.text(piece));
        stage.on('alpha', progress.handler);
        model = stage.model('single');
        client = await openRequest(stage.service, account, { model, stream: true }, { reading: false });
        await client.response;
        await until(() => isHeldBack(progress), 'the provider is held back');
      });

      it('holds the provider back, costs no memory, and gets everything once it reads again', async () => {
        expect(progress.sent).toBeLessThan(count / 2);
        expect(residentBytes() - before).toBeLessThan(64 * megabyte);
        const response = await client.response;
        let length = 0;
        let end = '';
        response.on('data', (more: Buffer) => {
          length += more.length;
          end = (end + more.toString('latin1')).slice(-200);
        });
        await client.ended;
        expect(progress.sent).toBe(count);
        expect(end).toMatch(/"finish_reason":"stop".*\n\ndata: \[DONE\]\n\n$/);
        expect(length).toBeGreaterThan(count * piece.length);
        expect(residentBytes() - before).toBeLessThan(128 * megabyte);
      });

      it('disturbs no other client', async () => {
        stage.on('alpha', (_request, response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' }).end(sse.text('Quick.') + sse.ending);
        });
        const answer = await ask(stage.service, other.inferenceKey, {
          model: stage.model('single'),
          stream: true,
        });
        expect(answer).toMatchObject({ content: 'Quick.', done: true });
        client.leave();
        await client.ended;
      });

      it('leaves: the provider is no longer held back, and the output so far is paid', async () => {
        expect(progress.sent).toBeLessThan(count);
        client.leave();
        await stage.provider('alpha').seen[0]?.closed;
        await stage.service.settled(account);
        const rows = (await usageRows(stage.service, account)).filter((row) => row.model === model);
        expect(rows).toHaveLength(1);
        expect(rows[0]?.cost).toBeGreaterThan(0n);
      });
    });

    describe('a line without an end', () => {
      const count = 8;
      /** A line of 8 MB. */
      const poursLine = (start: string) => pours(count, 'x'.repeat(megabyte), { start, end: `\n\n${sse.ending}` });

      it.each([
        ['of data', 'data: {"choices":[{"index":0,"delta":{"content":"'],
        ['of a comment', ': '],
        ['of noise', ''],
      ])('%s, before output: is cut off, and the next serves', async (_, start) => {
        const progress = poursLine(start);
        stage.on('alpha', progress.handler);
        const answer = await ask(stage.service, account.inferenceKey, {
          model: stage.model('pair'),
          stream: true,
        });
        expect(answer.content).toBe(textOf('beta'));
        await stage.provider('alpha').seen[0]?.closed;
        expect(progress.sent).toBeLessThan(count);
      });

      it('after output: is cut off, and the client is told', async () => {
        const start = `${sse.role}${sse.text('Listen: ')}${sse.text('So. ')}data: {"choices":[{"delta":{"content":"`;
        stage.on('alpha', poursLine(start).handler);
        const answer = await ask(stage.service, account.inferenceKey, {
          model: stage.model('pair'),
          stream: true,
        });
        expect(answer).toMatchObject({ content: 'Listen: So. ', done: false, error: { type: 'provider_error' } });
        await stage.provider('alpha').seen[0]?.closed;
        expect(stage.called).toEqual(['alpha']);
      });
    });

    it('two clients, fifty streams at once: no client sees a word of another', async () => {
      // Each stream repeats the words of its own question, in pieces and at its own speed.
      const echo: ProviderHandler = async (request, response) => {
        const [message] = request.body.messages as [{ content: string }];
        sse.openStream(response);
        await sse.send(response, sse.role);
        for (const word of message.content.split(' ')) {
          await sse.send(response, sse.text(word));
          if (Math.random() < 0.3) await new Promise((resolve) => setImmediate(resolve));
        }
        response.end(sse.ending);
      };
      stage.onAll(['alpha', 'beta'], echo);
      const model = stage.model('pair');
      await Promise.all(
        Array.from({ length: 100 }, async (_, index) => {
          const who = index % 2 === 0 ? account : other;
          const words = Array.from({ length: 40 }, (_each, at) => `<${index}:${at}>`);
          const body = { model, messages: [{ role: 'user', content: words.join(' ') }] };
          const way = everyWay[index % 4];
          const flow = way?.flow ?? 'compatibility';
          const answer = await ask(stage.service, who.inferenceKey, { ...body, stream: true }, { flow });
          expect(answer.content).toBe(words.join(''));
          expect(answer.done).toBe(true);
        }),
      );
    });

    it('a stream in one read is forwarded whole', async () => {
      const words = Array.from({ length: 5000 }, (_, index) => `word${index} `);
      stage.on('alpha', (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end(sse.role + words.map((word) => sse.text(word)).join('') + sse.ending);
      });
      const body = { model: stage.model('single'), stream: true };
      const client = await openRequest(stage.service, account, body);
      await client.ended;
      expect(eventsIn(client.received)).toMatchObject({ content: words.join(''), done: true });
    });

    describe('failed answers leave no connections behind', () => {
      const bodies: Record<string, ProviderHandler> = {
        small: answerError(503),
        'large ones': answerError(503, { message: rawText.repeat(50_000) }),
        'ones without an end': (_request, response) => {
          response.writeHead(429, { 'content-type': 'application/json' });
          const timer = setInterval(() => response.write(rawText.repeat(1000)), 5);
          response.once('close', () => clearInterval(timer));
        },
        'answers that are none': (_request, response) => {
          response.writeHead(200, { 'content-type': 'text/html' }).end(`<p>${rawText}</p>`);
        },
      };

      it.each(Object.entries(bodies))('%s: 200 failovers', async (_, failing) => {
        stage.on('leaky', failing);
        const model = stage.model('leaky');
        const width = 10;
        let most = 0;
        const one = async (index: number): Promise<void> => {
          const body = { model, stream: index % 2 === 0, provider: { order: ['leaky'] } };
          const answer = await ask(stage.service, account.inferenceKey, body);
          expect(answer.content).toBe(textOf('beta'));
          most = Math.max(most, stage.provider('leaky').openSockets);
        };
        for (let round = 0; round < 20; round += 1) {
          await Promise.all(Array.from({ length: width }, (_each, index) => one(index)));
        }
        expect(stage.called.filter((id) => id === 'leaky')).toHaveLength(200);
        expect(most).toBeLessThanOrEqual(2 * width);
        await until(() => stage.provider('leaky').openSockets <= width, 'the connections are closed or kept for reuse');
      });
    });

    it.each(bothModes)('refused clients leave no connections either ($name)', async ({ stream }) => {
      stage.onAll(['alpha', 'beta'], answerError(500, { message: rawText.repeat(10_000) }));
      const model = stage.model('pair');
      const before = stage.provider('beta').openSockets + 1;
      for (let round = 0; round < 20; round += 1) {
        const answer = await ask(stage.service, account.inferenceKey, { model, stream });
        expect(answer).toMatchObject({ status: 503, error: { type: 'provider_fallback_exhausted' } });
        expect(answer.text).not.toContain(rawText);
      }
      await until(() => stage.provider('beta').openSockets <= before, 'connections are closed or kept for reuse');
    });
  },
};

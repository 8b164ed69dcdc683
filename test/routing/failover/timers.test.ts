import { beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../../kit/answer.ts';
import { chargeOf } from '../../kit/books.ts';
import { ask } from '../../kit/client.ts';
import { openRequest } from '../../kit/open-request.ts';
import { answerChat, answerError, answerNothing, type ProviderHandler, sendJson } from '../../kit/provider.ts';
import { createAccounts } from '../../kit/scenes/accounts.ts';
import * as sse from '../../kit/scenes/events.ts';
import { rawText } from '../../kit/scenes/misbehave.ts';
import { bothModes } from '../../kit/scenes/ways.ts';
import { type TestAccount, until } from '../../kit/service.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';
import type { StageSpec } from '../../kit/stage/spec.ts';
import { textOf, usualAnswer, usualCost } from '../../kit/stage/usual-answer.ts';

const timeouts = { connect_ms: 300, first_byte_ms: 400, idle_ms: 500, total_ms: 60_000 };
const { connect_ms: connectMs, first_byte_ms: firstByteMs, idle_ms: idleMs } = timeouts;
/** The total limit of the provider `hasty`, for the tests of this limit. All others have a minute. */
const totalMs = 2500;
/** The limits of the provider `steady`. Its pieces arrive well within them, even on a busy machine. */
const steady = { first_byte_ms: 1500, idle_ms: 2000 };
/** Far above every shorter limit and far below a minute. A longer time means that the wrong limit ended the request. */
const soonMs = 30_000;
const price = [1, 2] as const;

const after = (ms: number, act: () => void): void => void setTimeout(act, ms);

/** Sends something every 50 ms until the connection closes. */
const drips =
  (headers: Record<string, string>, status: number, drop: string): ProviderHandler =>
  (_request, response) => {
    response.writeHead(status, headers);
    const timer = setInterval(() => response.write(drop), 50);
    response.once('close', () => clearInterval(timer));
  };

const spec: StageSpec = {
  copies: 60,
  limits: { context_length: 100_000, max_output_tokens: 4_000 },
  providers: {
    alpha: { timeouts },
    hasty: { timeouts: { ...timeouts, idle_ms: 60_000, total_ms: totalMs } },
    steady: { timeouts: { ...timeouts, ...steady } },
    beta: { timeouts },
    gamma: { timeouts },
    deaf: { timeouts, server: 'deaf' },
  },
  models: {
    single: { routes: { alpha: price } },
    steady: { routes: { steady: price } },
    'steady-pair': { routes: { steady: price, beta: [3, 6] } },
    'hasty-single': { routes: { hasty: price } },
    'hasty-pair': { routes: { hasty: price, beta: [3, 6] } },
    pair: { routes: { alpha: price, beta: [3, 6] } },
    trio: { routes: { alpha: price, beta: [3, 6], gamma: [4, 8] } },
    deaf: { routes: { deaf: price, beta: [3, 6] } },
  },
};

// The kind of planes does not matter here, because the timers are the broker's own.
await describeStage(
  'time limits',
  spec,
  (stage) => {
    let account: TestAccount;
    let patient: TestAccount;
    let talkative: TestAccount;
    let thrifty: TestAccount;
    beforeAll(async () => {
      const accounts = { account: {}, patient: {}, talkative: {}, thrifty: {} };
      ({ account, patient, talkative, thrifty } = await createAccounts(stage.service, accounts));
      // Warm up: the first run of the code takes longer than these limits allow.
      await Promise.all(
        bothModes.map(({ stream }) => ask(stage.service, account.inferenceKey, { model: stage.model('pair'), stream })),
      );
    });

    /** Sends a request, and measures how long the answer took. */
    async function timed(body: object, by = account): Promise<Answer & { readonly tookMs: number }> {
      const startedAt = performance.now();
      const answer = await ask(stage.service, by.inferenceKey, body);
      expect(answer.text).not.toContain(rawText);
      return Object.assign(answer, { tookMs: performance.now() - startedAt });
    }

    describe.concurrent.each(bothModes)('$name', ({ stream }) => {
      const asWanted = { 'content-type': stream ? 'text/event-stream' : 'application/json' };

      it('a provider that accepts and says nothing: the next serves after first_byte, and it goes behind', async () => {
        const scene = stage.scene('pair');
        scene.on('alpha', answerNothing);
        const answer = await timed({ model: scene.model, stream });
        expect(answer).toMatchObject({ status: 200, content: textOf('beta') });
        expect(answer.tookMs).toBeGreaterThan(firstByteMs - 50);
        expect(answer.tookMs).toBeLessThan(soonMs);
        await scene.seen('alpha')[0]?.closed;
        scene.reset();
        await timed({ model: scene.model, stream });
        expect(scene.called).toEqual(['beta']);
      });

      it('headers without an answer: the next serves', async () => {
        const scene = stage.scene('pair');
        scene.on('alpha', (_request, response) => {
          response.writeHead(200, asWanted);
          response.flushHeaders();
        });
        const answer = await timed({ model: scene.model, stream });
        expect(answer.content).toBe(textOf('beta'));
        expect(answer.tookMs).toBeLessThan(soonMs);
        await scene.seen('alpha')[0]?.closed;
      });

      it('the first byte is awaited again at each provider, and longer at the last', async () => {
        const scene = stage.scene('trio');
        scene.on('alpha', answerNothing);
        scene.on('beta', answerNothing);
        scene.on('gamma', (request, response) => {
          after(firstByteMs + 300, () => void answerChat({ content: 'At last.' })(request, response));
        });
        const answer = await timed({ model: scene.model, stream });
        expect(answer).toMatchObject({ status: 200, content: 'At last.' });
        expect(scene.called).toEqual(['alpha', 'beta', 'gamma']);
        expect(answer.tookMs).toBeGreaterThan(3 * firstByteMs - 50);
      });

      it('the last candidate may be silent until total, before its headers', async () => {
        const scene = stage.scene('single');
        scene.on('alpha', (request, response) => {
          after(idleMs + firstByteMs, () => void answerChat({ content: 'I had to think.' })(request, response));
        });
        const answer = await timed({ model: scene.model, stream });
        expect(answer).toMatchObject({ status: 200, content: 'I had to think.' });
      });

      it('the last candidate may be silent until total, after its headers', async () => {
        const scene = stage.scene('single');
        scene.on('alpha', (_request, response) => {
          response.writeHead(200, asWanted);
          response.flushHeaders();
          const choice = { index: 0, message: { role: 'assistant', content: 'Thought.' }, finish_reason: 'stop' };
          const whole = JSON.stringify({ choices: [choice] });
          after(idleMs + firstByteMs, () => response.end(stream ? sse.text('Thought.') + sse.ending : whole));
        });
        const answer = await timed({ model: scene.model, stream });
        expect(answer).toMatchObject({ status: 200, content: 'Thought.' });
      });

      it('total, at the only provider: 504, which a client should not retry blindly', async () => {
        const scene = stage.scene('hasty-single');
        scene.on('hasty', answerNothing);
        const answer = await timed({ model: scene.model, stream });
        expect(answer).toMatchObject({ status: 504, error: { type: 'provider_timeout' } });
        expect(answer.headers.get('x-should-retry')).toBe('false');
        expect(answer.tookMs).toBeGreaterThan(totalMs - 50);
        expect(answer.tookMs).toBeLessThan(soonMs);
        await scene.seen('hasty')[0]?.closed;
      });

      it('total bounds all attempts together, by the limit of the first', async () => {
        const scene = stage.scene('hasty-pair');
        scene.on('hasty', answerNothing);
        scene.on('beta', answerNothing);
        const answer = await timed({ model: scene.model, stream });
        expect(answer).toMatchObject({ status: 503, error: { type: 'provider_fallback_exhausted' } });
        expect(answer.tookMs).toBeGreaterThan(totalMs - 50);
        expect(answer.tookMs).toBeLessThan(soonMs);
        await scene.seen('beta')[0]?.closed;
      });

      it('a failed answer whose body never ends: the next serves, and soon', async () => {
        const scene = stage.scene('pair');
        scene.on('alpha', (_request, response) => {
          response.writeHead(503, { 'content-type': 'application/json' });
          response.write(`{"error": {"message": "${rawText}`);
        });
        const answer = await timed({ model: scene.model, stream });
        expect(answer.content).toBe(textOf('beta'));
        expect(answer.tookMs).toBeLessThan(soonMs);
        await scene.seen('alpha')[0]?.closed;
      });

      it('a failed answer whose body never ends, alone: keeps the meaning of its status, and is not a timeout', async () => {
        const scene = stage.scene('single');
        scene.on('alpha', (_request, response) => {
          response.writeHead(429, { 'content-type': 'application/json', 'retry-after': '9' });
          response.write(`{"error": {"message": "${rawText}`);
        });
        const answer = await timed({ model: scene.model, stream });
        expect(answer).toMatchObject({ status: 429, error: { type: 'rate_limited' } });
        expect(answer.headers.get('retry-after')).toBe('9');
        expect(answer.tookMs).toBeLessThan(soonMs);
      });

      it('a failed answer that drips, alone: keeps the meaning of its status too', async () => {
        const scene = stage.scene('single');
        scene.on('alpha', drips({ 'content-type': 'application/json' }, 429, ' '));
        const answer = await timed({ model: scene.model, stream });
        expect(answer).toMatchObject({ status: 429, error: { type: 'rate_limited' } });
      });

      it('a failed answer that breaks off: keeps the meaning of its status', async () => {
        const scene = stage.scene('steady-pair');
        scene.on('steady', async (_request, response) => {
          response.writeHead(400, { 'content-type': 'application/json', 'content-length': '999' });
          await sse.send(response, `{"error": {"message": "${rawText}`);
          response.destroy();
        });
        const answer = await timed({ model: scene.model, stream });
        expect(answer).toMatchObject({ status: 400, error: { type: 'invalid_request' } });
        expect(scene.called).toEqual(['steady']);
      });

      it('an address that accepts no connection: the next serves', async () => {
        const answer = await timed({ model: stage.model('deaf'), stream });
        expect(answer.content).toBe(textOf('beta'));
        expect(answer.tookMs).toBeLessThan(soonMs);
      });

      it('an address that accepts no connection, alone: 504 after connect, however long total is', async () => {
        const answer = await timed({ model: stage.model('deaf'), stream, provider: 'deaf' });
        expect(answer).toMatchObject({ status: 504, error: { type: 'provider_timeout' } });
        expect(answer.tookMs).toBeGreaterThan(connectMs - 50);
        expect(answer.tookMs).toBeLessThan(soonMs);
      });
    });

    it.concurrent('keep-alive comments are not output: the next serves after first_byte', async () => {
      const scene = stage.scene('pair');
      scene.on('alpha', drips({ 'content-type': 'text/event-stream' }, 200, ': alive\n\n'));
      const answer = await timed({ model: scene.model, stream: true });
      expect(answer.content).toBe(textOf('beta'));
      expect(answer.tookMs).toBeGreaterThan(firstByteMs - 50);
      expect(answer.tookMs).toBeLessThan(soonMs);
      await scene.seen('alpha')[0]?.closed;
    });

    it.concurrent('a provider that was too late is not paid: the client pays once, for the one that served', async () => {
      const scene = stage.scene('pair');
      let late = (): void => {};
      scene.on('alpha', (request, response) => {
        late = () => void answerChat()(request, response);
      });
      scene.on('beta', (request, response) => {
        late();
        return usualAnswer('beta')(request, response);
      });
      const charge = await chargeOf(stage.service, thrifty, async () => {
        for (const stream of [false, true]) {
          const answer = await timed({ model: scene.model, stream, provider: { order: ['alpha'] } }, thrifty);
          expect(answer.content).toBe(textOf('beta'));
        }
      });
      expect(charge).toBe(2n * usualCost([3, 6]));
    });

    it.concurrent('keep-alive comments of the last candidate are waited through', async () => {
      const scene = stage.scene('single');
      scene.on('alpha', (request, response) => {
        drips({ 'content-type': 'text/event-stream' }, 200, ': alive\n\n')(request, response);
        after(idleMs + firstByteMs, () => response.end(sse.text('Here.') + sse.ending));
      });
      const answer = await timed({ model: scene.model, stream: true });
      expect(answer).toMatchObject({ content: 'Here.', done: true });
    });

    it.concurrent('silence between chunks: an error frame after idle, no [DONE], no other provider, no charge', async () => {
      const scene = stage.scene('pair');
      scene.on('alpha', async (_request, response) => {
        sse.openStream(response);
        await sse.send(response, sse.role + sse.text('Wait'));
      });
      let answer: (Answer & { tookMs: number }) | undefined;
      const charge = await chargeOf(stage.service, patient, async () => {
        answer = await timed({ model: scene.model, stream: true }, patient);
      });
      expect(answer).toMatchObject({ status: 200, content: 'Wait', done: false });
      expect(answer?.ended).toBe('broken');
      expect(answer?.error?.type).toMatch(/^provider_/);
      expect(answer?.tookMs).toBeGreaterThan(idleMs - 50);
      expect(answer?.tookMs).toBeLessThan(soonMs);
      expect(charge).toBe(0n);
      expect(scene.called).toEqual(['alpha']);
      await scene.seen('alpha')[0]?.closed;
    });

    it.concurrent('silence within a whole answer: the next serves', async () => {
      const scene = stage.scene('pair');
      scene.on('alpha', (_request, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.write('{"choices": [');
      });
      const answer = await timed({ model: scene.model });
      expect(answer.content).toBe(textOf('beta'));
      expect(answer.tookMs).toBeLessThan(soonMs);
    });

    it.concurrent('a steady stream may be slower than every limit but total', async () => {
      const scene = stage.scene('steady');
      const pieces = Array.from({ length: 12 }, (_, index) => `p${index} `);
      scene.on('steady', answerChat({ pieces, pieceMs: 400 }));
      const answer = await timed({ model: scene.model, stream: true });
      expect(answer).toMatchObject({ content: pieces.join(''), done: true });
      expect(answer.tookMs).toBeGreaterThan(steady.first_byte_ms + steady.idle_ms);
    });

    it.concurrent('a stream that outlasts total ends with an error frame, and the output so far is paid', async () => {
      const scene = stage.scene('hasty-pair');
      scene.on('hasty', drips({ 'content-type': 'text/event-stream' }, 200, sse.text('More. ')));
      let answer: (Answer & { tookMs: number }) | undefined;
      const charge = await chargeOf(stage.service, talkative, async () => {
        answer = await timed({ model: scene.model, stream: true }, talkative);
      });
      expect(answer).toMatchObject({ status: 200, done: false, error: { type: 'provider_timeout' } });
      expect(answer?.content).toMatch(/^(More\. )+$/);
      expect(answer?.tookMs).toBeLessThan(soonMs);
      expect(charge).toBeGreaterThan(0n);
      expect(scene.called).toEqual(['hasty']);
      await scene.seen('hasty')[0]?.closed;
    });

    it.concurrent('a client that reads slowly does not make the provider late', async () => {
      const scene = stage.scene('pair');
      const piece = 'x'.repeat(64 * 1024);
      const count = 400;
      scene.on('alpha', async (_request, response) => {
        sse.openStream(response);
        for (let sent = 0; sent < count; sent += 1) await sse.send(response, sse.text(piece));
        response.end(sse.ending);
      });
      const body = { model: scene.model, stream: true };
      const client = await openRequest(stage.service, account, body, { reading: false });
      const response = await client.response;
      const heldAt = performance.now();
      await until(() => performance.now() - heldAt > idleMs + 200, 'it was held for longer than idle');
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (more: string) => {
        text += more;
      });
      await client.ended;
      expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
      expect(text.split(piece)).toHaveLength(count + 1);
    });

    it.concurrent('a late JSON error from the last candidate keeps its own meaning', async () => {
      const scene = stage.scene('single');
      scene.on('alpha', (request, response) => {
        after(firstByteMs + idleMs, () => void answerError(400)(request, response));
      });
      const answer = await timed({ model: scene.model });
      expect(answer).toMatchObject({ status: 400, error: { type: 'invalid_request' } });
    });

    it.concurrent('output of a provider that was too late is ignored', async () => {
      const scene = stage.scene('pair');
      let late = (): void => {};
      scene.on('alpha', (_request, response) => {
        late = () => sendJson(response, 200, { choices: [] });
      });
      scene.on('beta', (request, response) => {
        late();
        return answerChat({ content: 'In time.' })(request, response);
      });
      expect((await timed({ model: scene.model })).content).toBe('In time.');
    });
  },
  { planes: ['one'] },
);

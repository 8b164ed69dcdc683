import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, eventsIn } from '../../kit/answer.ts';
import { chargeOf } from '../../kit/books.ts';
import { type Asked, ask, flows } from '../../kit/client.ts';
import { openRequest } from '../../kit/open-request.ts';
import type { ProviderHandler } from '../../kit/provider.ts';
import { createAccounts } from '../../kit/scenes/accounts.ts';
import * as sse from '../../kit/scenes/events.ts';
import { close, rawText, reset } from '../../kit/scenes/misbehave.ts';
import type { TestAccount } from '../../kit/service.ts';
import type { Suite } from '../../kit/stage/suites.ts';
import { textOf, usualCost } from '../../kit/stage/usual-answer.ts';

const price = [1, 2] as const;
const failing = { error: { message: rawText, type: 'server_error', code: 500 } };
const errorFrame = sse.frame(JSON.stringify(failing));
const namedErrorFrame = `event: error\n${sse.frame(JSON.stringify(failing.error))}`;
const tokens = (count: number): string[] => Array.from({ length: count }, (_, index) => sse.text(`t${index} `));
const spoken = (count: number): string => Array.from({ length: count }, (_, index) => `t${index} `).join('');
export const brokenStreamsSuite: Suite = {
  name: 'a stream that breaks',
  spec: {
    copies: 150,
    providers: { alpha: {}, beta: {}, gamma: {} },
    models: {
      single: { routes: { alpha: price } },
      pair: { routes: { alpha: price, beta: [3, 6] } },
    },
  },
  tests(stage) {
    let account: TestAccount;
    beforeAll(async () => {
      ({ account } = await createAccounts(stage.service, { account: {} }));
    });
    afterAll(() => {
      expect(stage.service.logs()).toContain('attempt failed');
      expect(stage.service.logs()).not.toContain(rawText);
    });

    const asks = async (body: object, asked?: Asked): Promise<Answer> => {
      const answer = await ask(stage.service, account.inferenceKey, { stream: true, ...body }, asked);
      expect(answer.text).not.toContain(rawText);
      return answer;
    };

    const begun = [sse.role, ...tokens(40)];
    const breaks: Record<string, ProviderHandler> = {
      'the provider closes in good order': sse.stream(...begun),
      'the provider closes within an event': sse.stream(...begun, 'data: {"choices": [{"delta": {"con'),
      'the connection is closed': sse.streamThen(close, ...begun),
      'the connection is reset': sse.streamThen(reset, ...begun),
      'an error event': sse.stream(...begun, errorFrame, sse.done),
      'an error event by name': sse.stream(...begun, namedErrorFrame),
      'a bare JSON error': sse.stream(...begun, JSON.stringify(failing)),
      'an error beside choices': sse.stream(
        ...begun,
        sse.frame(JSON.stringify({ ...sse.envelope, choices: [], ...failing })),
        sse.done,
      ),
      'JSON that is none': sse.stream(...begun, sse.frame(`{"choices": ${rawText}`), sse.ending),
      'text that is no JSON string': sse.stream(...begun, sse.text('SPOT').replace('SPOT', 'a\\qb'), sse.ending),
      'text with a raw control character': sse.stream(
        ...begun,
        sse.text('SPOT').replace('SPOT', 'a\u0001b'),
        sse.ending,
      ),
    };

    describe.each(flows)('after 40 of 60 tokens (%s)', (flow) => {
      it.each(Object.entries(breaks))(
        '%s: an error frame, no [DONE], no charge, no other provider',
        async (what, breaking) => {
          stage.on('alpha', breaking);
          const model = stage.model('pair');
          let answer: Answer | undefined;
          const charge = await chargeOf(stage.service, account, async () => {
            answer = await asks({ model, stream_options: { include_usage: true } }, { flow });
          });
          expect(answer).toMatchObject({ status: 200, done: false });
          // A reset also discards bytes that the broker has not read yet.
          if (what.endsWith('reset')) expect(spoken(40).startsWith(answer?.content ?? '?')).toBe(true);
          else expect(answer?.content).toBe(spoken(40));
          expect(answer?.body).toEqual({
            error: expect.objectContaining({ type: 'provider_error', message: expect.any(String) }),
          });
          expect(answer?.ended).toBe('broken');
          expect(answer?.error?.request_id).toBe(answer?.headers.get('x-request-id'));
          expect(answer?.chunks.filter(({ error }) => error !== undefined)).toHaveLength(1);
          expect(stage.called).toEqual(['alpha']);
          expect(charge).toBe(0n);
        },
      );
    });

    const starts: Record<string, ProviderHandler> = {
      'headers, and then the end': sse.stream(),
      'headers, and then a close': sse.streamThen(close),
      'headers, and then a reset': sse.streamThen(reset),
      'comments, and then a reset': sse.streamThen(reset, ': thinking\n\n', ': thinking\n\n'),
      'only a terminator': sse.stream(sse.done),
      'only a role, and a terminator': sse.stream(sse.role, sse.done),
      'only a role, and the end': sse.stream(sse.role),
      'only usage': sse.stream(sse.usage),
      'an error first': sse.stream(errorFrame, sse.done),
      'an error first, then text': sse.stream(errorFrame, ...tokens(3), sse.ending),
      'an error first, which says 400': sse.stream(
        sse.frame(JSON.stringify({ error: { ...failing.error, code: 400 } })),
      ),
      'an error by name': sse.stream(namedErrorFrame),
      'a role, then an error': sse.stream(sse.role, errorFrame, sse.done),
      'a role, empty deltas, then an error': sse.stream(
        sse.role,
        sse.text(''),
        sse.frame(sse.chunk({})),
        sse.frame(sse.chunk({ content: null })),
        errorFrame,
      ),
      'an error in one read with a role': sse.stream(sse.role + errorFrame),
      'a JSON error without framing': sse.stream(JSON.stringify(failing)),
      'a JSON error on several lines': sse.stream(JSON.stringify(failing, null, 2)),
      'a JSON error, a byte at a time': sse.stream(
        ...[...Buffer.from(JSON.stringify(failing))].map((b) => Buffer.of(b)),
      ),
      'an HTML page without framing': sse.stream(`<html>\n<body>\n${rawText}\n</body>\n</html>\n`),
      'half an event, and a reset': sse.streamThen(reset, sse.role, 'data: {"id": "x", "choices": [{"delta": {"conte'),
      'half a character, and a close': sse.streamThen(close, sse.role, Buffer.from('data: {"x": "é').subarray(0, -1)),
      'an event that is no JSON': sse.stream(sse.frame(`{"${rawText}`), ...tokens(2), sse.ending),
      'an event that is a list': sse.stream(sse.frame('[1, 2]'), ...tokens(2), sse.ending),
      'more than 64 events without output': sse.stream(...Array(70).fill(sse.role), ...tokens(2), sse.ending),
      'more than 256 KiB without output': sse.stream(...Array(70).fill(`: ${'x'.repeat(4096)}\n`), sse.ending),
      'a whole JSON answer in an event stream': sse.stream(
        JSON.stringify({
          choices: [{ index: 0, message: { role: 'assistant', content: rawText }, finish_reason: 'stop' }],
        }),
      ),
    };

    describe.each(flows)('before any output (%s)', (flow) => {
      it.each(Object.entries(starts))(
        '%s: the next provider serves, and the client sees nothing of the first',
        async (_, starting) => {
          stage.on('alpha', starting);
          const model = stage.model('pair');
          const answer = await asks({ model, stream_options: { include_usage: true } }, { flow });
          expect(answer).toMatchObject({ status: 200, content: textOf('beta'), done: true, error: undefined });
          expect(stage.called).toEqual(['alpha', 'beta']);
          expect(answer.headers.get('x-router-provider-attempts')).toBe('2');
          expect(answer.body.usage?.cost).toBe(Number(usualCost([3, 6])) / 1e9);
          expect(new Set(answer.chunks.map(({ id }) => id)).size).toBe(1);
          expect(answer.chunks.filter(({ choices }) => choices?.[0]?.delta?.role !== undefined)).toHaveLength(1);
          stage.reset();
          await asks({ model });
          expect(stage.called).toEqual(['beta']);
        },
      );

      it.each(Object.entries(starts))('%s, alone: 502, never an empty success', async (_, starting) => {
        stage.on('alpha', starting);
        const answer = await asks({ model: stage.model('single') }, { flow });
        expect(answer).toMatchObject({ status: 502, error: { type: 'provider_error' } });
      });
    });

    it('events without output are waited through', async () => {
      const silent = [...Array(30).fill(sse.role), ...Array(30).fill(': alive\n\n')];
      stage.on('alpha', sse.stream(...silent, ...tokens(5), sse.ending));
      const answer = await asks({ model: stage.model('pair') });
      expect(answer).toMatchObject({ content: spoken(5), done: true });
      expect(stage.called).toEqual(['alpha']);
    });

    it('nothing is sent to the client before there is output', async () => {
      const { promise: opened, resolve: open } = Promise.withResolvers<void>();
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      stage.on('alpha', async (_request, response) => {
        sse.openStream(response);
        await sse.send(response, `${sse.role}: alive\n\n${sse.text('')}`);
        open();
        await released;
        response.end(sse.text('now') + sse.ending);
      });
      const client = await openRequest(stage.service, account, { model: stage.model('pair'), stream: true });
      let hasHeaders = false;
      void client.response.then(() => {
        hasHeaders = true;
      });
      await opened;
      for (let turn = 0; turn < 5; turn += 1) await fetch(`${stage.service.baseUrl}/models`);
      expect(hasHeaders).toBe(false);
      release();
      await client.ended;
      expect(eventsIn(client.received)).toMatchObject({ content: 'now', done: true });
      expect(stage.called).toEqual(['alpha']);
    });

    describe.each(flows)('a whole answer that lacks only its closing words (%s)', (flow) => {
      it.each([
        ['no terminator', sse.finish + sse.usage],
        ['no terminator and no usage', sse.finish],
        ['no finish reason', sse.usage + sse.done],
      ])('%s: is complete and paid', async (name, last) => {
        stage.on('alpha', sse.stream(sse.role, ...tokens(8), last));
        const charge = await chargeOf(stage.service, account, async () => {
          const answer = await asks({ model: stage.model('pair') }, { flow });
          expect(answer).toMatchObject({ content: spoken(8), done: true, error: undefined });
        });
        if (name.includes('no usage')) expect(charge).toBeGreaterThan(0n);
        else expect(charge).toBe(usualCost(price));
      });
    });

    it('a provider that does not close after its terminator delays no client, and is disconnected', async () => {
      stage.on('alpha', async (_request, response) => {
        sse.openStream(response);
        await sse.send(response, sse.text('All.') + sse.ending);
      });
      const answer = await asks({ model: stage.model('single') });
      expect(answer).toMatchObject({ content: 'All.', done: true });
      await stage.provider('alpha').seen[0]?.closed;
    });

    it.each([
      ['with the finish reason', [sse.frame(sse.chunk({}, { finish: 'stop', more: sse.usageOf(10, 20) })), sse.done]],
      ['with every chunk, growing', [sse.text('c', { more: sse.usageOf(10, 19) }), sse.finish, sse.usage, sse.done]],
      ['after the finish reason, with a choice', [sse.finish, sse.text('', { more: sse.usageOf(10, 20) }), sse.done]],
    ])('usage that comes %s counts, and is not shown unasked', async (_, last) => {
      const early = { more: sse.usageOf(10, 1) };
      stage.on('alpha', sse.stream(sse.role, sse.text('a', early), sse.text('b', early), ...last));
      const charge = await chargeOf(stage.service, account, async () => {
        const answer = await asks({ model: stage.model('single') });
        expect(answer.done).toBe(true);
        expect(answer.content).toMatch(/^abc?$/);
        expect(answer.text).not.toContain('"usage":{');
      });
      expect(charge).toBe(usualCost(price));
    });
  },
};

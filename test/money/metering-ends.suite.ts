import { describe, expect, it } from 'vitest';
import { costOf, expectSettled, nano, type UsageRow, usageOf, usageRows } from '../kit/books.ts';
import { ask } from '../kit/client.ts';
import { type Act, scripted } from '../kit/scripted-provider.ts';
import { until } from '../kit/service.ts';
import type { Stage } from '../kit/stage/stage.ts';
import { meterOf, reasoning, ways, words } from './meter.ts';
import { dearPricing, hidingPricing, pricings, quickPricing, twoPricings } from './spec.ts';

/** The price of a request that fails or whose client leaves. */
export function meteringEndsSuite(stage: Stage): void {
  describe('the meter', () => {
    const { asks, charged, shownUsage } = meterOf(stage);

    describe('of one who leaves', () => {
      // The finish reason comes with the end of the stream, so nothing shows these clients that no text follows.
      const hasAll = (text: string): boolean => text.includes('" them."');
      const paysForOutput = async (): Promise<void> => {
        const { nusd, rows } = await charged();
        expect(rows).toMatchObject([{ status: 'cancelled', estimated: true }]);
        expect(rows[0]?.completion_tokens).toBe(Math.ceil(words.length / 4));
        expect(nusd).toBeGreaterThan(
          costOf({ prompt: 0, completion: Math.ceil(words.length / 4) }, pricings['m/untold']),
        );
      };

      it('after reading everything, before the usage comes: the output is paid', async () => {
        const act: Act = { kind: 'answer', usage: usageOf(10, 20), text: words, withholdUsage: true };
        await asks('m/untold', act, { stream: true, leaveWhen: hasAll });
        await paysForOutput();
      });

      it('after reading everything, where a usage came with the first piece: that is not the usage of what came later', async () => {
        const act: Act = {
          kind: 'answer',
          usage: usageOf(10, 20),
          text: words,
          withholdUsage: true,
          earlyUsage: usageOf(10, 0),
        };
        await asks('m/untold', act, { stream: true, leaveWhen: hasAll });
        await paysForOutput();
      });

      it('in the middle: the provider’s count for what it took, however dense the text', async () => {
        // Four pieces of ten digits, which are nine tokens each.
        const act: Act = {
          kind: 'answer',
          usage: usageOf(10, 36),
          text: '1234567890'.repeat(4),
          pieces: 4,
          pieceMs: 50,
        };
        await asks('m/one', act, { stream: true, leaveWhen: (text) => text.includes('1234567890') });
        const { nusd, rows } = await charged();
        const { completion_tokens: completion = 0 } = rows[0] ?? {};
        expect([9, 18, 27, 36]).toContain(completion);
        expect(rows).toMatchObject([{ status: 'cancelled', estimated: false }]);
        expect(nusd).toBe(costOf({ prompt: 10, completion }, pricings['m/one']));
      });

      it('in the middle: no more tokens than it took bytes, whatever the provider reports', async () => {
        const act: Act = { kind: 'answer', usage: usageOf(10, 900), text: words, pieceMs: 50 };
        await asks('m/one', act, { stream: true, leaveWhen: (text) => text.includes('words') });
        const { rows } = await charged();
        expect(rows).toMatchObject([{ status: 'cancelled', estimated: false }]);
        expect(rows[0]?.completion_tokens).toBeLessThanOrEqual(words.length);
      });

      it('in the middle of a long answer: what was produced until then, and the provider is hung up on', async () => {
        const many = Array.from({ length: 2000 }, (_, index) => ` word${index}`).join('');
        stage.scripted('alpha').seen.length = 0;
        await asks(
          'm/one',
          { kind: 'answer', usage: usageOf(10, 2000), text: many, pieceMs: 5 },
          { stream: true, leaveWhen: (text) => text.includes('word3') },
        );
        await stage.scripted('alpha').seen[0]?.closed;
        const { nusd, rows } = await charged();
        expect(rows).toMatchObject([{ status: 'cancelled', estimated: true }]);
        expect(nusd).toBeGreaterThan(0n);
        // The provider goes on while its usage is awaited. The whole answer takes it at least ten seconds.
        expect(rows[0]?.completion_tokens).toBeLessThan(500);
      });

      it.each([false, true])(
        'before there is output: nothing, and the provider is hung up on (stream %s)',
        async (stream) => {
          stage.scripted('alpha').seen.length = 0;
          const leaveOn = until(() => stage.scripted('alpha').seen.length > 0, 'the provider is asked');
          await asks('m/one', { kind: 'silence' }, { stream, leaveOn });
          const left = performance.now();
          await stage.scripted('alpha').seen[0]?.closed;
          // The broker hangs up within a few ms. Otherwise the total time limit of 20 s would end the request.
          expect(performance.now() - left).toBeLessThan(10_000);
          expect(await charged()).toMatchObject({ nusd: 0n, rows: [{ cost: 0n, status: 'cancelled' }] });
        },
      );

      it('while one attempt has failed and the next is silent: nothing', async () => {
        const acts = { alpha: { kind: 'status', status: 503 }, beta: { kind: 'silence' } } as const;
        stage.scripted('beta').seen.length = 0;
        const leaveOn = until(() => stage.scripted('beta').seen.length > 0, 'the second provider is asked');
        await asks('m/two', acts, { leaveOn, body: { provider: { order: ['alpha', 'beta'] } } });
        expect(await charged()).toMatchObject({ nusd: 0n, rows: [{ cost: 0n, attempts: 2 }] });
      });

      describe('a route that may bill what its text does not show', () => {
        const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } };
        const hidden = usageOf(900, 3960, reasoning(3950));
        const shows = (act: Partial<Extract<Act, { kind: 'answer' }>>): Act => ({
          ...{ kind: 'answer', usage: hidden, text: words, pieceMs: 20 },
          ...act,
        });
        const ways: readonly (readonly [string, string, (act: Act) => object])[] = [
          ['that reasons', 'm/thinks', () => ({ max_completion_tokens: 4000 })],
          [
            'with an image',
            'm/sees',
            (act) => ({
              max_completion_tokens: 4000,
              messages: [
                { role: 'user', content: [image] },
                { role: 'user', content: scripted({ '*': act }) },
              ],
            }),
          ],
        ];

        it.each(ways)('%s: its usage is awaited and paid', async (_name, model, bodyOf) => {
          // The client has left long before the usage comes, and the usage comes within the five seconds that the broker waits.
          const act = shows({ pieceMs: 200 });
          await asks(model, act, { stream: true, leaveWhen: (text) => text.includes('words'), body: bodyOf(act) });
          const { nusd, rows } = await charged();
          const { completion_tokens: completion = 0 } = rows[0] ?? {};
          expect(rows).toMatchObject([{ status: 'cancelled', estimated: false, prompt_tokens: 900 }]);
          expect(nusd).toBe(costOf({ prompt: 900, completion }, hidingPricing));
          // The rest of the text came after it had left. Without reasoning, no token lacks its text.
          expect(completion).toBeGreaterThan(model === 'm/thinks' ? 3940 : 9);
          expect(completion).toBeLessThan(model === 'm/thinks' ? 3960 : words.length);
        });

        it('whose usage does not come in time: what was shown and what it may have hidden', async () => {
          const act = shows({ delayMs: 300, withholdUsage: true, text: words.repeat(20), pieceMs: 50 });
          await asks('m/thinks-quick', act, { stream: true, leaveWhen: (text) => text.includes('words') });
          const { nusd, rows } = await charged();
          expect(rows).toMatchObject([{ status: 'cancelled', estimated: true }]);
          const { prompt_tokens: prompt = 0, completion_tokens: completion = 0 } = rows[0] ?? {};
          // A route without measurements is assumed to produce 50 tokens a second. It was silent for 0.3 s. It shows at
          // most 14 words of about 6 bytes until its time is over.
          expect(completion).toBeGreaterThanOrEqual(15);
          expect(nusd).toBe(costOf({ prompt, completion }, hidingPricing));
        });

        // By bytes of text, the usage beside the first piece covers all of it, and would make the answer free.
        it('that has shown only encrypted reasoning, beside a usage without output: the real usage is awaited and paid', async () => {
          const { promise: left, resolve: leave } = Promise.withResolvers<void>();
          stage.scripted('alpha').answer(async (_request, response) => {
            response.writeHead(200, { 'content-type': 'text/event-stream' });
            const send = (event: object): boolean => response.write(`data: ${JSON.stringify(event)}\n\n`);
            const delta = { reasoning_details: [{ type: 'reasoning.encrypted', data: 'AAAA' }] };
            send({ choices: [{ index: 0, delta }], usage: usageOf(900, 0) });
            await left;
            send({ choices: [], usage: usageOf(900, 50, reasoning(50)) });
          });
          const hasPiece = (text: string): boolean => text.includes('AAAA');
          await asks('m/thinks', { kind: 'silence' }, { stream: true, leaveWhen: hasPiece });
          leave();
          const { nusd, rows } = await charged();
          expect(rows).toMatchObject([{ status: 'cancelled', estimated: false, completion_tokens: 50 }]);
          expect(nusd).toBe(costOf({ prompt: 900, completion: 50 }, hidingPricing));
        });

        it('that was asked not to reason: no more than what it showed', async () => {
          const act = shows({ text: words.repeat(20) });
          const body = { max_completion_tokens: 4000, reasoning: { enabled: false } };
          await asks('m/thinks', act, { stream: true, leaveWhen: (text) => text.includes('words'), body });
          const { rows } = await charged();
          expect(rows).toMatchObject([{ status: 'cancelled', estimated: false }]);
          expect(rows[0]?.completion_tokens).toBeLessThan(words.length * 20);
        });
      });

      // Concurrency could break this: many requests given up at once each find the allowance unused.
      it('before there is output, again and again: free up to an allowance an account and hour, then paid', async () => {
        const payer = await stage.service.createAccount({ usd: 100 });
        const body = {
          ...{ model: 'm/dear', stream: true, max_completion_tokens: 50 },
          messages: [{ role: 'user', content: scripted({ '*': { kind: 'silence' } }) }],
        };
        const count = 12;
        stage.scripted('alpha').seen.length = 0;
        const leaveOn = until(() => stage.scripted('alpha').seen.length >= count, 'the provider is asked by all');
        const leave = (): Promise<unknown> => ask(stage.service, payer.inferenceKey, body, { leaveOn });
        await Promise.all(Array.from({ length: count }, leave));
        const rowsNow = (): Promise<UsageRow[]> => usageRows(stage.service, payer);
        await until(async () => (await rowsNow()).length >= count, 'the rows are there');
        const balance = await expectSettled(stage.service, payer, 100_000_000_000n);
        const rows = await rowsNow();
        const each = costOf({ prompt: rows[0]?.prompt_tokens ?? 0, completion: 0 }, dearPricing);
        const allowance = 100_000_000n;
        // The request that crosses the allowance is free as well.
        const free = (allowance + each - 1n) / each;
        expect(free).toBeGreaterThan(1n);
        expect(free).toBeLessThan(BigInt(count));
        expect(100_000_000_000n - balance).toBe(each * (BigInt(count) - free));
        expect(rows.filter(({ cost }) => cost === 0n)).toHaveLength(Number(free));
        expect(rows.every(({ status, estimated }) => status === 'cancelled' && estimated)).toBe(true);
      });

      it('a finish reason without any output: nothing', async () => {
        const act: Act = { kind: 'answer', usage: usageOf(10, 0), text: '', withholdUsage: true };
        await asks('m/one', act, { stream: true, leaveAfterMs: 500 });
        expect(await charged()).toMatchObject({ nusd: 0n, rows: [{ cost: 0n, completion_tokens: 0 }] });
      });
    });

    describe('of a failure', () => {
      it.each([
        ['refused by the provider', { kind: 'status', status: 400 }, 400],
        ['failed by the provider', { kind: 'status', status: 500 }, 502],
        ['reset before output', { kind: 'break' }, 502],
      ] as const)('%s: nothing', async (_name, act, status) => {
        for (const stream of [false, true]) {
          expect(await asks('m/one', act, { stream })).toMatchObject({ status });
          expect(await charged()).toMatchObject({ nusd: 0n, rows: [{ cost: 0n, status: 'failed', attempts: 1 }] });
        }
      });

      it('a stream that the provider breaks is free, even one that said its usage in every piece', async () => {
        for (const act of [
          { kind: 'break', afterPieces: 40 },
          { kind: 'break', afterPieces: 40, usage: usageOf(10, 40) },
        ] as const) {
          const answer = await asks('m/one', act, { stream: true });
          expect(answer).toMatchObject({ status: 200, complete: false, ended: 'broken' });
          expect(answer.error?.type).toBe('provider_error');
          expect(await charged()).toMatchObject({ nusd: 0n, rows: [{ cost: 0n, status: 'failed' }] });
        }
      });

      it('one that breaks while the client holds it back is paid: else whoever stops reading reads for free', async () => {
        const { promise: holdBackUntil, resolve: letGo } = Promise.withResolvers<void>();
        stage.scripted('alpha').answer((_request, response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          const delta = { content: 'x'.repeat(16_000) };
          const piece = `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`;
          let sent = 0;
          const more = (): void => {
            for (let room = true; room && sent < 4000; sent += 1) room = response.write(piece);
          };
          response.on('drain', more);
          more();
          // Back-pressure stops all traffic: the client holds back the broker, and the broker the provider.
          let seenAt = -1;
          const watch = setInterval(() => {
            if (seenAt === sent && sent > 10) {
              response.socket?.resetAndDestroy();
              letGo();
            }
            seenAt = sent;
          }, 200);
          response.once('close', () => clearInterval(watch));
        });
        const called = await asks('m/one', { kind: 'silence' }, { stream: true, holdBackUntil });
        expect(called.complete).toBe(false);
        const { nusd, rows } = await charged();
        expect(rows).toMatchObject([{ status: 'cancelled', estimated: true }]);
        expect(nusd).toBeGreaterThan(0n);
      });

      it('one whose last words (usage, terminator) never come is whole, and paid by estimate', async () => {
        const act: Act = { kind: 'answer', usage: usageOf(10, 20), text: words, withholdUsage: true };
        const answer = await asks('m/one', act, { stream: true });
        expect(answer).toMatchObject({ complete: true });
        const { nusd, rows } = await charged();
        expect(rows).toMatchObject([{ status: 'completed', estimated: true }]);
        expect(nusd).toBe(nano(shownUsage(answer)?.cost));
        expect(nusd).toBeGreaterThan(0n);
      });

      it('our total time, after output: what was produced is paid', async () => {
        const text = Array.from({ length: 100 }, (_, index) => ` word${index}`).join('');
        const answer = await asks(
          'm/quick',
          { kind: 'answer', usage: usageOf(10, 100), text, pieceMs: 50 },
          { stream: true },
        );
        expect(answer.text).toContain('"type":"provider_timeout"');
        expect(answer.complete).toBe(false);
        const { nusd, rows } = await charged();
        expect(nusd).toBeGreaterThan(0n);
        expect(nusd).toBe(
          costOf({ prompt: rows[0]?.prompt_tokens ?? 0, completion: rows[0]?.completion_tokens ?? 0 }, quickPricing),
        );
      });

      it.each([false, true])('our total time, before output: nothing (stream %s)', async (stream) => {
        expect(await asks('m/quick', { kind: 'silence' }, { stream })).toMatchObject({ status: 504 });
        expect(await charged()).toMatchObject({ nusd: 0n, rows: [{ cost: 0n, status: 'failed' }] });
      });
    });

    describe('of several attempts takes the one that served', () => {
      const order = { provider: { order: ['alpha', 'beta'] } };
      const answers: Act = { kind: 'answer', usage: usageOf(13, 17) };
      it.each([
        ['silent until its first byte was due', { kind: 'silence' }],
        ['failing', { kind: 'status', status: 500 }],
        ['reset', { kind: 'break' }],
        ['too late, and answering all the same', { kind: 'answer', usage: usageOf(999, 999), gated: true }],
      ] as const)('the first was %s', async (_name, alpha) => {
        const [first, second] = [stage.scripted('alpha'), stage.scripted('beta')];
        for (const way of ways) {
          first.close();
          const before = second.seen.length;
          const asking = asks('m/two', { alpha, beta: answers }, { ...way, body: order });
          await until(() => second.seen.length > before, 'the second is asked, so the first is given up');
          first.open();
          const answer = await asking;
          expect(answer, answer.text).toMatchObject({ complete: true });
          expect(answer.headers.get('x-router-provider')).toBe('beta');
          const { nusd, rows } = await charged();
          expect(nusd).toBe(costOf({ prompt: 13, completion: 17 }, twoPricings.beta));
          expect(rows).toMatchObject([{ provider: 'beta', attempts: 2, fallback: true, status: 'completed' }]);
        }
      });
    });
  });
}

import { beforeEach, describe, expect, it } from 'vitest';
import type { Answer } from '../kit/answer.ts';
import { costOf, nano } from '../kit/books.ts';
import { ask, type Flow } from '../kit/client.ts';
import { type Act, scripted } from '../kit/scripted-provider.ts';
import type { SendOptions } from '../kit/send.ts';
import type { Stage } from '../kit/stage/stage.ts';
import { absurd, meterOf, nextSalt } from './meter.ts';
import { embedPricing } from './spec.ts';

/** The price of embeddings. */
export function meteringEmbeddingsSuite(stage: Stage): void {
  describe('the meter', () => {
    const meter = meterOf(stage);
    const { begin, charged, shownUsage } = meter;

    describe('of embeddings', () => {
      const embeds = (act: Act, flow: Flow): Promise<Answer> => {
        const input = scripted({ '*': act }, nextSalt());
        const body = { model: 'm/embed', input };
        return ask(stage.service, meter.account.inferenceKey, body, { flow, path: '/embeddings' });
      };

      it.each(['compatibility', 'ticket'] as const)('takes price × usage (%s)', async (flow) => {
        const answer = await embeds({ kind: 'answer', usage: { prompt_tokens: 123, total_tokens: 123 } }, flow);
        expect(answer, answer.text).toMatchObject({ complete: true });
        const cost = costOf({ prompt: 123 }, embedPricing);
        expect(nano(shownUsage(answer)?.cost)).toBe(cost);
        expect(await charged()).toMatchObject({ nusd: cost, rows: [{ operation: 'embeddings', estimated: false }] });
      });

      it('estimates usage itself, caps it at the hold, and charges nothing for a failure', async () => {
        await embeds({ kind: 'answer', usage: null }, 'compatibility');
        const estimated = await charged();
        expect(estimated.rows).toMatchObject([{ status: 'completed', estimated: true }]);
        expect(estimated.nusd).toBeGreaterThan(0n);

        await embeds({ kind: 'answer', usage: { prompt_tokens: 0, total_tokens: 0 } }, 'compatibility');
        const unbelieved = await charged();
        expect(unbelieved.rows).toMatchObject([{ status: 'completed', estimated: true }]);
        expect(unbelieved.nusd).toBeGreaterThan(0n);

        await embeds({ kind: 'answer', usage: { prompt_tokens: absurd } }, 'compatibility');
        const capped = await charged();
        expect(capped.nusd).toBeGreaterThan(estimated.nusd);
        expect(capped.nusd).toBeLessThan(costOf({ prompt: 1000 }, embedPricing));

        // The tokens above used up the rate limit of the key, so this starts with a new account.
        await begin();
        expect((await embeds({ kind: 'status', status: 503 }, 'compatibility')).status).toBe(502);
        expect(await charged()).toMatchObject({ nusd: 0n, rows: [{ status: 'failed' }] });
      });
    });

    describe('of embeddings that are larger than an answer', () => {
      const vector = (dimensions: number): string => `[${Array(dimensions).fill('-0.0123456789').join(',')}]`;
      const asksFor = (inputs: number, more: object = {}, options: SendOptions = {}): Promise<Answer> => {
        const body = { model: 'm/embed', input: Array(inputs).fill('x'.repeat(40)), ...more };
        return ask(stage.service, meter.account.inferenceKey, body, { path: '/embeddings', ...options });
      };
      const expectTooMuch = ({ status, text }: Answer): void => {
        expect([status, JSON.parse(text)]).toMatchObject([400, { error: { type: 'invalid_request', param: 'input' } }]);
      };
      /** Answers every input with the same vector until the broker or the client closes the connection. */
      const answersWith = (json: string): void =>
        stage.scripted('alpha').answer(async (request, response) => {
          const { length } = request.body.input as string[];
          response.writeHead(200, { 'content-type': 'application/json' });
          response.write('{"object":"list","data":[');
          const gone = new Promise((resolve) => response.once('close', resolve));
          for (let index = 0; index < length && !response.destroyed; index += 1) {
            const entry = `${index === 0 ? '' : ','}{"object":"embedding","index":${index},"embedding":${json}}`;
            if (response.write(entry)) continue;
            await Promise.race([new Promise((resolve) => response.once('drain', resolve)), gone]);
          }
          response.end(`],"model":"own-name","usage":{"prompt_tokens":${length * 10},"total_tokens":${length * 10}}}`);
        });
      beforeEach(async () => {
        await begin();
        stage.scripted('alpha').seen.length = 0;
      });

      it('is the broker’s own estimate, because the provider has done the work that was asked for', async () => {
        answersWith(vector(6000));
        expectTooMuch(await asksFor(1000));
        expect(await charged()).toMatchObject({
          nusd: costOf({ prompt: 1000 * 10 }, embedPricing),
          rows: [{ operation: 'embeddings', status: 'failed', estimated: true, attempts: 1 }],
        });
      });

      it('is charged once or not at all where the client leaves in the moment in which it is too much', async () => {
        answersWith(vector(6000));
        const estimate = costOf({ prompt: 1000 * 10 }, embedPricing);
        const startedAt = performance.now();
        await asksFor(1000);
        const usualMs = performance.now() - startedAt;
        expect((await charged()).nusd).toBe(estimate);
        const times = [0.9, 0.95, 1, 1.05];
        for (const part of times) await asksFor(1000, {}, { leaveAfterMs: usualMs * part });
        const { nusd, rows } = await charged(times.length);
        for (const { cost } of rows) expect([0n, estimate]).toContain(cost);
        expect(nusd).toBe(rows.reduce((sum, { cost }) => sum + cost, 0n));
      });

      it('is nothing where it shows before: by `dimensions`, or by the last answer of the route', async () => {
        const asked = await asksFor(2048, { dimensions: 4096 });
        expectTooMuch(asked);
        expect(asked.text).toContain('Send at most 1489 inputs');
        expect(stage.scripted('alpha').seen).toEqual([]);

        answersWith(vector(4096));
        expect((await asksFor(1)).status).toBe(200);
        await charged();
        expectTooMuch(await asksFor(2048));
        expect(stage.scripted('alpha').seen).toHaveLength(1);
        expect((await charged()).nusd).toBe(0n);
        // Encoded as base64, vectors of this size fit.
        expect((await asksFor(2048, { encoding_format: 'base64', dimensions: 4096 })).status).toBe(400);
        expect(stage.scripted('alpha').seen).toHaveLength(2);
      });

      it('is nothing, and the provider’s fault, where the request cannot have asked for as much', async () => {
        answersWith(vector(6_000_000));
        const { status, text } = await asksFor(1);
        expect([status, JSON.parse(text)]).toMatchObject([502, { error: { type: 'provider_error', param: null } }]);
        expect(await charged()).toMatchObject({ nusd: 0n, rows: [{ status: 'failed' }] });
      });
    });
  });
}

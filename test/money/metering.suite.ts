import { beforeAll, describe, expect, it } from 'vitest';
import { costOf, expectSettled, nano, operatorAccount, type TokenCounts, usageOf, usageRows } from '../kit/books.ts';
import { ask } from '../kit/client.ts';
import { scripted } from '../kit/scripted-provider.ts';
import type { TestAccount } from '../kit/service.ts';
import type { Stage } from '../kit/stage/stage.ts';
import { absurd, meterOf, reasoning, ways, words } from './meter.ts';
import { pricings } from './spec.ts';

interface Case {
  readonly name: string;
  readonly model: keyof typeof pricings;
  readonly usage: object;
  readonly tokens: TokenCounts;
}

const streamed = { stream: true } as const;
const details = (cached: number, written?: number): object => ({
  prompt_tokens_details: { cached_tokens: cached, ...(written === undefined ? {} : { cache_write_tokens: written }) },
});

/** The usage that providers report, and the token counts that it means. */
const cases: readonly Case[] = [
  { name: 'plain', model: 'm/one', usage: usageOf(11, 23), tokens: { prompt: 11, completion: 23 } },
  {
    name: 'with a cost of the provider, which is none of ours',
    model: 'm/one',
    usage: usageOf(11, 24, { cost: 99, total_cost: 99, cost_details: { upstream_inference_cost: 99 } }),
    tokens: { prompt: 11, completion: 24 },
  },
  {
    name: 'cached input at its own price',
    model: 'm/cached',
    usage: usageOf(100, 7, details(40)),
    tokens: { prompt: 100, completion: 7, cached: 40 },
  },
  {
    name: 'cached input where it has no price of its own',
    model: 'm/one',
    usage: usageOf(100, 7, details(40)),
    tokens: { prompt: 100, completion: 7, cached: 40 },
  },
  {
    name: 'cache writes at their own price',
    model: 'm/cached',
    usage: usageOf(100, 7, details(40, 30)),
    tokens: { prompt: 100, completion: 7, cached: 40, written: 30 },
  },
  {
    name: 'cache writes in another spelling',
    model: 'm/cached',
    usage: usageOf(100, 7, { cache_creation_input_tokens: 30 }),
    tokens: { prompt: 100, completion: 7, written: 30 },
  },
  {
    name: 'more cached tokens than prompt: the uncached part is none, and never negative',
    model: 'm/cached',
    usage: usageOf(100, 7, details(150, 20)),
    tokens: { prompt: 100, completion: 7, cached: 100 },
  },
  {
    name: 'cached and written tokens beyond the prompt together',
    model: 'm/cached',
    usage: usageOf(100, 7, details(80, 50)),
    tokens: { prompt: 100, completion: 7, cached: 80, written: 20 },
  },
  {
    name: 'reasoning priced apart',
    model: 'm/reason',
    usage: usageOf(10, 50, reasoning(20)),
    tokens: { prompt: 10, completion: 50, reasoning: 20 },
  },
  {
    name: 'reasoning that the provider counts outside the completion',
    model: 'm/reason',
    usage: { ...usageOf(10, 50, reasoning(20)), total_tokens: 80 },
    tokens: { prompt: 10, completion: 70, reasoning: 20 },
  },
  {
    name: 'more reasoning than completion: no more than there was',
    model: 'm/reason',
    usage: { ...usageOf(10, 5, reasoning(20)), total_tokens: 15 },
    tokens: { prompt: 10, completion: 5, reasoning: 5 },
  },
  {
    name: 'reasoning without a price of its own is output',
    model: 'm/one',
    usage: usageOf(10, 50, reasoning(20)),
    tokens: { prompt: 10, completion: 50, reasoning: 20 },
  },
  ...[100, 101, 200, 201].map(
    (prompt): Case => ({
      name: `tiers, at a prompt of ${prompt}`,
      model: 'm/tiers',
      usage: usageOf(prompt, 9),
      tokens: { prompt, completion: 9 },
    }),
  ),
  { name: 'less than a nano-dollar', model: 'm/tiny', usage: usageOf(1, 1), tokens: { prompt: 1, completion: 1 } },
  {
    name: 'a little over a nano-dollar',
    model: 'm/tiny',
    usage: usageOf(8, 331),
    tokens: { prompt: 8, completion: 331 },
  },
  { name: 'nothing at all', model: 'm/free', usage: usageOf(8, 331), tokens: { prompt: 8, completion: 331 } },
];

const usageFields = new Set([
  'prompt_tokens',
  'completion_tokens',
  'total_tokens',
  'prompt_tokens_details',
  'completion_tokens_details',
  'cost',
]);

/** The price of a request, for each way in which it can end. */
export function meteringSuite(stage: Stage): void {
  describe('the meter', () => {
    const { asks, charged, shownUsage } = meterOf(stage);

    describe('takes price × usage, to the nano-dollar', () => {
      it.each(cases)('$name', async ({ model, usage, tokens }) => {
        const cost = costOf(tokens, pricings[model]);
        const answers = await Promise.all(ways.map((way) => asks(model, { kind: 'answer', usage }, way)));
        for (const answer of answers) {
          expect(answer, answer.text).toMatchObject({ complete: true });
          const shown = shownUsage(answer);
          expect(nano(shown?.cost)).toBe(cost);
          expect(Object.keys(shown ?? {}).filter((name) => !usageFields.has(name))).toEqual([]);
        }
        const { nusd, rows } = await charged(ways.length);
        expect(nusd).toBe(cost * BigInt(ways.length));
        expect(rows.map((row) => row.cost)).toEqual(ways.map(() => cost));
        expect(rows.every(({ status, estimated }) => status === 'completed' && !estimated)).toBe(true);
      });
    });

    describe('believes no count beyond what the hold was computed from', () => {
      const reports: readonly (readonly [string, object])[] = [
        ['more than was asked for', usageOf(1_000_000, 1_000_000)],
        ['as much as a number can say', usageOf(absurd, absurd, { total_tokens: absurd })],
        ['a sum that is not exact', { ...usageOf(absurd - 2, absurd, reasoning(1)), total_tokens: undefined }],
        ['tokens outside the completion without end', usageOf(10, 20, { total_tokens: absurd })],
      ];
      const request = (usage: object, stream: boolean): { readonly model: string } & Record<string, unknown> => ({
        model: 'm/one',
        stream,
        max_completion_tokens: 1000,
        messages: [{ role: 'user', content: scripted({ '*': { kind: 'answer', usage } }).padEnd(300, ' ') }],
        ...(stream ? { stream_options: { include_usage: true } } : {}),
      });
      let hold = 0n;
      let payer: TestAccount;
      let balance = 10_000_000_000n;
      beforeAll(async () => {
        const { service } = stage;
        const pauper = await service.createAccount({ usd: 0.000000001 });
        payer = await service.createAccount({ usd: 10 });
        const refused = await ask(service, pauper.inferenceKey, request({}, false));
        hold = nano(/needs ([\d.e-]+) USD/.exec(refused.error?.message ?? '')?.[1]);
      });

      // All requests use one key: counts that the broker does not believe must not use up its rate limit either.
      it.each(reports)('%s', async (_name, usage) => {
        for (const stream of [false, true]) {
          const answer = await ask(stage.service, payer.inferenceKey, request(usage, stream));
          expect(answer, answer.text).toMatchObject({ complete: true });
          const shown = shownUsage(answer);
          const { prompt_tokens: prompt, completion_tokens: completion } = shown as Record<string, number>;
          expect(completion).toBe(1000);
          expect(prompt).toBeLessThan(500);
          const cost = costOf({ prompt: prompt ?? 0, completion: 1000 }, pricings['m/one']);
          expect(nano(shown?.cost)).toBe(cost);
          expect(cost).toBeLessThanOrEqual(hold);
          balance -= cost;
          expect(await expectSettled(stage.service, payer, 10_000_000_000n)).toBe(balance);
          expect((await usageRows(stage.service, payer)).at(-1)).toMatchObject({ status: 'completed' });
        }
      });
    });

    describe('counts for itself where the provider reports no usage that can be used', () => {
      it.each([
        ['none', null],
        ['an empty one', {}],
        ['no numbers', { prompt_tokens: '10', completion_tokens: '20' }],
        ['negative ones', { prompt_tokens: -10, completion_tokens: -20 }],
        ['fractions', { prompt_tokens: 10.5, completion_tokens: 20.5 }],
        ['a prompt alone', { prompt_tokens: 10 }],
        ['a prompt and null', { prompt_tokens: 10, completion_tokens: null, total_tokens: null }],
        ['a completion alone', { completion_tokens: 20 }],
        ['only zeros', usageOf(0, 0)],
        ['no output beside the text', usageOf(10, 0)],
      ])('%s', async (_name, usage) => {
        for (const stream of [false, true]) {
          const answer = await asks('m/untold', { kind: 'answer', usage, text: words }, { stream });
          const { nusd, rows } = await charged();
          const [row] = rows;
          expect(rows).toMatchObject([{ status: 'completed', estimated: true }]);
          // A quarter of the bytes of the answer (docs/use/billing.md), so the count is never zero.
          expect(row?.completion_tokens).toBe(Math.ceil(words.length / 4));
          expect(nusd).toBe(
            costOf({ prompt: row?.prompt_tokens ?? 0, completion: row?.completion_tokens ?? 0 }, pricings['m/untold']),
          );
          expect(nano(shownUsage(answer)?.cost)).toBe(nusd);
        }
      });

      // A prompt that a model server of one's own takes from its cache is reported as 0, and a client can repeat its prompt at will.
      it('a prompt that was reported as no tokens, and believes the output beside it', async () => {
        for (const stream of [false, true]) {
          const usage = usageOf(0, 20);
          const answer = await asks('m/untold', { kind: 'answer', usage, text: words }, { stream });
          const { nusd, rows } = await charged();
          expect(rows).toMatchObject([{ estimated: true, completion_tokens: 20 }]);
          const prompt = rows[0]?.prompt_tokens ?? 0;
          expect(prompt).toBeGreaterThan(300);
          expect(nusd).toBe(costOf({ prompt, completion: 20 }, pricings['m/untold']));
          expect(shownUsage(answer)).toMatchObject({ prompt_tokens: prompt, completion_tokens: 20 });
        }
      });

      it('by the tokens per byte of the route’s answers, once there are twenty', async () => {
        // A token for every two bytes, as for digits or emoji.
        const dense = { kind: 'answer', usage: usageOf(10, 25), text: '1234567890'.repeat(5) } as const;
        await Promise.all(Array.from({ length: 20 }, () => asks('m/dense', dense)));
        await charged(20);
        for (const stream of [false, true]) {
          await asks('m/dense', { ...dense, usage: null }, { stream });
          expect((await charged()).rows).toMatchObject([{ estimated: true, completion_tokens: 25 }]);
        }
      });

      it('details that only an earlier usage of the stream had', async () => {
        const later = usageOf(1000, 2, { prompt_tokens_details: null });
        await asks('m/cached', { kind: 'answer', earlyUsage: usageOf(1000, 1, details(900)), usage: later }, streamed);
        expect(await charged()).toMatchObject({
          nusd: costOf({ prompt: 1000, completion: 2, cached: 900 }, pricings['m/cached']),
          rows: [{ status: 'completed', estimated: false }],
        });
      });

      it('a total that says what the completion was', async () => {
        await asks('m/one', { kind: 'answer', usage: { prompt_tokens: 10, total_tokens: 31 } });
        expect((await charged()).nusd).toBe(costOf({ prompt: 10, completion: 21 }, pricings['m/one']));
      });
    });

    // Finish, abort and error handlers all fire in the same moment. The request is settled once, in whichever order
    // they run.
    it('settles each request once when its end, the client leaving and the connection breaking race', async () => {
      const calls = 240;
      const leaves: ((value: unknown) => void)[] = [];
      stage.scripted('alpha').seen.length = 0;
      stage.scripted('alpha').answer(async (request, response) => {
        const index = Number((request.body.messages as { content: string }[])[0]?.content);
        // Spreads the leaving around the moment of the end, in steps of a tenth of a millisecond.
        setTimeout(() => leaves[index]?.(undefined), 8 + (index % 80) / 10);
        const send = (piece: unknown): void => {
          response.write(request.body.stream === true ? `data: ${JSON.stringify(piece)}\n\n` : JSON.stringify(piece));
        };
        const content = 'all there is';
        if (request.body.stream === true) {
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          send({ choices: [{ index: 0, delta: { content } }] });
        }
        await new Promise((resolve) => setTimeout(resolve, 12));
        if (request.body.stream === true) {
          send({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
          send({ choices: [], usage: usageOf(5, 5) });
          if (index % 3 !== 0) response.write('data: [DONE]\n\n');
        } else {
          send({ choices: [{ index: 0, message: { content }, finish_reason: 'stop' }], usage: usageOf(5, 5) });
        }
        if (index % 4 < 2) response.end();
        else response.socket?.resetAndDestroy();
      });
      let next = 0;
      const worker = async (): Promise<void> => {
        while (next < calls) {
          const index = next;
          next += 1;
          const leaveOn = new Promise((resolve) => {
            leaves[index] = resolve;
          });
          const body = { messages: [{ role: 'user', content: String(index) }] };
          await asks('m/one', { kind: 'silence' }, { stream: index % 2 === 0, leaveOn, body });
        }
      };
      await Promise.all(Array.from({ length: 12 }, worker));
      expect(stage.scripted('alpha').seen).toHaveLength(calls);
      const { rows } = await charged(calls);
      expect(rows).toHaveLength(calls);
      const full = costOf({ prompt: 5, completion: 5 }, pricings['m/one']);
      const completed = rows.filter(({ status, estimated }) => status === 'completed' && !estimated);
      expect(completed.filter(({ cost }) => cost !== full)).toEqual([]);
      // The race was real: all three kinds of ends occurred.
      for (const status of ['completed', 'cancelled', 'failed']) {
        expect(rows.filter((row) => row.status === status).length, status).toBeGreaterThan(0);
      }
    });

    it('left nothing to the operator but what the provider reported beyond a hold', async () => {
      expect(await operatorAccount(stage.service, 'shortfall')).toBe(0n);
      expect(await operatorAccount(stage.service, 'suspense')).toBe(0n);
    });
  });
}

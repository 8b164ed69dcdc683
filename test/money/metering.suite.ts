import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ask, type Called, type CallOptions, errorOf, type Flow } from '../kit/call.ts';
import { type Act, scripted } from '../kit/scripted-provider.ts';
import { type TestAccount, until } from '../kit/service.ts';
import {
  costOf,
  dearPricing,
  embedPricing,
  expectSettled,
  hidingPricing,
  type MoneyStage,
  nano,
  operatorAccount,
  type Pricing,
  pricings,
  quickPricing,
  quickTotalMs,
  type TokenCounts,
  twoPricings,
  type UsageRow,
  usageOf,
  usageRows,
} from './world.ts';

const credited = 1_000_000_000_000n;
const absurd = Number.MAX_SAFE_INTEGER;
const words = 'Four words of text, and then some more of them.';

interface Case {
  readonly name: string;
  readonly model: keyof typeof pricings;
  readonly usage: object;
  readonly tokens: TokenCounts;
}

const details = (cached: number, written?: number): object => ({
  prompt_tokens_details: { cached_tokens: cached, ...(written === undefined ? {} : { cache_write_tokens: written }) },
});
const reasoning = (tokens: number): object => ({ completion_tokens_details: { reasoning_tokens: tokens } });

/** What providers report, and the tokens that it means. */
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

const ways: readonly { readonly flow: Flow; readonly stream: boolean }[] = [
  { flow: 'compat', stream: false },
  { flow: 'compat', stream: true },
  { flow: 'ticket', stream: false },
  { flow: 'ticket', stream: true },
];

const usageFields = new Set([
  'prompt_tokens',
  'completion_tokens',
  'total_tokens',
  'prompt_tokens_details',
  'completion_tokens_details',
  'cost',
]);

let salt = 0;

/** What a request costs, for every end that it can have. */
export function meteringSuite(stage: MoneyStage): void {
  describe('the meter', () => {
    let account: TestAccount;
    let seen: { readonly balance: bigint; readonly rows: ReadonlySet<string> };
    const begin = async (): Promise<void> => {
      account = await stage.service.createAccount({ usd: Number(credited) / 1e9 });
      seen = { balance: credited, rows: new Set() };
    };
    beforeAll(begin);
    beforeEach(() => stage.world.alpha.answer(stage.world.alpha.script));

    interface Ask extends CallOptions {
      readonly stream?: boolean;
      readonly flow?: Flow;
      readonly body?: object;
    }
    function asks(model: string, script: Readonly<Record<string, Act>> | Act, options: Ask = {}): Promise<Called> {
      const { stream = false, flow = 'compat', body = {}, ...rest } = options;
      salt += 1;
      const acts = 'kind' in script ? { '*': script as Act } : (script as Readonly<Record<string, Act>>);
      // As many bytes as a provider reports tokens at most: more it is not believed.
      const messages = [{ role: 'user', content: scripted(acts, String(salt)).padEnd(1000) }];
      return ask(
        stage.service,
        account.inferenceKey,
        flow,
        {
          model,
          stream,
          messages,
          max_completion_tokens: 1000,
          ...(stream ? { stream_options: { include_usage: true } } : {}),
          ...body,
        },
        rest,
      );
    }

    /** What was charged and which usage rows came since the last look; waits for as many as there must be. */
    async function charged(count = 1): Promise<{ nusd: bigint; rows: UsageRow[] }> {
      const wanted = seen.rows.size + count;
      await until(async () => (await usageRows(stage.service, account)).length >= wanted, 'the rows are there', 3000);
      const balance = await expectSettled(stage.service, account, credited);
      const rows = await usageRows(stage.service, account);
      const nusd = seen.balance - balance;
      const added = rows.filter(({ id }) => !seen.rows.has(id));
      seen = { balance, rows: new Set(rows.map(({ id }) => id)) };
      return { nusd, rows: added };
    }

    const shownUsage = ({ text }: Called): Record<string, unknown> | undefined => {
      const json = text.startsWith('data:')
        ? text.split('\n\n').findLast((frame) => frame.includes('"usage":{'))
        : text;
      return (JSON.parse(json?.replace(/^data: /, '') ?? '{}') as { usage?: Record<string, unknown> }).usage;
    };

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
        const refused = await ask(service, pauper.inferenceKey, 'compat', request({}, false));
        hold = nano(/needs ([\d.e-]+) USD/.exec(errorOf(refused)?.message ?? '')?.[1]);
      });

      // All by one key: counts that are not believed do not use up its rate limit either.
      it.each(reports)('%s', async (_name, usage) => {
        for (const stream of [false, true]) {
          const answer = await ask(stage.service, payer.inferenceKey, 'compat', request(usage, stream));
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
      ])('%s', async (_name, usage) => {
        for (const stream of [false, true]) {
          const answer = await asks('m/one', { kind: 'answer', usage, text: words }, { stream });
          const { nusd, rows } = await charged();
          const [row] = rows;
          expect(rows).toMatchObject([{ status: 'completed', estimated: true }]);
          // A quarter of the bytes of the answer (docs/decisions): never nothing.
          expect(row?.completion_tokens).toBe(Math.ceil(words.length / 4));
          expect(nusd).toBe(
            costOf({ prompt: row?.prompt_tokens ?? 0, completion: row?.completion_tokens ?? 0 }, pricings['m/one']),
          );
          expect(nano(shownUsage(answer)?.cost)).toBe(nusd);
        }
      });

      it('a total that says what the completion was', async () => {
        await asks('m/one', { kind: 'answer', usage: { prompt_tokens: 10, total_tokens: 31 } });
        expect((await charged()).nusd).toBe(costOf({ prompt: 10, completion: 21 }, pricings['m/one']));
      });
    });

    describe('of one who leaves', () => {
      const finished = (text: string): boolean => text.includes('"finish_reason":"stop"');
      const paysForOutput = async (): Promise<void> => {
        const { nusd, rows } = await charged();
        expect(rows).toMatchObject([{ status: 'cancelled', estimated: true }]);
        expect(rows[0]?.completion_tokens).toBe(Math.ceil(words.length / 4));
        expect(nusd).toBeGreaterThan(costOf({ prompt: 0, completion: Math.ceil(words.length / 4) }, pricings['m/one']));
      };

      it('after reading everything, before the usage comes: the output is paid', async () => {
        const act: Act = { kind: 'answer', usage: usageOf(10, 20), text: words, withholdUsage: true };
        await asks('m/one', act, { stream: true, leaveWhen: finished });
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
        await asks('m/one', act, { stream: true, leaveWhen: finished });
        await paysForOutput();
      });

      it('in the middle: what was produced until then, and the provider is hung up on within 250 ms', async () => {
        const many = Array.from({ length: 200 }, (_, index) => ` word${index}`).join('');
        stage.world.alpha.seen.length = 0;
        await asks(
          'm/one',
          { kind: 'answer', usage: usageOf(10, 200), text: many, pieceMs: 5 },
          { stream: true, leaveWhen: (text) => text.includes('word3') },
        );
        const left = performance.now();
        await stage.world.alpha.seen[0]?.closed;
        expect(performance.now() - left).toBeLessThan(250);
        const { nusd, rows } = await charged();
        expect(rows).toMatchObject([{ status: 'cancelled', estimated: true }]);
        expect(nusd).toBeGreaterThan(0n);
        expect(rows[0]?.completion_tokens).toBeLessThan(60);
      });

      it.each([false, true])(
        'before there is output: nothing, and the provider is hung up on (stream %s)',
        async (stream) => {
          stage.world.alpha.seen.length = 0;
          const leaving = asks('m/one', { kind: 'silence' }, { stream, leaveAfterMs: 100 });
          await leaving;
          const left = performance.now();
          await stage.world.alpha.seen[0]?.closed;
          expect(performance.now() - left).toBeLessThan(250);
          expect(await charged()).toMatchObject({ nusd: 0n, rows: [{ cost: 0n, status: 'cancelled' }] });
        },
      );

      it('while one attempt has failed and the next is silent: nothing', async () => {
        const acts = { alpha: { kind: 'status', status: 503 }, beta: { kind: 'silence' } } as const;
        await asks('m/two', acts, { leaveAfterMs: 150, body: { provider: { order: ['alpha', 'beta'] } } });
        expect(await charged()).toMatchObject({ nusd: 0n, rows: [{ cost: 0n, attempts: 2 }] });
      });

      describe('a route that may bill what it does not show', () => {
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
          const act = shows({});
          await asks(model, act, { stream: true, leaveWhen: (text) => text.includes('words'), body: bodyOf(act) });
          const { nusd, rows } = await charged();
          expect(rows).toMatchObject([{ status: 'cancelled', estimated: false, completion_tokens: 3960 }]);
          expect(nusd).toBe(costOf({ prompt: 900, completion: 3960 }, hidingPricing));
        });

        it('whose usage does not come in time: what was shown and what it may have hidden', async () => {
          const act = shows({ delayMs: 300, withholdUsage: true, text: words.repeat(20), pieceMs: 50 });
          await asks('m/thinks-quick', act, { stream: true, leaveWhen: (text) => text.includes('words') });
          const { nusd, rows } = await charged();
          expect(rows).toMatchObject([{ status: 'cancelled', estimated: true }]);
          const { prompt_tokens: prompt = 0, completion_tokens: completion = 0 } = rows[0] ?? {};
          // A route that was not measured is taken to produce 50 tokens a second. It was silent for 0.3 s, and shows
          // at most 14 words of some 6 bytes until its time is over.
          expect(completion).toBeGreaterThanOrEqual(15);
          expect(nusd).toBe(costOf({ prompt, completion }, hidingPricing));
        });

        it('that was asked not to reason is not waited for', async () => {
          stage.world.alpha.seen.length = 0;
          const act = shows({ text: words.repeat(20), pieceMs: 20 });
          const body = { max_completion_tokens: 4000, reasoning: { enabled: false } };
          await asks('m/thinks', act, { stream: true, leaveWhen: (text) => text.includes('words'), body });
          await stage.world.alpha.seen[0]?.closed;
          const { rows } = await charged();
          expect(rows).toMatchObject([{ status: 'cancelled', estimated: true }]);
          expect(rows[0]?.completion_tokens).toBeLessThan(200);
        });
      });

      // What could break it: many requests that are given up at once, each of which finds the allowance unused.
      it('before there is output, again and again: free up to an allowance an account and hour, then paid', async () => {
        const payer = await stage.service.createAccount({ usd: 100 });
        const body = {
          ...{ model: 'm/dear', stream: true, max_completion_tokens: 50 },
          messages: [{ role: 'user', content: scripted({ '*': { kind: 'silence' } }) }],
        };
        const count = 12;
        const leave = (): Promise<unknown> =>
          ask(stage.service, payer.inferenceKey, 'compat', body, { leaveAfterMs: 100 });
        await Promise.all(Array.from({ length: count }, leave));
        const rowsNow = (): Promise<UsageRow[]> => usageRows(stage.service, payer);
        await until(async () => (await rowsNow()).length >= count, 'the rows are there', 5000);
        const balance = await expectSettled(stage.service, payer, 100_000_000_000n);
        const rows = await rowsNow();
        const each = costOf({ prompt: rows[0]?.prompt_tokens ?? 0, completion: 0 }, dearPricing);
        const allowance = 100_000_000n;
        // The one that crosses the allowance is free as well.
        const free = (allowance + each - 1n) / each;
        expect(free).toBeGreaterThan(1n);
        expect(free).toBeLessThan(BigInt(count));
        expect(100_000_000_000n - balance).toBe(each * (BigInt(count) - free));
        expect(rows.filter(({ cost }) => cost === 0n)).toHaveLength(Number(free));
        expect(rows.every(({ status, estimated }) => status === 'cancelled' && estimated)).toBe(true);
      });

      it('a finish reason without any output: nothing', async () => {
        const act: Act = { kind: 'answer', usage: usageOf(10, 0), text: '', withholdUsage: true };
        await asks('m/one', act, { stream: true, leaveWhen: finished });
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
          expect(answer).toMatchObject({ status: 200, complete: false, ended: 'answered' });
          expect(answer.text).toContain('"type":"provider_error"');
          expect(await charged()).toMatchObject({ nusd: 0n, rows: [{ cost: 0n, status: 'failed' }] });
        }
      });

      it('one that breaks while the client holds it back is paid: else whoever stops reading reads for free', async () => {
        let letGo = (): void => {};
        const holdBackUntil = new Promise<void>((resolve) => {
          letGo = resolve;
        });
        stage.world.alpha.answer((_request, response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          const delta = { content: 'x'.repeat(16_000) };
          const piece = `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`;
          let sent = 0;
          const more = (): void => {
            for (let room = true; room && sent < 4000; sent += 1) room = response.write(piece);
          };
          response.on('drain', more);
          more();
          // Nothing moves any more: the client holds back the broker, and the broker the provider.
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
        const started = performance.now();
        const answer = await asks(
          'm/quick',
          { kind: 'answer', usage: usageOf(10, 100), text, pieceMs: 50 },
          { stream: true },
        );
        expect(performance.now() - started).toBeLessThan(quickTotalMs + 700);
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
        ['too late, and answering all the same', { kind: 'answer', usage: usageOf(999, 999), delayMs: 450 }],
      ] as const)('the first was %s', async (_name, alpha) => {
        for (const way of ways) {
          const answer = await asks('m/two', { alpha, beta: answers }, { ...way, body: order });
          expect(answer, answer.text).toMatchObject({ complete: true, headers: { 'x-router-provider': 'beta' } });
          const { nusd, rows } = await charged();
          expect(nusd).toBe(costOf({ prompt: 13, completion: 17 }, twoPricings.beta));
          expect(rows).toMatchObject([{ provider: 'beta', attempts: 2, fallback: true, status: 'completed' }]);
        }
      });
    });

    describe('of embeddings', () => {
      const embeds = (act: Act, flow: Flow): Promise<Called> => {
        salt += 1;
        const input = scripted({ '*': act }, String(salt));
        const body = { model: 'm/embed', input };
        return ask(stage.service, account.inferenceKey, flow, body, { path: '/embeddings' });
      };
      const tokens = { prompt: 12_345 };
      const pricing: Pricing = embedPricing;

      it.each(['compat', 'ticket'] as const)('takes price × usage (%s)', async (flow) => {
        const answer = await embeds({ kind: 'answer', usage: { prompt_tokens: 123, total_tokens: 123 } }, flow);
        expect(answer, answer.text).toMatchObject({ complete: true });
        const cost = costOf({ ...tokens, prompt: 123 }, pricing);
        expect(nano(shownUsage(answer)?.cost)).toBe(cost);
        expect(await charged()).toMatchObject({ nusd: cost, rows: [{ operation: 'embeddings', estimated: false }] });
      });

      it('counts for itself, caps at the hold, and takes nothing for a failure', async () => {
        await embeds({ kind: 'answer', usage: null }, 'compat');
        const estimated = await charged();
        expect(estimated.rows).toMatchObject([{ status: 'completed', estimated: true }]);
        expect(estimated.nusd).toBeGreaterThan(0n);

        await embeds({ kind: 'answer', usage: { prompt_tokens: absurd } }, 'compat');
        const capped = await charged();
        expect(capped.nusd).toBeGreaterThan(estimated.nusd);
        expect(capped.nusd).toBeLessThan(costOf({ prompt: 1000 }, pricing));

        // So many tokens used up the rate limit of the key.
        await begin();
        expect((await embeds({ kind: 'status', status: 503 }, 'compat')).status).toBe(502);
        expect(await charged()).toMatchObject({ nusd: 0n, rows: [{ status: 'failed' }] });
      });
    });

    describe('of embeddings that are larger than an answer', () => {
      const vector = (dimensions: number): string => `[${Array(dimensions).fill('-0.0123456789').join(',')}]`;
      const asksFor = (inputs: number, more: object = {}, options: CallOptions = {}): Promise<Called> => {
        const body = { model: 'm/embed', input: Array(inputs).fill('x'.repeat(40)), ...more };
        return ask(stage.service, account.inferenceKey, 'compat', body, { path: '/embeddings', ...options });
      };
      const expectTooMuch = ({ status, text }: Called): void => {
        expect([status, JSON.parse(text)]).toMatchObject([400, { error: { type: 'invalid_request', param: 'input' } }]);
      };
      /** Answers every input with the same vector, until somebody has had enough. */
      const answersWith = (json: string): void =>
        stage.world.alpha.answer(async (request, response) => {
          const { length } = request.body.input as string[];
          response.writeHead(200, { 'content-type': 'application/json' });
          response.write('{"object":"list","data":[');
          for (let index = 0; index < length && !response.destroyed; index += 1) {
            const entry = `${index === 0 ? '' : ','}{"object":"embedding","index":${index},"embedding":${json}}`;
            if (!response.write(entry)) {
              const gone = new Promise((resolve) => response.once('close', resolve));
              await Promise.race([new Promise((resolve) => response.once('drain', resolve)), gone]);
            }
          }
          response.end(`],"model":"own-name","usage":{"prompt_tokens":${length * 10},"total_tokens":${length * 10}}}`);
        });
      beforeEach(async () => {
        await begin();
        stage.world.alpha.seen.length = 0;
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
        expect(stage.world.alpha.seen).toEqual([]);

        answersWith(vector(4096));
        expect((await asksFor(1)).status).toBe(200);
        await charged();
        expectTooMuch(await asksFor(2048));
        expect(stage.world.alpha.seen).toHaveLength(1);
        expect((await charged()).nusd).toBe(0n);
        // As base64 they fit.
        expect((await asksFor(2048, { encoding_format: 'base64', dimensions: 4096 })).status).toBe(400);
        expect(stage.world.alpha.seen).toHaveLength(2);
      });

      it('is nothing, and the provider’s fault, where the request cannot have asked for as much', async () => {
        answersWith(vector(6_000_000));
        const { status, text } = await asksFor(1);
        expect([status, JSON.parse(text)]).toMatchObject([502, { error: { type: 'provider_error', param: null } }]);
        expect(await charged()).toMatchObject({ nusd: 0n, rows: [{ status: 'failed' }] });
      });
    });

    // Finish, abort and error handlers all fire in the same moment: whichever comes first, the request is settled once.
    it('settles each request once when its end, the client leaving and the connection breaking race', async () => {
      const calls = 240;
      const leaves: ((value: unknown) => void)[] = [];
      stage.world.alpha.seen.length = 0;
      stage.world.alpha.answer(async (request, response) => {
        const index = Number((request.body.messages as { content: string }[])[0]?.content);
        // Around the moment of the end, in steps of a tenth of a millisecond.
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
      expect(stage.world.alpha.seen).toHaveLength(calls);
      const { rows } = await charged(calls);
      expect(rows).toHaveLength(calls);
      const full = costOf({ prompt: 5, completion: 5 }, pricings['m/one']);
      const completed = rows.filter(({ status, estimated }) => status === 'completed' && !estimated);
      expect(completed.filter(({ cost }) => cost !== full)).toEqual([]);
      // All three ends were met.
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

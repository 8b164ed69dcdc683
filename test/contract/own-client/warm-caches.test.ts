import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { recordedRequests } from '@sotto/client/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ProviderHandler, sendJson } from '../../kit/provider.ts';
import { runSotto } from '../../kit/run-sotto.ts';
import type { TestAccount } from '../../kit/service.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';
import { asking, endOf, listed, run, stage as standIn, useAgents } from './run-agent.ts';
import { messages, model } from './stages.ts';
import { completion, json } from './stand-in.ts';

useAgents();

const names = ['amber', 'birch', 'cedar'];
const pricing = { input: 3, cached_input: 0.3, output: 15 };
const outputTokens = 50;

/** A provider whose cache has the prompts that it got, as far as they begin alike. A token is a character here. */
function cachingProvider(): { readonly answer: ProviderHandler; forget(): void } {
  const known = new Set<string>();
  return {
    forget: () => known.clear(),
    answer({ body }, response) {
      const said = (body.messages as readonly object[]).map((message) => JSON.stringify(message));
      const prompts = said.map((_, at) => said.slice(0, at + 1).join('\n'));
      const cached = prompts.findLast((prompt) => known.has(prompt))?.length ?? 0;
      for (const prompt of prompts) known.add(prompt);
      const promptTokens = prompts.at(-1)?.length ?? 0;
      const usage = {
        ...{ prompt_tokens: promptTokens, completion_tokens: outputTokens, total_tokens: promptTokens + outputTokens },
        prompt_tokens_details: { cached_tokens: cached },
      };
      const message = { role: 'assistant', content: 'Step.' };
      sendJson(response, 200, {
        ...{ id: 'chatcmpl-1', created: 1_700_000_000, model: 'coder-1', usage },
        choices: [{ index: 0, message, finish_reason: 'stop' }],
      });
    },
  };
}

interface BillRow {
  readonly provider: string;
  readonly prompt_tokens: number;
  readonly cached_tokens: number;
  readonly cost: number;
  readonly total_cost: number;
}

await describeStage(
  'a recorded conversation of twenty turns',
  async () => ({
    providers: Object.fromEntries(names.map((name) => [name, {}])),
    models: {
      // Equal routes share the traffic of the sort Default.
      'acme/coder': {
        routes: Object.fromEntries(names.map((name) => [name, { pricing, capabilities: { tools: true } }])),
        context_length: 400_000,
        max_output_tokens: 1000,
      },
    },
    features: ['evidence'],
  }),
  (stage) => {
    const caches = names.map(cachingProvider);
    let account: TestAccount;
    let folder: string;
    beforeAll(async () => {
      account = await stage.service.createAccount();
      folder = await mkdtemp(join(tmpdir(), 'sotto-warm-'));
    });
    beforeEach(() => {
      for (const [at, name] of names.entries()) {
        caches[at]?.forget();
        stage.provider(name).answer(caches[at]?.answer ?? expect.unreachable());
      }
    });
    afterAll(() => rm(folder, { recursive: true, force: true }));

    const atService = (): string[] => {
      const { baseUrl, controlUrl } = stage.service;
      return ['--base-url', baseUrl, '--control-url', controlUrl, '--allow-simulated'];
    };

    /** Replays a conversation through `sotto proxy`. Returns its bill, and who served each turn. */
    async function replay(warm: 'on' | 'off', onTurn: (turn: number, served: string) => void = () => undefined) {
      const bill = join(folder, `${warm}-${Math.random()}.json`);
      const args = ['proxy', '--port', '0', '--open', '--warm-caches', warm, '--bill', bill, ...atService()];
      const proxy = runSotto(args, { INFERENCE_KEY: account.inferenceKey });
      const [, url = ''] = await proxy.outMatches(/^(http:\/\/127\.0\.0\.1:\d+\/v1)\n/);
      const served: string[] = [];
      for (const [turn, recorded] of recordedRequests('claude').entries()) {
        const body = JSON.stringify({ model: 'acme/coder', max_tokens: 1000, ...recorded });
        const answer = await fetch(`${url}/chat/completions`, { method: 'POST', body });
        expect(answer.status, await answer.text()).toBe(200);
        served.push(answer.headers.get('x-router-provider') ?? '');
        onTurn(turn, served.at(-1) ?? '');
      }
      proxy.child.kill('SIGINT');
      expect(await proxy.ended).toBe(0);
      const rows = (JSON.parse(await readFile(bill, 'utf8')) as { data: readonly BillRow[] }).data;
      const sum = (of: (row: BillRow) => number): number => rows.reduce((total, row) => total + of(row), 0);
      return {
        ...{ bill, rows, served, err: proxy.err() },
        promptTokens: sum((row) => row.prompt_tokens),
        cachedTokens: sum((row) => row.cached_tokens),
        cost: sum((row) => row.cost),
      };
    }

    it('stays with one provider, reads its cache and costs less than without', async () => {
      const on = await replay('on');
      for (const each of caches) each.forget();
      const off = await replay('off');
      expect(on.rows).toHaveLength(20);
      expect(new Set(on.served).size).toBe(1);
      // A run without warm caches meets one provider in all turns once in a billion.
      expect(new Set(off.served).size).toBeGreaterThan(1);
      expect(off.promptTokens).toBe(on.promptTokens);
      expect(on.cachedTokens).toBeGreaterThan(off.cachedTokens);
      expect(on.cost).toBeLessThan(off.cost);
      // Every turn but the first finds all of the last one that was sent again.
      expect(on.rows.slice(2).every((row) => row.cached_tokens > row.prompt_tokens / 2)).toBe(true);
      const shown = ({ served, cachedTokens, promptTokens, cost }: typeof on): string =>
        `${new Set(served).size} providers, ${Math.round((100 * cachedTokens) / promptTokens)} % cached, $${cost.toFixed(4)}`;
      console.info(`with warm caches: ${shown(on)}; without: ${shown(off)}`);
      expect(on.err).toContain('Total: $');
      const shownTokens = on.cachedTokens.toLocaleString('en-US');
      expect(on.err).toMatch(new RegExp(`Cached: ${shownTokens} of \\S+ prompt tokens, which saved \\$0\\.`));
    });

    it('has a bill that verify-bill accepts, charge by charge, with signed receipts', async () => {
      const { bill, rows, cost, err } = await replay('on');
      expect(err).toContain(`Bill: ${bill}, 20 charges, 20 with a receipt.`);
      expect(rows.at(-1)?.total_cost).toBeCloseTo(cost, 9);
      const checking = runSotto(['verify-bill', bill, ...atService()]);
      expect(await checking.ended, checking.err()).toBe(0);
      expect(checking.out()).toMatch(
        /^20 charges, 0\.\d+ USD: 20 add up\n20 of 20 charges are proven by a signed receipt\.\n$/,
      );
    });

    // The provider fails between two turns. Its request falls back, and the conversation moves to who served it, for good.
    it('moves with a failure, and stays with the provider that took over', async () => {
      let failed = '';
      const { served } = await replay('on', (turn, provider) => {
        if (turn !== 9) return;
        failed = provider;
        stage.provider(failed).answer((_, response) => sendJson(response, 503, { error: { message: 'overloaded' } }));
      });
      expect(new Set(served.slice(0, 10))).toEqual(new Set([failed]));
      expect(new Set(served.slice(10)).size).toBe(1);
      expect(served.at(-1)).not.toBe(failed);
    });
  },
  { planes: ['two'] },
);

describe('the option --warm-caches', () => {
  const order = { order: ['acme'], sort: 'price', minimum_privacy: 'private' };
  const preferences = {
    ...{ provider_sort: 'price', provider_ignore: [], provider_allow_fallbacks: true, provider_max_attempts: 3 },
  };
  const equal = (provider: string) => ({
    ...{ provider, privacy_class: 'private', pricing: { input: 1, output: 10 }, capabilities: { tools: true } },
  });
  beforeEach(() => {
    standIn.service.onControl((_, response) =>
      json(response, 200, {
        ...{ object: 'list', data: [{ ...listed, provider_routes: [equal('acme'), equal('birch')] }], preferences },
        ...{ ticket: 'ticket', expires_at: new Date(Date.now() + 300_000).toISOString() },
      }),
    );
    standIn.service.onBroker((_, response) => {
      response.setHeader('x-router-provider', 'acme').setHeader('x-router-privacy-class', 'private');
      json(response, 200, completion('Done.'));
    });
  });
  const policies = (): unknown[] =>
    standIn.service.broker.map(({ text }) => (JSON.parse(text) as { provider?: unknown }).provider);

  it('is on for an agent: control and the broker see the order, and control no content', async () => {
    await endOf(await run('claude', asking(2), ['--model', model]));
    expect(policies()).toEqual([undefined, order]);
    const tickets = standIn.service.control.filter(({ path }) => path === '/v1/inference/tickets');
    expect(tickets.map(({ text }) => JSON.parse(text))).toEqual([
      { operation: 'chat', model },
      { operation: 'chat', model, provider: order },
    ]);
    expect(JSON.stringify(standIn.service.control)).not.toContain('CONTENT-MARKER');
  });

  it('leaves every request as it is if it is off', async () => {
    await endOf(await run('claude', asking(2), ['--model', model, '--warm-caches', 'off']));
    expect(policies()).toEqual([undefined, undefined]);
  });

  it('is off for an anonymous wallet, unless its owner asks for it', async () => {
    const printed = async (...args: string[]): Promise<string> => {
      const own = runSotto(['run', 'claude', '--print', ...args]);
      expect(await own.ended).toBe(0);
      return own.out();
    };
    expect(await printed()).toContain('sotto proxy --warm-caches on\n');
    expect(await printed('--anonymous')).not.toContain('--warm-caches');
    expect(await printed('--anonymous', '--warm-caches', 'on')).toContain('sotto proxy --anonymous --warm-caches on\n');
  });

  // An SDK asks again after it gave up. The first try had an order, and lost its provider with the answer; the second has none. It may
  // have been charged, so it must be known by what the SDK sent.
  it('does not buy a request twice that was lost with an order', async () => {
    const script = `
      const { ANTHROPIC_BASE_URL: url, ANTHROPIC_AUTH_TOKEN: token } = process.env;
      const body = JSON.stringify(${JSON.stringify({ model, messages })});
      (async () => {
        for (const retries of ['0', '0', '1']) {
          const headers = { authorization: 'Bearer ' + token, 'x-stainless-retry-count': retries };
          console.log((await fetch(url + '/v1/chat/completions', { method: 'POST', headers, body })).status);
        }
      })();`;
    standIn.service.onBroker((_, response) => {
      response.setHeader('x-router-provider', 'acme').setHeader('x-router-privacy-class', 'private');
      if (standIn.service.broker.length === 1) json(response, 200, completion('Done.'));
      else response.destroy();
    });
    const { out } = await endOf(await run('claude', script, ['--model', model]));
    expect(out).toBe('200\n424\n409\n');
    expect(policies()).toEqual([undefined, order]);
  });

  it.each([
    [['--warm-caches', 'maybe'], '--warm-caches must be one of on, off; got "maybe".'],
    [['--bill', '/nowhere/bill.json'], '--bill /nowhere/bill.json cannot be created: ENOENT.'],
    [['--bill', import.meta.filename], 'the file exists, and may be the bill of another run. Name a new file'],
  ])('explains %j before anything is sent', async (args, sentence) => {
    const { code, err } = await endOf(await run('claude', asking(1), ['--model', model, ...args]));
    expect(code).toBe(2);
    expect(err).toContain(sentence);
    expect(standIn.service.control).toEqual([]);
  });
});

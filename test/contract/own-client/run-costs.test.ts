import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { asking, controlAnswer, endOf, listed, run, stage, usage, useAgents } from './run-agent.ts';
import { messages, model } from './stages.ts';
import { completion, json, refusal } from './stand-in.ts';

useAgents();

describe('sotto run', () => {
  it('stops before a request that could exceed --max-cost, and tells the agent', async () => {
    // The input counts as one token a byte, at 1 USD a million; 50 tokens of output cost 0.0005 USD.
    const { out } = await endOf(await run('claude', asking(3), ['--model', model, '--max-cost', '0.0025']));
    const answers = out.trim().split('\n');
    expect(answers.map((line) => line.split(' ')[0])).toEqual(['200', '200', '402']);
    expect(answers.at(-1)).toMatch(/--max-cost/);
    expect(stage.service.broker).toHaveLength(2);
  });

  it('bounds a chat under --max-cost as the service does, and sends nothing else that costs', async () => {
    const image = { type: 'image_url', image_url: { url: 'https://images.example/1.png' } };
    const tool = (parameters: object) => ({ type: 'function', function: { name: 'look', parameters } });
    const twice = (at: number) => ({ properties: { l: { $ref: `#/$defs/d${at}` }, r: { $ref: `#/$defs/d${at}` } } });
    const levels = Array.from({ length: 12 }, (_, at) => [`d${at}`, at === 11 ? {} : twice(at + 1)]);
    const asked = [
      ['chat/completions', { messages: [{ role: 'user', content: [image] }] }],
      ['chat/completions', { messages, tools: Array(8).fill(tool({ type: 'object' })) }],
      ['chat/completions', { messages, tools: [tool({ $defs: Object.fromEntries(levels), ...twice(0) })] }],
      // `/auto` may choose any model.
      ['chat/completions', { messages, models: ['/auto'] }],
      ['embeddings', { input: 'Hello' }],
      ['chat/completions', { messages }],
    ];
    const dear = {
      ...listed,
      id: 'acme/dear',
      provider_routes: [{ provider: 'acme', pricing: { input: 90, output: 90 } }],
    };
    stage.service.onControl((seen, response, request) =>
      seen.path === '/v1/models'
        ? json(response, 200, { object: 'list', data: [listed, dear] })
        : controlAnswer(seen, response, request),
    );
    const script = `
      const { ANTHROPIC_BASE_URL: url, ANTHROPIC_AUTH_TOKEN: token } = process.env;
      const headers = { 'content-type': 'application/json', authorization: 'Bearer ' + token };
      (async () => {
        for (const [path, more] of ${JSON.stringify(asked)}) {
          const body = JSON.stringify({ model: '${model}', max_tokens: 50, ...more });
          const answer = await fetch(url + '/v1/' + path, { method: 'POST', headers, body });
          console.log(answer.status, (await answer.json()).error?.message);
        }
      })();`;
    const { out } = await endOf(await run('claude', script, ['--model', model, '--max-cost', '0.005']));
    const answers = out.trim().split('\n');
    expect(answers.map((line) => line.slice(0, 3))).toEqual(['402', '402', '402', '402', '403', '200']);
    for (const refused of answers.slice(0, 5)) expect(refused).toContain('--max-cost');
    expect(stage.service.broker).toHaveLength(1);
  });

  it.each([
    [503, refusal('service_unavailable'), /^503 .*control_unreachable/],
    [200, { object: 'list', data: [] }, /^503 .*control_unreachable/],
    [429, refusal('rate_limited'), /^429 .*rate_limited/],
  ])('sends nothing under --max-cost while the prices cannot be read: %i, %j', async (status, body, expected) => {
    let lists = 0;
    stage.service.onControl(({ path }, response) => {
      if (path === '/v1/models') lists += 1;
      if (lists > 1) json(response, status, body);
      else json(response, 200, { object: 'list', data: [listed] });
    });
    const { out } = await endOf(await run('claude', asking(1), ['--model', model, '--max-cost', '1']));
    expect(out).toMatch(expected);
    expect(stage.service.broker).toEqual([]);
  });

  it('says under --max-cost that a price is finer than a cost can be, and sends nothing', async () => {
    const fine = { ...listed, provider_routes: [{ provider: 'acme', pricing: { input: 1e-9, output: 10 } }] };
    stage.service.onControl((_, response) => json(response, 200, { object: 'list', data: [fine] }));
    const { out } = await endOf(await run('claude', asking(1), ['--model', model, '--max-cost', '1']));
    expect(out).toMatch(/^403 .*--max-cost cannot bound what a chat costs: a price of acme\/small by acme is not/);
    expect(stage.service.broker).toEqual([]);
  });

  it('says which requests it does not count, and how much came from caches', async () => {
    const cached = { ...usage, prompt_tokens: 2000, prompt_tokens_details: { cached_tokens: 1500 }, cost: 0.00065 };
    const priced = {
      ...listed,
      provider_routes: [{ provider: 'acme', pricing: { input: 1, cached_input: 0.1, output: 0 } }],
    };
    stage.service.onControl((_, response) =>
      json(response, 200, {
        ...{ object: 'list', data: [priced], ticket: 'ticket' },
        expires_at: new Date(Date.now() + 300_000).toISOString(),
      }),
    );
    stage.service.onBroker((_, response) => {
      response.setHeader('x-router-provider', 'acme').setHeader('x-router-privacy-class', 'private');
      json(response, 200, { ...completion('Done.'), usage: cached });
    });
    const script = `
      const { ANTHROPIC_BASE_URL: url, ANTHROPIC_AUTH_TOKEN: token } = process.env;
      const headers = { authorization: 'Bearer ' + token };
      (async () => {
        for (const [path, more] of [['chat/completions', { messages: [] }], ['embeddings', { input: 'Hello' }]])
          await (await fetch(url + '/v1/' + path, { method: 'POST', headers, body: JSON.stringify({ model: '${model}', ...more }) })).text();
      })();`;
    const { err } = await endOf(await run('claude', script, ['--model', model]));
    // 1500 × 0.9 USD per million.
    expect(err).toContain(
      'sotto: 1 request, $0.0006. Providers: private 1. Cached: 1,500 of 2,000 prompt tokens, which saved $0.0014. Not counted: 1 that was no chat.',
    );
  });

  it('serves a request although another one leaves while both wait for the prices', async () => {
    let lists = 0;
    stage.service.onControl(async (seen, response, request) => {
      if (seen.path === '/v1/models') lists += 1;
      // The command itself reads the first list. The second one is for names of models, and the third one for prices.
      if (seen.path === '/v1/models' && lists === 3) await setTimeout(500);
      controlAnswer(seen, response, request);
    });
    const script = `
      const { ANTHROPIC_BASE_URL: url, ANTHROPIC_AUTH_TOKEN: token } = process.env;
      const body = JSON.stringify(${JSON.stringify({ model, max_tokens: 50, messages })});
      const headers = { 'content-type': 'application/json', authorization: 'Bearer ' + token };
      const ask = (signal) =>
        fetch(url + '/v1/messages', { method: 'POST', headers, body, signal }).then(({ status }) => status, ({ name }) => name);
      Promise.all([ask(AbortSignal.timeout(100)), ask(null)]).then((ended) => console.log(ended.join()));`;
    const { out, err } = await endOf(await run('claude', script, ['--model', model, '--max-cost', '1']));
    expect(out).toBe('TimeoutError,200\n');
    expect(err).toContain('sotto: 1 request, $0.0010.');
  });

  it('asks for the usage of a stream that the agent did not ask for, and hides it', async () => {
    stage.service.onBroker(({ text }, response) => {
      const { stream_options } = JSON.parse(text) as { stream_options?: unknown };
      const chunk = { id: 'c', object: 'chat.completion.chunk', created: 1, model };
      const event = (more: object): string => `data: ${JSON.stringify({ ...chunk, ...more })}\n\n`;
      response.writeHead(200, { 'content-type': 'text/event-stream', 'x-router-privacy-class': 'tee' });
      response.write(event({ choices: [{ index: 0, delta: { content: JSON.stringify(stream_options) } }] }));
      response.end(`${event({ choices: [], usage })}data: [DONE]\n\n`);
    });
    const script = `
      const { OPENAI_BASE_URL: url, OPENAI_API_KEY: key } = process.env;
      fetch(url + '/chat/completions', {
        method: 'POST',
        headers: { authorization: 'Bearer ' + key },
        body: JSON.stringify({ model: process.env.OPENAI_MODEL, stream: true, messages: [] }),
      }).then((answer) => answer.text()).then(console.log);`;
    const { out, err } = await endOf(await run('qwen', script, ['--model', model]));
    expect(out).toContain('{\\"include_usage\\":true}');
    expect(out).not.toContain('"cost"');
    expect(out).toContain('data: [DONE]');
    expect(err).toContain('$0.0010. Providers: tee 1.');
  });

  it('counts an answer that broke off as of unknown cost', async () => {
    stage.service.onBroker((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'x-router-privacy-class': 'private' });
      response.write(': begun\n\n', () => response.destroy());
    });
    const { err } = await endOf(await run('claude', asking(1, { stream: true }), ['--model', model]));
    expect(err).toContain(
      'sotto: 1 request, $0.0000. The cost of 1 is unknown, and may be charged. Providers: private 1.\n',
    );
  });

  it('counts a request whose connection broke before the answer as of unknown cost', async () => {
    stage.service.onBroker((_, response) => response.destroy());
    const { out, err } = await endOf(await run('claude', asking(1), ['--model', model]));
    expect(out).toContain('answer_lost');
    expect(err).toContain('sotto: 1 request, $0.0000. The cost of 1 is unknown, and may be charged.\n');
  });

  it('counts a request that the agent abandons before the answer as of unknown cost', async () => {
    const script = `process.stdin.once('data', () => process.exit()); ${asking(1)}`;
    const own = run('claude', script, ['--model', model]);
    stage.service.onBroker(() => void own.then(({ child }) => child.stdin?.write('leave\n')));
    const { err } = await endOf(await own);
    expect(err).toContain('sotto: 1 request, $0.0000. The cost of 1 is unknown, and may be charged.\n');
  });
});

import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, streamText } from 'ai';
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { until } from '../../kit/service.ts';
import { noteSkip } from '../../kit/skips.ts';
import { runSotto, type SottoRun } from './run-sotto.ts';
import { echo, json, refusal, type StandInService, startStandIn } from './stand-in.ts';

const run = promisify(execFile);
const apiKey = 'sotto_inf_secret';
const model = 'acme/small';
const messages = [{ role: 'user' as const, content: 'CONTENT-MARKER' }];

let service: StandInService;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sotto-client-'));
  service = await startStandIn();
});
beforeEach(() => {
  service.onBroker(echo);
  service.onControl(undefined);
  service.broker.splice(0);
  service.control.splice(0);
});
afterAll(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Whether the `openai` package of Python can be used here. */
const python = await run('python3', ['-c', 'import openai']).then(
  () => true,
  () => false,
);
if (!python)
  noteSkip('the Python `openai` package through `sotto proxy`', '`pip install openai` for the python3 on the PATH.');

const atService = (): string[] => [
  '--base-url',
  service.baseUrl,
  '--control-url',
  service.controlUrl,
  '--allow-simulated',
];

describe('sotto proxy', () => {
  let proxy: SottoRun;
  let baseURL: string;
  beforeAll(async () => {
    proxy = runSotto(['proxy', '--port', '0', ...atService()], { SOTTO_API_KEY: apiKey });
    [, baseURL = ''] = await proxy.outMatches(/^(http:\/\/127\.0\.0\.1:\d+\/v1)\n/);
  });
  afterAll(async () => {
    proxy.child.kill('SIGKILL');
    await proxy.ended;
  });

  it('says what it verified before it serves', () => {
    expect(proxy.err()).toMatch(
      /verified http:\/\/127\.0\.0\.1:\d+: untrusted \(simulated, key set until .*SIMULATED: nothing is protected/,
    );
  });

  it('serves the openai SDK, whole and streamed, and drops the key that it sends', async () => {
    const openai = new OpenAI({ baseURL, apiKey: 'sk-of-the-tool', organization: 'org-me' });
    const answer = await openai.chat.completions.create({ model, messages });
    expect(answer.choices[0]?.message.content).toBe('You said: CONTENT-MARKER');
    const stream = openai.chat.completions.stream({ model, messages });
    expect((await stream.finalChatCompletion()).choices[0]?.message.content).toBe('You said: CONTENT-MARKER');
    expect((await openai.models.list()).data).toHaveLength(1);
    expect(JSON.stringify(service.control)).not.toContain('CONTENT-MARKER');
    expect(JSON.stringify([...service.broker, ...service.control])).not.toMatch(/sk-of-the-tool|org-me/);
    expect(JSON.stringify(service.broker)).not.toContain(apiKey);
  });

  it('serves the AI SDK, whole and streamed', async () => {
    const provider = createOpenAICompatible({ name: 'sotto', baseURL });
    const whole = await generateText({ model: provider(model), prompt: 'hello', maxRetries: 0 });
    expect(whole.text).toBe('You said: hello');
    expect(await streamText({ model: provider(model), prompt: 'hello', maxRetries: 0 }).text).toBe('You said: hello');
  });

  it('serves curl, whole and streamed', async () => {
    const ask = (body: object) =>
      run('curl', [
        '-sSN',
        `${baseURL}/chat/completions`,
        '-H',
        'content-type: application/json',
        '-d',
        JSON.stringify(body),
      ]);
    expect(JSON.parse((await ask({ model, messages })).stdout)).toMatchObject({
      choices: [{ message: { content: 'You said: CONTENT-MARKER' } }],
    });
    expect((await ask({ model, messages, stream: true })).stdout).toMatch(/^data: .*data: \[DONE\]\n\n$/s);
  });

  it.skipIf(!python)('serves the openai package of Python, whole and streamed', async () => {
    const script = `
import openai
client = openai.OpenAI(base_url='${baseURL}', api_key='sk-of-the-tool')
messages = [{'role': 'user', 'content': 'CONTENT-MARKER'}]
print(client.chat.completions.create(model='${model}', messages=messages).choices[0].message.content)
stream = client.chat.completions.create(model='${model}', messages=messages, stream=True)
print(''.join(chunk.choices[0].delta.content or '' for chunk in stream))
`;
    const { stdout } = await run('python3', ['-c', script]);
    expect(stdout).toBe('You said: CONTENT-MARKER\n'.repeat(2));
  });

  it('hands on each piece of a stream as it comes', async () => {
    let goOn = (): void => undefined;
    service.onBroker((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {"choices":[{"index":0,"delta":{"content":"first"}}]}\n\n');
      goOn = () => response.end('data: {"choices":[{"index":0,"delta":{"content":"second"}}]}\n\ndata: [DONE]\n\n');
    });
    const openai = new OpenAI({ baseURL, apiKey: 'x' });
    const said: unknown[] = [];
    for await (const chunk of await openai.chat.completions.create({ model, messages, stream: true })) {
      said.push(chunk.choices[0]?.delta.content);
      // The second is not sent before the first is here.
      goOn();
    }
    expect(said).toEqual(['first', 'second']);
  });

  it('tells the service when a tool leaves', async () => {
    const closed = new Promise<void>((resolve) => {
      service.onBroker((_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('data: {"choices":[{"index":0,"delta":{"content":"on and on"}}]}\n\n');
        response.once('close', resolve);
      });
    });
    const openai = new OpenAI({ baseURL, apiKey: 'x' });
    for await (const _ of await openai.chat.completions.create({ model, messages, stream: true })) break;
    await closed;
  });

  it('hands on what a control origin compressed', async () => {
    const list = { object: 'list', data: [{ id: model, object: 'model' }] };
    service.onControl((_, response) => {
      const body = gzipSync(JSON.stringify(list));
      const type = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
      response.writeHead(200, { ...type, 'content-length': body.length }).end(body);
    });
    expect(await (await fetch(`${baseURL}/models`)).json()).toEqual(list);
  });

  it('waits for a tool that reads slowly, without piling anything up', async () => {
    const piece = Buffer.alloc(1024 * 1024, 'x');
    service.onBroker((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      Readable.from(Array(24).fill(piece)).pipe(response);
    });
    const said = await fetch(`${baseURL}/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ model, messages }),
    });
    let size = 0;
    for await (const part of said.body ?? []) {
      size += part.length;
      await setTimeout(1);
    }
    expect(size).toBe(24 * piece.length);
    expect(proxy.err()).not.toContain('Warning');
  });

  it('does not buy a second answer for an SDK that counts a body that broke off as a failed try', async () => {
    service.onBroker((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
      response.write('{"id":', () => response.destroy());
    });
    const ask = (tries: number) =>
      fetch(`${baseURL}/chat/completions`, {
        method: 'POST',
        headers: { 'x-stainless-retry-count': String(tries) },
        body: JSON.stringify({ model, messages: [{ role: 'user', content: 'cut short' }] }),
      });
    await expect(ask(0).then((answer) => answer.text())).rejects.toThrow();
    const again = await ask(1);
    expect([again.status, await again.json()]).toMatchObject([409, { error: { type: 'retry_refused' } }]);
    expect(service.broker).toHaveLength(1);
  });

  it('hands on refusals of both origins, and failures of its own in the same envelope', async () => {
    const openai = new OpenAI({ baseURL, apiKey: 'x' });
    service.onControl((_, response) => json(response, 404, refusal('model_not_found')));
    await expect(openai.chat.completions.create({ model: 'acme/none', messages })).rejects.toMatchObject({
      status: 404,
      type: 'model_not_found',
    });
    service.onControl(undefined);
    service.onBroker((_, response) => response.destroy());
    await expect(openai.chat.completions.create({ model: 'acme/gone', messages })).rejects.toMatchObject({
      status: 424,
      type: 'answer_lost',
    });
    expect(service.broker).toHaveLength(1);
    service.onBroker((_, response) =>
      json(response, 402, refusal('insufficient_balance'), { 'x-router-routing': 'exact' }),
    );
    const failure = await openai.chat.completions
      .create({ model: 'acme/dear', messages })
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ status: 402, type: 'insufficient_balance' });
    expect((failure as InstanceType<typeof OpenAI.APIError>).headers?.get('x-router-routing')).toBe('exact');
  });

  it.each<[string, Record<string, string>, string]>([
    ['a name of somebody else’s', { host: 'evil.example' }, '/v1/models'],
    ['a web page', { origin: 'https://evil.example' }, '/v1/models'],
    ['a page’s own request', { 'sec-fetch-site': 'cross-site' }, '/v1/models'],
  ])('refuses %s', async (_, headers, path) => {
    const { port } = new URL(baseURL);
    const status = await new Promise((resolve, reject) => {
      request({ port, host: '127.0.0.1', path, headers }, (response) => resolve(response.resume().statusCode))
        .on('error', reject)
        .end();
    });
    expect(status).toBe(403);
    // Tickets for what was asked before may still be fetched ahead.
    expect(service.control.filter((seen) => seen.path === path)).toEqual([]);
  });

  it('refuses what is no text, and addresses that it does not serve', async () => {
    const post = (path: string, body: string | Buffer) => fetch(`${baseURL}${path}`, { method: 'POST', body });
    for (const [path, body, status] of [
      ['/chat/completions', Buffer.from('{"model":"\xff"}', 'latin1'), 400],
      ['/chat/completions', '{', 400],
      ['/responses', '{}', 404],
      ['/../v2', '{}', 404],
    ] as const) {
      const answer = await post(path, body);
      expect([path, answer.status, answer.headers.get('x-should-retry')]).toEqual([path, status, 'false']);
      expect(await answer.json()).toMatchObject({ error: { request_id: expect.stringMatching(/^local_/) } });
    }
    expect(service.broker).toEqual([]);
  });

  it('ends at Ctrl-C, after the answers that run', async () => {
    const own = runSotto(['proxy', '--port', '0', ...atService()], { SOTTO_API_KEY: apiKey });
    const [, url = ''] = await own.outMatches(/^(http:\S+)\n/);
    let finish = (): void => undefined;
    const asked = new Promise<void>((resolve) => {
      service.onBroker((seen, response, incoming) => {
        finish = () => echo(seen, response, incoming);
        resolve();
      });
    });
    const answer = new OpenAI({ baseURL: url, apiKey: 'x' }).chat.completions.create({ model, messages });
    await asked;
    own.child.kill('SIGINT');
    finish();
    expect((await answer).choices).toHaveLength(1);
    expect(await own.ended).toBe(0);
  });

  it('does not start on what it cannot verify, and says what to do', async () => {
    const args = ['proxy', '--base-url', service.baseUrl, '--control-url', service.controlUrl, '--port', '0'];
    const own = runSotto(args, { SOTTO_API_KEY: apiKey });
    expect(await own.ended).toBe(1);
    expect(own.err()).toMatch(/attestation_untrusted: .*simulated\.hardware.*--pins FILE/s);
    expect(own.out()).toBe('');
  });

  it('takes the key from a file, and from no argument', async () => {
    const file = join(folder, 'key');
    await writeFile(file, `${apiKey}\n`);
    await chmod(file, 0o644);
    const open = runSotto(['proxy', '--port', '0', '--key-file', file, ...atService()]);
    expect(await open.ended).toBe(2);
    expect(open.err()).toContain(`Run \`chmod 600 ${file}\`.`);
    expect(service.control).toEqual([]);
    await chmod(file, 0o600);
    const own = runSotto(['proxy', '--port', '0', '--key-file', file, ...atService()]);
    await own.outMatches(/^http:/);
    own.child.kill('SIGTERM');
    expect(await own.ended).toBe(0);
    const without = runSotto(['proxy', '--port', '0', ...atService()]);
    expect(await without.ended).toBe(2);
    expect(without.err()).toMatch(/SOTTO_API_KEY/);
    const argument = runSotto(['proxy', '--api-key', apiKey, ...atService()]);
    expect(await argument.ended).toBe(2);
  });
});

describe('sotto verify', () => {
  it('reports every check with its reason, and fails by the verdict', async () => {
    const report = runSotto(['verify', service.baseUrl]);
    expect(await report.ended).toBe(1);
    expect(report.out()).toMatch(/Verdict +untrusted/);
    expect(report.out()).toMatch(/passed +gateway\.key_set\n/);
    expect(report.out()).toMatch(/FAILED +simulated\.hardware +the evidence is simulated/);
    expect(report.out()).toMatch(/not made +gateway\.tls_key/);
    expect(report.err()).toMatch(/hardware_verified is required/);
    expect(service.broker).toEqual([]);
  });

  it('reports to programs', async () => {
    const report = runSotto(['verify', service.baseUrl, '--json', '--require', 'policy_matched']);
    expect(await report.ended).toBe(1);
    expect(JSON.parse(report.out())).toMatchObject({
      origin: service.baseOrigin,
      nonce: expect.stringMatching(/^[0-9a-f]{64}$/),
      verdict: 'untrusted',
      tee_type: 'simulated',
      tls_key_seen: false,
      checks: expect.arrayContaining([{ name: 'gateway.format', outcome: 'passed' }]),
      key_set: { service: 'sotto' },
    });
  });

  it.each<[string, string[], number, RegExp]>([
    ['no address', ['verify'], 2, /URL is missing/],
    ['an address in clear', ['verify', 'http://example.com'], 2, /plain http is for this machine only/],
    [
      'no verdict',
      ['verify', 'https://example.com', '--require', 'untrusted'],
      2,
      /--require must be one of policy_matched/,
    ],
    [
      'a misspelt verdict',
      ['verify', 'https://example.com', '--require', 'hardware-verified'],
      2,
      /--require must be one of policy_matched, .*; got "hardware-verified"/,
    ],
    [
      'a verdict that no provider reaches',
      ['verify', 'https://example.com', '--require-provider', 'hardware_verified'],
      2,
      /--require-provider must be one of policy_matched, cryptographically_checked; got "hardware_verified"/,
    ],
    [
      'another class',
      ['verify', 'https://example.com', '--model', 'acme/none', '--privacy', 'private'],
      2,
      /--privacy must be one of e2ee, tee; got "private"/,
    ],
    ['a class of no model', ['verify', 'https://example.com', '--privacy', 'tee'], 2, /--privacy needs --model/],
    ['an unknown option', ['verify', 'https://example.com', '--nonce', '0'], 2, /--nonce/],
    ['pins that are not there', ['verify', 'https://example.com', '--pins', '/nowhere'], 2, /ENOENT/],
    ['an unknown command', ['verifi'], 2, /verify, proxy/],
    ['nobody there', ['verify', 'https://127.0.0.1:1'], 3, /unavailable, and hardware_verified is required/],
  ])('tells what is wrong with %s', async (_, args, code, message) => {
    const report = runSotto(args);
    expect(await report.ended).toBe(code);
    expect(report.err()).toMatch(message);
  });

  it('tells what is wrong with a file of pins', async () => {
    const file = join(folder, 'pins.json');
    await writeFile(file, JSON.stringify({ gateway: { tdx: { measurements: [], minimum_evaluation_number: 18 } } }));
    const report = runSotto(['verify', service.baseUrl, '--pins', file]);
    expect(await report.ended).toBe(2);
    expect(report.err()).toMatch(/gateway\.tdx\.measurements/);
  });

  it('looks at the enclave of a provider, and says why there is nothing to see', async () => {
    const at = ['verify', service.baseUrl, '--control-url', service.controlUrl, '--model', 'acme/none'];
    const report = runSotto(at, { SOTTO_API_KEY: apiKey });
    expect(await report.ended).toBe(1);
    expect(report.out()).toMatch(/Provider +no evidence: model_not_found: /);
    expect(report.err()).toMatch(/The verdict of the provider is unavailable, and policy_matched is required/);
    const json = runSotto([...at, '--json'], { SOTTO_API_KEY: apiKey });
    await json.ended;
    expect(JSON.parse(json.out())).toMatchObject({ enclave: { verdict: 'unavailable', type: 'model_not_found' } });
    expect(JSON.stringify(service.broker)).not.toContain(apiKey);
  });

  it.each([['--help'], ['verify'], ['proxy'], ['chat'], ['verify-bill']])('explains itself: %s', async (name) => {
    const help = runSotto([name, '--help']);
    expect(await help.ended).toBe(0);
    expect(help.out()).toMatch(name === '--help' ? /sotto verify-bill FILE/ : new RegExp(`^sotto ${name}[ :]`));
  });
});

it.each(['proxy', 'chat'])('sotto %s gives no key to the origin that gets the content', async (name) => {
  const twice = ['--base-url', service.baseUrl, '--control-url', service.baseUrl, '--allow-simulated'];
  const own = runSotto([name, ...twice, ...(name === 'chat' ? ['--model', model] : [])], { SOTTO_API_KEY: apiKey });
  own.child.stdin?.end();
  expect(await own.ended).toBe(2);
  expect(own.err()).toMatch(/cannot be the confidential origin/);
  expect(service.broker).toEqual([]);
});

it('sotto verify-bill says that there is no list of prices', async () => {
  const file = join(folder, 'bill.json');
  await writeFile(file, JSON.stringify({ data: [] }));
  service.onControl((_, response) => json(response, 503, refusal('service_unavailable')));
  for (const url of ['http://127.0.0.1:1', service.controlUrl]) {
    const own = runSotto(['verify-bill', file, '--control-url', url]);
    expect(await own.ended).toBe(3);
    expect(own.err()).toMatch(/^No list of prices can be had from http:/);
  }
});

it('sotto verify-bill says what it did not look at, and shows no line of the bill’s own making', async () => {
  const row = {
    operation: 'chat',
    model,
    provider: 'a\nb\u001b[2J',
    privacy_class: 'private',
    cost: 1,
    estimated: false,
  };
  const counts = { prompt_tokens: 1, cached_tokens: 0, completion_tokens: 0, reasoning_tokens: 0 };
  const bill = join(folder, 'page.json');
  const prices = join(folder, 'prices.json');
  await writeFile(bill, JSON.stringify({ data: [{ id: '1\n2', ...row, ...counts }], next_cursor: 'more' }));
  await writeFile(prices, JSON.stringify({ data: [] }));
  const own = runSotto(['verify-bill', bill, '--prices', prices]);
  expect(await own.ended).toBe(3);
  expect(own.out().split('\n')).toHaveLength(3);
  expect(own.out()).not.toContain('\u001b');
  expect(own.err()).toMatch(/There are more charges after this page/);
  const two = runSotto(['verify-bill', bill, bill, '--prices', prices]);
  expect(await two.ended).toBe(2);
});

it('sotto verify shows no line of the service’s own making', async () => {
  service.onControl((_, response) =>
    json(response, 404, {
      error: { type: 'gone\u001b[2J', message: 'x\nVerdict  hardware_verified', request_id: 'r' },
    }),
  );
  const at = ['verify', service.baseUrl, '--control-url', service.controlUrl, '--model', model];
  const own = runSotto(at, { SOTTO_API_KEY: apiKey });
  await own.ended;
  expect(own.out()).toMatch(/no evidence: gone/);
  expect(own.out()).not.toMatch(/^Verdict +hardware/m);
  expect(own.out()).not.toContain('\u001b');
});

it('sotto chat ends quietly when nobody reads its answers any more', async () => {
  const own = runSotto(['chat', '--model', model, ...atService()], { SOTTO_API_KEY: apiKey });
  own.child.stdout?.destroy();
  own.child.stdin?.end('one\ntwo\n');
  expect(await own.ended).toBe(1);
  expect(own.err()).not.toContain('EPIPE');
});

describe('sotto chat', () => {
  const chat = (...more: string[]) =>
    runSotto(['chat', '--model', model, ...atService(), ...more], { SOTTO_API_KEY: apiKey });

  it('sends the whole conversation with each message, and ends with /exit', async () => {
    const talk = chat('--system', 'Be brief.');
    talk.child.stdin?.write('one\n');
    await talk.outMatches(/You said: one\n/);
    talk.child.stdin?.write('\ntwo\n');
    await talk.outMatches(/You said: two\n/);
    talk.child.stdin?.write('/exit\n');
    expect(await talk.ended).toBe(0);
    const last = JSON.parse(service.broker.at(-1)?.text ?? '') as { messages: unknown };
    expect(last.messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'You said: one' },
      { role: 'user', content: 'two' },
    ]);
  });

  it('tells what went wrong, takes the turn back, and goes on', async () => {
    service.onBroker((_, response) => json(response, 402, refusal('insufficient_balance')));
    const talk = chat();
    talk.child.stdin?.write('one\n');
    await until(async () => talk.err().includes('insufficient_balance: It is'), 'the refusal is shown', 10_000);
    service.onBroker(echo);
    talk.child.stdin?.end('two\n');
    expect(await talk.ended).toBe(0);
    expect(JSON.parse(service.broker.at(-1)?.text ?? '')).toMatchObject({ messages: [{ content: 'two' }] });
  });

  it('stops an answer at Ctrl-C, keeps what was said, and ends at the next', async () => {
    const closed = new Promise<void>((resolve) => {
      service.onBroker((_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('data: {"choices":[{"index":0,"delta":{"content":"on \\u001b[2Jand"}}]}\n\n');
        response.once('close', resolve);
      });
    });
    const talk = chat();
    talk.child.stdin?.write('one\n');
    // What would steer the terminal is taken out.
    await talk.outMatches(/on \[2Jand/);
    talk.child.kill('SIGINT');
    await closed;
    service.onBroker(echo);
    talk.child.stdin?.write('two\n');
    await talk.outMatches(/You said: two/);
    expect(JSON.parse(service.broker.at(-1)?.text ?? '')).toMatchObject({ messages: [{}, { role: 'assistant' }, {}] });
    await until(async () => talk.out().endsWith('You said: two\n'), 'the answer has ended', 5000);
    talk.child.kill('SIGINT');
    expect(await talk.ended).toBe(0);
  });

  it('does not talk where it cannot encrypt and was told to', async () => {
    service.onControl(({ path }, response) =>
      json(
        response,
        200,
        path === '/v1/models'
          ? { data: [{ id: model, provider_routes: [{ provider: 'acme', privacy_class: 'private' }] }] }
          : {},
      ),
    );
    const talk = chat('--e2ee');
    talk.child.stdin?.end('one\n');
    expect(await talk.ended).toBe(0);
    expect(talk.err()).toMatch(/no_provider_route_meets_privacy/);
    expect(service.broker).toEqual([]);
  });
});

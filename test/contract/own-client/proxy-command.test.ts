import { execFile } from 'node:child_process';
import { chmod, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { noteSkip, until } from '@sotto/test-servers';
import { generateText, streamText } from 'ai';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runSotto, type SottoRun } from '../../kit/run-sotto.ts';
import { apiKey, CommandStage, messages, model } from './stages.ts';
import { echo, json, refusal } from './stand-in.ts';

const run = promisify(execFile);
const stage = new CommandStage();

/** Whether Python's `openai` package is installed here. */
const python = await run('python3', ['-c', 'import openai']).then(
  () => true,
  () => false,
);
if (!python)
  noteSkip('the Python `openai` package through `sotto proxy`', '`pip install openai` for the python3 on the PATH.');

describe('sotto proxy', () => {
  let proxy: SottoRun;
  let baseURL: string;
  beforeAll(async () => {
    proxy = runSotto(['proxy', '--port', '0', '--open', ...stage.atService()], { INFERENCE_KEY: apiKey });
    [, baseURL = ''] = await proxy.outMatches(/^(http:\/\/127\.0\.0\.1:\d+\/v1)\n/);
  });
  afterAll(async () => {
    proxy.child.kill('SIGKILL');
    await proxy.ended;
  });

  it('says what it verified before it serves', () => {
    expect(proxy.err()).toMatch(
      /checked http:\/\/127\.0\.0\.1:\d+: untrusted \(simulated, binding none, key set until .*SIMULATED: nothing is protected/,
    );
  });

  it('serves the openai SDK, whole and streamed, and drops the key that it sends', async () => {
    const openai = new OpenAI({ baseURL, apiKey: 'sk-of-the-tool', organization: 'org-me' });
    const answer = await openai.chat.completions.create({ model, messages });
    expect(answer.choices[0]?.message.content).toBe('You said: CONTENT-MARKER');
    const stream = openai.chat.completions.stream({ model, messages });
    expect((await stream.finalChatCompletion()).choices[0]?.message.content).toBe('You said: CONTENT-MARKER');
    expect((await openai.models.list()).data).toHaveLength(1);
    expect(JSON.stringify(stage.service.control)).not.toContain('CONTENT-MARKER');
    expect(JSON.stringify([...stage.service.broker, ...stage.service.control])).not.toMatch(/sk-of-the-tool|org-me/);
    expect(JSON.stringify(stage.service.broker)).not.toContain(apiKey);
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

  it('passes on each piece of a stream as it arrives', async () => {
    let goOn = (): void => undefined;
    stage.service.onBroker((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {"choices":[{"index":0,"delta":{"content":"first"}}]}\n\n');
      goOn = () => response.end('data: {"choices":[{"index":0,"delta":{"content":"second"}}]}\n\ndata: [DONE]\n\n');
    });
    const openai = new OpenAI({ baseURL, apiKey: 'x' });
    const said: unknown[] = [];
    for await (const chunk of await openai.chat.completions.create({ model, messages, stream: true })) {
      said.push(chunk.choices[0]?.delta.content);
      // The service sends the second piece only after the first has arrived here.
      goOn();
    }
    expect(said).toEqual(['first', 'second']);
  });

  it('tells the service when a tool leaves', async () => {
    const closed = new Promise<void>((resolve) => {
      stage.service.onBroker((_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('data: {"choices":[{"index":0,"delta":{"content":"on and on"}}]}\n\n');
        response.once('close', resolve);
      });
    });
    const openai = new OpenAI({ baseURL, apiKey: 'x' });
    for await (const _ of await openai.chat.completions.create({ model, messages, stream: true })) break;
    await closed;
  });

  it('passes on an answer that the control origin compressed', async () => {
    const list = { object: 'list', data: [{ id: model, object: 'model' }] };
    stage.service.onControl((_, response) => {
      const body = gzipSync(JSON.stringify(list));
      const type = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
      response.writeHead(200, { ...type, 'content-length': body.length }).end(body);
    });
    expect(await (await fetch(`${baseURL}/models`)).json()).toEqual(list);
  });

  it('waits for a tool that reads slowly, without buffering its answer', async () => {
    const piece = Buffer.alloc(1024 * 1024, 'x');
    stage.service.onBroker((_, response) => {
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

  it('does not buy a second answer for an SDK that retries after a truncated body', async () => {
    stage.service.onBroker((_, response) => {
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
    expect(stage.service.broker).toHaveLength(1);
  });

  it('passes on errors of both origins, and reports its own in the same envelope', async () => {
    const openai = new OpenAI({ baseURL, apiKey: 'x' });
    stage.service.onControl((_, response) => json(response, 404, refusal('model_not_found')));
    await expect(openai.chat.completions.create({ model: 'acme/none', messages })).rejects.toMatchObject({
      status: 404,
      type: 'model_not_found',
    });
    stage.service.onControl(undefined);
    stage.service.onBroker((_, response) => response.destroy());
    await expect(openai.chat.completions.create({ model: 'acme/gone', messages })).rejects.toMatchObject({
      status: 424,
      type: 'answer_lost',
    });
    expect(stage.service.broker).toHaveLength(1);
    stage.service.onBroker((_, response) =>
      json(response, 402, refusal('insufficient_balance'), { 'x-router-routing': 'exact' }),
    );
    const failure = await openai.chat.completions
      .create({ model: 'acme/dear', messages })
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ status: 402, type: 'insufficient_balance' });
    expect((failure as InstanceType<typeof OpenAI.APIError>).headers?.get('x-router-routing')).toBe('exact');
  });

  it.each<[string, Record<string, string>]>([
    ['a name of somebody else’s', { host: 'evil.example' }],
    ['a web page', { origin: 'https://evil.example' }],
    ['a page’s own request', { 'sec-fetch-site': 'cross-site' }],
  ])('rejects %s', async (_, headers) => {
    const path = '/v1/models';
    const { port } = new URL(baseURL);
    const status = await new Promise((resolve, reject) => {
      request({ port, host: '127.0.0.1', path, headers }, (response) => resolve(response.resume().statusCode))
        .on('error', reject)
        .end();
    });
    expect(status).toBe(403);
    // The proxy may still prefetch tickets for the earlier request.
    expect(stage.service.control.filter((seen) => seen.path === path)).toEqual([]);
  });

  it('rejects bytes that are not text, a body above 64 MiB, and unsupported paths', async () => {
    const post = (path: string, body: string | Buffer) => fetch(`${baseURL}${path}`, { method: 'POST', body });
    for (const [path, body, status] of [
      ['/chat/completions', Buffer.from('{"model":"\xff"}', 'latin1'), 400],
      ['/chat/completions', '{', 400],
      ['/chat/completions', Buffer.alloc(64 * 1024 * 1024 + 1, ' '), 413],
      ['/completions', '{}', 404],
      ['/../v2', '{}', 404],
    ] as const) {
      const answer = await post(path, body);
      expect([path, answer.status, answer.headers.get('x-should-retry')]).toEqual([path, status, 'false']);
      expect(await answer.json()).toMatchObject({ error: { request_id: expect.stringMatching(/^local_/) } });
    }
    expect(stage.service.broker).toEqual([]);
  });

  it.each([
    ['Ctrl-C', ['SIGINT']],
    ['a closed terminal, which says so twice', ['SIGHUP', 'SIGHUP']],
  ] as const)('ends at %s, after the running answers', async (_, [first, second]) => {
    const own = runSotto(['proxy', '--port', '0', '--open', ...stage.atService()], { INFERENCE_KEY: apiKey });
    const [, url = ''] = await own.outMatches(/^(http:\S+)\n/);
    let finish = (): void => undefined;
    const asked = new Promise<void>((resolve) => {
      stage.service.onBroker((seen, response, incoming) => {
        finish = () => echo(seen, response, incoming);
        resolve();
      });
    });
    const answer = new OpenAI({ baseURL: url, apiKey: 'x' }).chat.completions.create({ model, messages });
    await asked;
    own.child.kill(first);
    await until(() => own.err().includes('Press Ctrl-C again to stop at once.'), 'the proxy says what it waits for');
    if (second !== undefined) {
      own.child.kill(second);
      await setTimeout(200);
    }
    finish();
    expect((await answer).choices).toHaveLength(1);
    expect(await own.ended).toBe(0);
  });

  it('does not start if verification fails, and says what to do', async () => {
    const args = [
      'proxy',
      '--base-url',
      stage.service.baseUrl,
      '--control-url',
      stage.service.controlUrl,
      '--port',
      '0',
    ];
    const own = runSotto(args, { INFERENCE_KEY: apiKey });
    expect(await own.ended).toBe(1);
    expect(own.err()).toMatch(/attestation_untrusted: .*The evidence is simulated.*--allow-simulated/s);
    expect(own.out()).toBe('');
  });

  it('reads the key from a file, never from an argument', async () => {
    const file = join(stage.folder, 'key');
    await writeFile(file, `${apiKey}\n`);
    await chmod(file, 0o644);
    const open = runSotto(['proxy', '--port', '0', '--key-file', file, ...stage.atService()]);
    expect(await open.ended).toBe(2);
    expect(open.err()).toContain(`Run \`chmod 600 ${file}\`.`);
    expect(stage.service.control).toEqual([]);
    await chmod(file, 0o600);
    const own = runSotto(['proxy', '--port', '0', '--key-file', file, ...stage.atService()]);
    await own.outMatches(/^http:/);
    own.child.kill('SIGTERM');
    expect(await own.ended).toBe(0);
    const without = runSotto(['proxy', '--port', '0', '--open', ...stage.atService()]);
    expect(await without.ended).toBe(2);
    expect(without.err()).toMatch(/INFERENCE_KEY/);
    const argument = runSotto(['proxy', '--api-key', apiKey, ...stage.atService()]);
    expect(await argument.ended).toBe(2);
  });
});

it('sotto proxy prints a token and asks for it, or takes the one that it is given', async () => {
  const started = async (environment: Record<string, string>): Promise<readonly [SottoRun, string, string]> => {
    const own = runSotto(['proxy', '--port', '0', ...stage.atService()], { INFERENCE_KEY: apiKey, ...environment });
    const [, url = '', token = ''] = await own.outMatches(/^(http:\S+)\nAPI key: (\S+)\n/);
    return [own, url, token];
  };
  const [own, url, token] = await started({});
  const statusWith = async (headers: Record<string, string>) => (await fetch(`${url}/models`, { headers })).status;
  expect(await statusWith({})).toBe(401);
  expect(await statusWith({ authorization: 'Bearer wrong' })).toBe(401);
  expect(await statusWith({ authorization: `Bearer ${token}` })).toBe(200);
  expect(await statusWith({ 'x-api-key': token })).toBe(200);
  own.child.kill('SIGTERM');
  await own.ended;
  const [given, , shown] = await started({ SOTTO_LOCAL_TOKEN: 'mine' });
  expect(shown).toBe('mine');
  given.child.kill('SIGTERM');
  await given.ended;
});

it.each<[string, Record<string, string>, RegExp | undefined]>([
  [
    'names a proxy',
    { ALL_PROXY: 'http://proxy.test' },
    /ALL_PROXY is set and NO_PROXY is not set\. A tool .* in clear/,
  ],
  [
    'excepts other hosts',
    { HTTP_PROXY: 'http://proxy.test', NO_PROXY: '127.0.0.1', no_proxy: 'corp.example' },
    /HTTP_PROXY is set and no_proxy does not list 127\.0\.0\.1/,
  ],
  ['excepts this machine', { HTTP_PROXY: 'http://proxy.test', NO_PROXY: '127.0.0.1' }, undefined],
])('sotto proxy says what a tool does whose environment %s', async (_, environment, warning) => {
  const own = runSotto(['proxy', '--port', '0', ...stage.atService()], { INFERENCE_KEY: apiKey, ...environment });
  await own.outMatches(/API key: /);
  own.child.kill('SIGTERM');
  await own.ended;
  if (warning === undefined) expect(own.err()).not.toContain('in clear');
  else expect(own.err()).toMatch(warning);
});

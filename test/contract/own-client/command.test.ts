import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runSotto } from '../../kit/run-sotto.ts';
import { until } from '../../kit/service.ts';
import { apiKey, CommandStage, model } from './stages.ts';
import { echo, json, refusal } from './stand-in.ts';

const stage = new CommandStage();

describe('sotto verify', () => {
  it('reports every check with its reason, and exits by the verdict', async () => {
    const report = runSotto(['verify', stage.service.baseUrl]);
    expect(await report.ended).toBe(1);
    expect(report.out()).toMatch(/Verdict +untrusted/);
    expect(report.out()).toMatch(/passed +gateway\.key_set\n/);
    expect(report.out()).toMatch(/FAILED +simulated\.hardware +the evidence is simulated/);
    expect(report.out()).toMatch(/skipped +gateway\.tls_key/);
    expect(report.out()).toMatch(/Binding +none: The evidence was not compared with the connection/);
    expect(report.err()).toMatch(/accept it with --allow-simulated.*hardware_verified is required/s);
    expect(stage.service.broker).toEqual([]);
  });

  it('reports as JSON for programs', async () => {
    const report = runSotto(['verify', '--json', '--require', 'policy_matched'], { BASE_URL: stage.service.baseUrl });
    expect(await report.ended).toBe(1);
    expect(JSON.parse(report.out())).toMatchObject({
      origin: stage.service.baseOrigin,
      nonce: expect.stringMatching(/^[0-9a-f]{64}$/),
      verdict: 'untrusted',
      tee_type: 'simulated',
      tls_key_seen: false,
      binding: 'none',
      checks: expect.arrayContaining([{ name: 'gateway.format', outcome: 'passed' }]),
      key_set: { service: 'sotto' },
    });
  });

  it.each<[string, string[], number, RegExp]>([
    ['no address', ['verify'], 2, /URL is missing/],
    ['an address in clear', ['verify', 'http://example.com'], 2, /Plain http works only for this machine/],
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
    ['a nonce of no recording', ['verify', 'https://example.com', '--nonce', '0'], 2, /^--nonce needs --recorded/],
    ['an export of no recording', ['verify', 'https://example.com', '--exporter', '0'], 2, /^--exporter needs --recor/],
    [
      'a recording that it should connect for',
      ['verify', 'https://example.com', '--recorded', 'x', '--relay', 'socks5://127.0.0.1:9050'],
      2,
      /^--recorded connects to nothing\. Leave it or --relay out/,
    ],
    [
      'a recording of no nonce',
      ['verify', 'https://example.com', '--recorded', 'package.json'],
      2,
      /^--nonce is missing\. Evidence is for one nonce/,
    ],
    ['an unknown option', ['verify', 'https://example.com', '--nonse', '0'], 2, /^Unknown option '--nonse'\.\nSee /],
    [
      'two settings that contradict',
      ['verify', 'https://example.com', '--allow-simulated', '--require', 'policy_matched'],
      2,
      /Leave it or --allow-simulated out/,
    ],
    ['pins that are not there', ['verify', 'https://example.com', '--pins', '/nowhere'], 2, /no such file/],
    ['an unknown command', ['verifi'], 2, /Commands: verify, measure, pins, release, run, proxy, chat/],
    [
      'no address of a service',
      ['chat', '--model', 'acme/none'],
      2,
      /--base-url is missing\. Pass it, or set BASE_URL: with `npm start`, run `source \.sotto\/env`\./,
    ],
    ['no model', ['chat'], 2, /--model is missing\. Pass one, such as --model creator\/model/],
    ['nobody there', ['verify', 'https://127.0.0.1:1'], 3, /unavailable; hardware_verified is required/],
  ])('explains the error in %s', async (_, args, code, message) => {
    const report = runSotto(args);
    expect(await report.ended).toBe(code);
    expect(report.err()).toMatch(message);
  });

  it('explains the error in a file of pins', async () => {
    const file = join(stage.folder, 'pins.json');
    await writeFile(file, JSON.stringify({ gateway: { tdx: { measurements: [], minimum_evaluation_number: 18 } } }));
    const report = runSotto(['verify', stage.service.baseUrl, '--pins', file]);
    expect(await report.ended).toBe(2);
    expect(report.err()).toMatch(/gateway\.tdx\.measurements/);
  });

  it('checks the enclave of a provider, and says why there is no evidence', async () => {
    const at = ['verify', stage.service.baseUrl, '--control-url', stage.service.controlUrl, '--model', 'acme/none'];
    const report = runSotto(at, { INFERENCE_KEY: apiKey });
    expect(await report.ended).toBe(1);
    expect(report.out()).toMatch(/Provider +no evidence: model_not_found: /);
    expect(report.err()).toMatch(/The verdict of the provider is unavailable; policy_matched is required/);
    const json = runSotto([...at, '--json'], { INFERENCE_KEY: apiKey });
    await json.ended;
    expect(JSON.parse(json.out())).toMatchObject({ enclave: { verdict: 'unavailable', type: 'model_not_found' } });
    expect(JSON.stringify(stage.service.broker)).not.toContain(apiKey);
  });

  it.each([['--help'], ['verify'], ['measure'], ['proxy'], ['chat'], ['playground'], ['verify-bill']])(
    'prints help: %s',
    async (name) => {
      const help = runSotto([name, '--help']);
      expect(await help.ended).toBe(0);
      expect(help.out()).toMatch(name === '--help' ? /sotto verify-bill FILE/ : new RegExp(`^sotto ${name}[ :]`));
    },
  );
});

it.each(['proxy', 'chat'])('sotto %s refuses to send the key to the origin that gets the content', async (name) => {
  const twice = ['--base-url', stage.service.baseUrl, '--control-url', stage.service.baseUrl, '--allow-simulated'];
  const own = runSotto([name, ...twice, ...(name === 'chat' ? ['--model', model] : [])], { INFERENCE_KEY: apiKey });
  own.child.stdin?.end();
  expect(await own.ended).toBe(2);
  expect(own.err()).toMatch(/cannot be the confidential origin/);
  expect(stage.service.broker).toEqual([]);
});

it('sotto verify-bill says that there is no list of prices', async () => {
  const file = join(stage.folder, 'bill.json');
  await writeFile(file, JSON.stringify({ data: [] }));
  stage.service.onControl((_, response) => json(response, 503, refusal('service_unavailable')));
  for (const url of ['http://127.0.0.1:1', stage.service.controlUrl]) {
    const own = runSotto(['verify-bill', file, '--control-url', url]);
    expect(await own.ended).toBe(3);
    expect(own.err()).toMatch(/^Cannot load prices from http:/);
  }
});

it('sotto verify-bill lists the checks it skipped, and prints no line that the bill injects', async () => {
  const row = {
    operation: 'chat',
    model,
    provider: 'a\nb\u001b[2J',
    privacy_class: 'private',
    cost: 1,
    estimated: false,
  };
  const counts = { prompt_tokens: 1, cached_tokens: 0, completion_tokens: 0, reasoning_tokens: 0 };
  const bill = join(stage.folder, 'page.json');
  const prices = join(stage.folder, 'prices.json');
  await writeFile(bill, JSON.stringify({ data: [{ id: '1\n2', ...row, ...counts }], next_cursor: 'more' }));
  await writeFile(prices, JSON.stringify({ data: [] }));
  const own = runSotto(['verify-bill', bill, '--prices', prices]);
  expect(await own.ended).toBe(3);
  expect(own.out().split('\n')).toHaveLength(3);
  expect(own.out()).not.toContain('\u001b');
  expect(own.err()).toMatch(/The bill has more pages/);
  const two = runSotto(['verify-bill', bill, bill, '--prices', prices]);
  expect(await two.ended).toBe(2);
});

it('sotto verify prints no line that the service injects', async () => {
  stage.service.onControl((_, response) =>
    json(response, 404, {
      error: { type: 'gone\u001b[2J', message: 'x\nVerdict  hardware_verified', request_id: 'r' },
    }),
  );
  const at = ['verify', stage.service.baseUrl, '--control-url', stage.service.controlUrl, '--model', model];
  const own = runSotto(at, { INFERENCE_KEY: apiKey });
  await own.ended;
  expect(own.out()).toMatch(/no evidence: gone/);
  expect(own.out()).not.toMatch(/^Verdict +hardware/m);
  expect(own.out()).not.toContain('\u001b');
});

it('sotto chat ends quietly when the reader of its output is gone', async () => {
  const own = runSotto(['chat', '--model', model, ...stage.atService()], { INFERENCE_KEY: apiKey });
  own.child.stdout?.destroy();
  own.child.stdin?.end('one\ntwo\n');
  expect(await own.ended).toBe(1);
  expect(own.err()).not.toContain('EPIPE');
});

describe('sotto chat', () => {
  const chat = (...more: string[]) =>
    runSotto(['chat', '--model', model, ...stage.atService(), ...more], { INFERENCE_KEY: apiKey });

  it('sends the whole conversation with each message, and ends with /exit', async () => {
    const talk = chat('--system', 'Be brief.');
    talk.child.stdin?.write('one\n');
    await talk.outMatches(/You said: one\n/);
    talk.child.stdin?.write('\ntwo\n');
    await talk.outMatches(/You said: two\n/);
    talk.child.stdin?.write('/exit\n');
    expect(await talk.ended).toBe(0);
    const last = JSON.parse(stage.service.broker.at(-1)?.text ?? '') as { messages: unknown };
    expect(last.messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'You said: one' },
      { role: 'user', content: 'two' },
    ]);
  });

  it('reports an error, drops the failed turn, and goes on', async () => {
    stage.service.onBroker((_, response) => json(response, 402, refusal('insufficient_balance')));
    const talk = chat();
    talk.child.stdin?.write('one\n');
    await until(async () => talk.err().includes('insufficient_balance: It is'), 'the refusal is shown', 10_000);
    stage.service.onBroker(echo);
    talk.child.stdin?.end('two\n');
    expect(await talk.ended).toBe(0);
    expect(JSON.parse(stage.service.broker.at(-1)?.text ?? '')).toMatchObject({ messages: [{ content: 'two' }] });
  });

  it('ends with 1 at a wrong key, because no later message can succeed', async () => {
    stage.service.onControl((_, response) => json(response, 401, refusal('invalid_api_key')));
    const talk = chat();
    talk.child.stdin?.write('one\n');
    expect(await talk.ended).toBe(1);
    expect(talk.err()).toContain('invalid_api_key');
  });

  it('ends with 1 if the last message of piped input failed', async () => {
    stage.service.onBroker((_, response) => json(response, 402, refusal('insufficient_balance')));
    const talk = chat();
    talk.child.stdin?.end('one\n');
    expect(await talk.ended).toBe(1);
  });

  it('stops an answer at Ctrl-C, keeps its text so far, and ends at the next Ctrl-C', async () => {
    const closed = new Promise<void>((resolve) => {
      stage.service.onBroker((_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('data: {"choices":[{"index":0,"delta":{"content":"on \\u001b[2Jand"}}]}\n\n');
        response.once('close', resolve);
      });
    });
    const talk = chat();
    talk.child.stdin?.write('one\n');
    // The command removes control sequences, which could steer the terminal.
    await talk.outMatches(/on \[2Jand/);
    talk.child.kill('SIGINT');
    await closed;
    stage.service.onBroker(echo);
    talk.child.stdin?.write('two\n');
    await talk.outMatches(/You said: two/);
    expect(JSON.parse(stage.service.broker.at(-1)?.text ?? '')).toMatchObject({
      messages: [{}, { role: 'assistant' }, {}],
    });
    await until(async () => talk.out().endsWith('You said: two\n'), 'the answer has ended', 5000);
    talk.child.kill('SIGINT');
    expect(await talk.ended).toBe(0);
  });

  it('does not send in clear if encryption is required and not available', async () => {
    stage.service.onControl(({ path }, response) =>
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
    expect(await talk.ended).toBe(1);
    expect(talk.err()).toMatch(/no_provider_route_meets_privacy/);
    expect(stage.service.broker).toEqual([]);
  });
});

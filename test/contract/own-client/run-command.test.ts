import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { runSotto } from '../../kit/run-sotto.ts';
import { startWebProxy } from '../../kit/web-proxy.ts';
import { asking, endOf, run, stage, useAgents } from './run-agent.ts';
import { apiKey, model } from './stages.ts';
import { json, refusal } from './stand-in.ts';

useAgents();

describe('sotto run', () => {
  it('gives the agent an address and a token, serves it privately, and says what the run cost', async () => {
    const { code, out, err } = await endOf(await run('claude', asking(2), ['--model', model]));
    expect(code).toBe(0);
    expect(out.match(/^200 .*Done\./gm)).toHaveLength(2);
    expect(err).toContain('sotto: 2 requests, $0.0020. Providers: private 2.');
    const { control, broker } = stage.service;
    expect(JSON.stringify(control)).not.toContain('CONTENT-MARKER');
    expect(JSON.stringify(broker)).not.toMatch(new RegExp(`${apiKey}|sotto_local_|sk-of-another-service`));
  });

  it('passes arguments, the exit code and the settings on, without keys of other services', async () => {
    const script = 'console.log(JSON.stringify([process.argv.slice(2), process.env])); process.exitCode = 7;';
    const { code, out } = await endOf(await run('codex', script, ['--model', model], ['exec', '--help']));
    expect(code).toBe(7);
    const [args, environment] = JSON.parse(out) as [string[], Record<string, string>];
    expect(args.slice(-2)).toEqual(['exec', '--help']);
    expect(args).toEqual(
      expect.arrayContaining(['model_provider="sotto"', `model="${model}"`, 'model_context_window=8000']),
    );
    expect(environment.SOTTO_LOCAL_TOKEN).toMatch(/^sotto_local_/);
    expect(environment).not.toHaveProperty('OPENAI_API_KEY');
    expect(out).not.toContain(apiKey);
  });

  it('leaves keys of other services with --keep-env, and its own key never', async () => {
    const script = 'console.log(JSON.stringify(process.env))';
    const { out } = await endOf(await run('claude', script, ['--keep-env', '--model', model]));
    expect(JSON.parse(out)).toMatchObject({ OPENAI_API_KEY: 'sk-of-another-service' });
    expect(out).not.toContain(apiKey);
  });

  it.each<Record<string, string>>([
    {},
    { NO_PROXY: 'corp.example' },
    { no_proxy: 'corp.example', NO_PROXY: 'other.example' },
    { NO_PROXY: '*', no_proxy: 'corp.example' },
  ])('sends nothing to a proxy of the environment, with the exceptions %j', async (exceptions) => {
    const proxy = await startWebProxy();
    const proxies = { HTTP_PROXY: proxy.url, http_proxy: proxy.url, ALL_PROXY: proxy.url, NODE_USE_ENV_PROXY: '1' };
    const other = "fetch('http://other.test/').catch(() => {}).then(() => console.log(JSON.stringify(process.env)));";
    const own = await run('claude', asking(1) + other, ['--model', model], [], { ...proxies, ...exceptions });
    const { out } = await endOf(own);
    expect(out).toMatch(/^200 .*Done\./m);
    // The agent's other requests go to the proxy as before, and the program that asks them knows of no other proxy.
    expect(proxy.asked.map((each) => new URL(each).host)).toEqual(['other.test']);
    expect(out).toContain(`"HTTP_PROXY":"${proxy.url}"`);
    await proxy.stop();
  });

  it('uses no proxy at all where the user excepts every host', async () => {
    const proxy = await startWebProxy();
    const environment = { HTTP_PROXY: proxy.url, ALL_PROXY: proxy.url, NODE_USE_ENV_PROXY: '1', NO_PROXY: '*' };
    const { out } = await endOf(await run('claude', asking(1), ['--model', model], [], environment));
    expect(out).toMatch(/^200 .*Done\./m);
    expect(proxy.asked).toEqual([]);
    await proxy.stop();
  });

  describe('with a file of variables for Codex', () => {
    const script = `
      const setting = (name) => process.argv.find((each) => each.startsWith(name + '=')).split('"')[1];
      console.log(setting('model_providers.sotto.base_url'), process.env.NO_PROXY);`;
    const withFile = async (text: string, environment: Record<string, string> = {}) => {
      await writeFile(join(stage.folder, '.env'), text);
      const at = { CODEX_HOME: stage.folder, ...environment };
      return endOf(await run('codex', script, ['--model', model], [], at));
    };

    it.each([
      ['HTTP_PROXY=http://proxy.test\nNO_PROXY=corp.example\n', {}, 'NO_PROXY'],
      ['export no_proxy="*"\n', { ALL_PROXY: 'http://proxy.test' }, 'no_proxy'],
    ])('starts nothing if it puts a proxy between: %j', async (text, environment, name) => {
      const { code, out, err } = await withFile(text, environment);
      expect([code, out]).toEqual([2, '']);
      expect(err).toContain(`${join(stage.folder, '.env')} sets ${name} to `);
      expect(err).toContain(`Add 127.0.0.1 to ${name} in that file.`);
      expect(stage.service.control).toEqual([]);
    });

    it.each([
      ['NO_PROXY=corp.example\n', {}],
      ['HTTP_PROXY=http://proxy.test\n', { NO_PROXY: 'corp.example' }],
      ['NO_PROXY=corp.example,127.0.0.1\n', { HTTP_PROXY: 'http://proxy.test' }],
    ])('starts if it does not: %j', async (text, environment) => {
      const { code, out } = await withFile(text, environment);
      expect(code).toBe(0);
      expect(out).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1 (corp\.example,)?127\.0\.0\.1\n$/);
    });
  });

  it('ends before the agent starts if the service does not list the model, and says which it lists', async () => {
    const { code, out, err } = await endOf(await run('claude', asking(1), ['--model', 'acme/smal']));
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain(`--model acme/smal is not a text model of this service. It lists: ${model}.`);
    const unnamed = await endOf(await run('claude', asking(1)));
    expect([unnamed.code, unnamed.out]).toEqual([2, '']);
    expect(unnamed.err).toContain('No model of this service is one of claude. Name one with --model');
    const nitro = await endOf(await run('claude', asking(1), ['--model', `${model}:nitro`]));
    expect(nitro.code, nitro.err).toBe(0);
  });

  it('refuses programs without the token of the run, in the dialect that they read', async () => {
    const script = `
      const url = process.env.ANTHROPIC_BASE_URL;
      (async () => {
        for (const [path, headers] of [['/v1/messages', { 'x-api-key': 'wrong' }], ['/v1/chat/completions', {}], ['/v1/models', {}]]) {
          const answer = await fetch(url + path, path === '/v1/models' ? {} : { method: 'POST', headers, body: '{}' });
          console.log(answer.status, JSON.stringify((await answer.json()).error.type));
        }
      })();`;
    const { out, err } = await endOf(await run('claude', script, ['--model', model]));
    expect(out.trim().split('\n')).toEqual([
      '401 "authentication_error"',
      '401 "invalid_api_key"',
      '401 "invalid_api_key"',
    ]);
    expect(err).toContain('sotto: no request was served.');
    expect(stage.service.broker).toEqual([]);
  });

  it.each([
    ['pi', 'process.env.PI_CODING_AGENT_DIR', 'models.json', { providers: { sotto: { models: [{ id: model }] } } }],
    [
      ...['cline', "process.argv[process.argv.indexOf('--data-dir') + 1]", 'settings/providers.json'],
      { providers: { 'openai-compatible': { settings: { model } } } },
    ],
  ] as const)(
    'writes files of %s that last as long as the run, for the user alone',
    async (name, at, path, content) => {
      const script = `
      const fs = require('node:fs');
      const file = ${at} + '/${path}';
      console.log(JSON.stringify({ file, mode: fs.statSync(file).mode & 0o777, text: fs.readFileSync(file, 'utf8') }));`;
      const { out } = await endOf(await run(name, script, ['--model', model]));
      const { file, mode, text } = JSON.parse(out) as { file: string; mode: number; text: string };
      expect(mode).toBe(0o600);
      expect(JSON.parse(text)).toMatchObject(content);
      await expect(readFile(file)).rejects.toMatchObject({ code: 'ENOENT' });
      expect(readdirSync(stage.folder).filter((each) => each.startsWith('sotto-run-'))).toEqual([]);
    },
  );

  it.each<[string, string[], RegExp]>([
    ['no agent', ['run'], /Name an agent: claude, codex/],
    ['an unknown agent', ['run', 'emacs'], /"emacs" is not an agent that this command knows/],
    ['no model', ['run', 'codex'], /codex needs --model/],
    ['arguments without `--`', ['run', 'claude', 'hello'], /sotto run claude -- hello/],
    ['a cap of nothing', ['run', 'claude', '--max-cost', '0'], /--max-cost must be an amount in USD above 0/],
    [
      'no key',
      ['run', 'claude', '--base-url', 'http://127.0.0.1:1', '--control-url', 'http://127.0.0.2:1'],
      /INFERENCE_KEY/,
    ],
  ])('explains %s in one line', async (_, args, message) => {
    const own = runSotto(args);
    expect(await own.ended).toBe(2);
    expect(own.err()).toMatch(message);
  });

  it('says how to install an agent that is missing', async () => {
    const own = runSotto(['run', 'claude', '--model', model, ...stage.atService()], {
      INFERENCE_KEY: apiKey,
      PATH: '/nowhere',
    });
    expect((await endOf(own)).err).toMatch(/claude is not installed.*npm install -g @anthropic-ai\/claude-code/);
  });

  it('says why the system does not start the agent', async () => {
    await writeFile(join(stage.folder, 'claude'), '', { mode: 0o600 });
    await chmod(join(stage.folder, 'claude'), 0o600);
    const own = runSotto(['run', 'claude', '--model', model, ...stage.atService()], {
      INFERENCE_KEY: apiKey,
      PATH: stage.folder,
    });
    const { code, err } = await endOf(own);
    expect(code).toBe(2);
    expect(err).toMatch(/^claude cannot be started: permission denied\.$/m);
    expect(err).not.toContain(' at ');
  });

  it('says why the service refuses the key, and starts nothing', async () => {
    stage.service.onControl((_, response) => json(response, 401, refusal('invalid_api_key')));
    const { code, out, err } = await endOf(await run('claude', 'console.log("started")', ['--model', model]));
    expect([code, out]).toEqual([1, '']);
    expect(err).toContain('invalid_api_key: It is invalid_api_key.');
  });

  it('ends with 3 if the control origin cannot be reached', async () => {
    const args = ['run', 'claude', '--model', model, ...stage.atService(), '--control-url', 'http://127.0.0.1:1'];
    const { code, err } = await endOf(runSotto(args, { INFERENCE_KEY: apiKey }));
    expect(code).toBe(3);
    expect(err).toContain('control_unreachable: ');
  });

  it('says in one line that something else than the service answers', async () => {
    stage.service.onControl((_, response) => response.writeHead(502).end('<html>'));
    const { code, err } = await endOf(await run('claude', 'console.log("started")', ['--model', model]));
    expect(code).toBe(1);
    expect(err).toMatch(/^502: The models could not be listed\.$/m);
  });

  it('prints the settings for a proxy that runs by itself', async () => {
    const own = runSotto(['run', '--print', 'claude', '--model', model, '--', '--resume', 'my talk']);
    expect(await own.ended).toBe(0);
    expect(own.out()).toContain(`sotto proxy --model ${model}`);
    expect(own.out()).toContain('export ANTHROPIC_BASE_URL=http://127.0.0.1:4999');
    expect(own.out().trim().endsWith("\nclaude --resume 'my talk'")).toBe(true);
  });

  it('prints the options of the proxy as they were typed, and checks them', async () => {
    const given = '--relay socks5://127.0.0.1:9050 --require hardware_verified --map a=b/c --anonymous --max-cost 2.5';
    const own = runSotto(['run', '--print', 'claude', ...given.split(' '), '--bill', 'my bill.json']);
    expect(await own.ended).toBe(0);
    expect(own.out()).toContain("--max-cost 2.5 --bill 'my bill.json'");
    for (const option of given.split(/ (?=--)/)) expect(own.out()).toContain(` ${option}`);
    expect(own.out()).not.toContain('--warm-caches');
    const wrong = runSotto(['run', '--print', 'claude', '--max-cost', 'much']);
    expect(await wrong.ended).toBe(2);
    expect(wrong.err()).toContain('--max-cost must be an amount in USD');
  });

  it.each(['--max-cost', '--bill'])('refuses %s with --e2ee, whose answers state no cost', async (option) => {
    for (const command of [['proxy'], ['run', 'claude']]) {
      const own = runSotto([...command, '--e2ee', option, '2.5', ...stage.atService()], { INFERENCE_KEY: apiKey });
      expect(await own.ended).toBe(2);
      expect(own.err()).toMatch(
        new RegExp(`${option} cannot .* what encrypted chats cost.* Leave out ${option} or --e2ee`, 's'),
      );
    }
  });

  it('prints settings by which a proxy of the network is not asked', async () => {
    const printed = runSotto(['run', '--print', 'qwen', '--model', model]);
    expect(await printed.ended).toBe(0);
    await writeFile(join(stage.folder, 'qwen'), '#!/bin/sh\necho "$NO_PROXY $no_proxy"');
    await chmod(join(stage.folder, 'qwen'), 0o755);
    const shown = async (environment: object) => {
      const env = { PATH: `${stage.folder}:${process.env.PATH ?? ''}`, ...environment };
      return (await promisify(execFile)('sh', ['-euc', printed.out()], { env })).stdout.trim();
    };
    expect(await shown({})).toBe('127.0.0.1, 127.0.0.1,');
    expect(await shown({ NO_PROXY: 'a' })).toBe('127.0.0.1,a 127.0.0.1,a');
    expect(await shown({ NO_PROXY: 'a', no_proxy: 'b' })).toBe('127.0.0.1,a 127.0.0.1,b');
  });

  it('prints settings whose files go into a new folder of the user each time', async () => {
    const printed = runSotto(['run', '--print', 'pi', '--model', model]);
    expect(await printed.ended).toBe(0);
    await writeFile(
      join(stage.folder, 'pi'),
      '#!/bin/sh\nls -ld "$PI_CODING_AGENT_DIR" | cut -c 1-10\ncat "$PI_CODING_AGENT_DIR/models.json"\necho "$PI_CODING_AGENT_DIR"',
    );
    await chmod(join(stage.folder, 'pi'), 0o755);
    const env = { PATH: `${stage.folder}:${process.env.PATH ?? ''}`, TMPDIR: stage.folder };
    const use = async () => (await promisify(execFile)('sh', ['-c', printed.out()], { env })).stdout.trim().split('\n');
    const [first, second] = [await use(), await use()];
    expect(first[0]).toBe('drwx------');
    expect(JSON.parse(first[1] ?? '')).toMatchObject({ providers: { sotto: { models: [{ id: model }] } } });
    expect(first[2]).toContain(stage.folder);
    expect(second[2]).not.toBe(first[2]);
  });
});

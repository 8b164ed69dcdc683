import { readdirSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { costOf, expectSettled, usageRows } from '../../kit/books.ts';
import { hello } from '../../kit/client.ts';
import { processesMentioning } from '../../kit/npm-start.ts';
import { runSotto, type SottoRun } from '../../kit/run-sotto.ts';
import { openStream, text } from '../../kit/scenes/events.ts';
import { type TestAccount, until } from '../../kit/service.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';

const model = 'acme/small';
const pricing = { input: 0.5, output: 1.5 };
const pieces = ['One piece of an answer, ', 'another, ', 'and the last one before the gate.'];
/** The broker counts a token for four characters of an answer whose usage it never sees. */
const producedTokens = Math.ceil(pieces.join('').length / 4);

const ignoring = `for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => {});`;

/** An agent that reads a stream, and would run forever. With `stubborn`, it and a process of its own ignore signals. */
const agent = ({ stubborn }: { readonly stubborn: boolean }): string => `
const { ANTHROPIC_BASE_URL: url, ANTHROPIC_AUTH_TOKEN: token } = process.env;
setInterval(() => {}, 1000);
const read = async () => {
  const body = JSON.stringify(${JSON.stringify({ model, max_tokens: 500, stream: true, messages: hello })});
  const headers = { 'content-type': 'application/json', authorization: 'Bearer ' + token };
  console.log('agent', process.pid, url);
  const answer = await fetch(url + '/v1/messages', { method: 'POST', headers, body });
  for await (const piece of answer.body) process.stdout.write(Buffer.from(piece));
};
if (${stubborn}) {
  ${ignoring}
  const script = "${ignoring} setInterval(() => {}, 1000); console.log('ready');";
  // The last argument says whose process it is.
  const own = require('node:child_process').spawn(process.execPath, ['-e', script, __filename], {
    ...{ detached: true, stdio: ['ignore', 'pipe', 'ignore'] },
  });
  own.stdout.once('data', () => read().catch(() => {}));
} else read().catch(() => {});
`;

await describeStage(
  'a kill in the middle of an answer',
  { providers: { acme: {} }, models: { [model]: { routes: { acme: { pricing } } } } },
  (stage) => {
    let folder: string;
    let account: TestAccount;
    beforeAll(() => {
      // The gate after the last piece never opens.
      stage.provider('acme').answer((_, response) => {
        openStream(response);
        for (const piece of pieces) response.write(text(piece));
      });
    });
    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'sotto-kills-'));
      account = await stage.service.createAccount();
    });
    afterEach(() => rm(folder, { recursive: true, force: true }));

    const sotto = (args: readonly string[]): SottoRun => {
      const { baseUrl, controlUrl } = stage.service;
      const [command = '', ...rest] = args;
      const at = ['--base-url', baseUrl, '--control-url', controlUrl, '--allow-simulated'];
      return runSotto([command, ...rest, ...at], {
        INFERENCE_KEY: account.inferenceKey,
        PATH: `${folder}:${process.env.PATH ?? ''}`,
        TMPDIR: folder,
      });
    };

    /** Starts `sotto run`. Resolves once the agent has read all that the provider produces. */
    const runAgent = async (stubborn = false) => {
      await writeFile(join(folder, 'claude'), `#!${process.execPath}\n${agent({ stubborn })}`);
      await chmod(join(folder, 'claude'), 0o755);
      const own = sotto(['run', 'claude', '--model', model]);
      const [, pid, url = ''] = await own.outMatches(/agent (\d+) (\S+)\n/);
      await own.outMatches(/before the gate/);
      return { own, pid: Number(pid), url };
    };

    /** Nothing runs, listens, is held or was charged for more than the provider produced. */
    const expectNothingLeft = async (url: string): Promise<void> => {
      await stage.provider('acme').seen.at(-1)?.closed;
      await until(async () => (await processesMentioning(folder)).length === 0, 'no process is left');
      await expect(fetch(url)).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } });
      expect(readdirSync(folder).filter((name) => name.startsWith('sotto-run-'))).toEqual([]);
      await expectSettled(stage.service, account, 10_000_000_000n);
      const rows = await usageRows(stage.service, account);
      expect(rows).toMatchObject([{ status: 'cancelled' }]);
      for (const { prompt_tokens, completion_tokens, cost } of rows) {
        expect(completion_tokens).toBeLessThanOrEqual(producedTokens);
        expect(cost).toBeLessThanOrEqual(costOf({ prompt: prompt_tokens, completion: producedTokens }, pricing));
      }
    };

    describe('of sotto run', () => {
      it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('by %s ends the agent by the same signal', async (signal) => {
        const { own, url } = await runAgent();
        own.child.kill(signal);
        expect(await own.ended).toBe(128 + constants.signals[signal]);
        await expectNothingLeft(url);
      });

      it('by SIGTERM also ends an agent that ignores it, and the processes of the agent', async () => {
        const { own, url } = await runAgent(true);
        // Sotto, its guard, the agent, and the process that the agent started in a group of its own.
        expect((await processesMentioning(folder)).length).toBeGreaterThanOrEqual(3);
        own.child.kill('SIGTERM');
        expect(await own.ended).toBe(128 + constants.signals.SIGKILL);
        await expectNothingLeft(url);
      });

      it.each([
        ['the agent', false],
        ['an agent that ignores signals, and the processes of the agent', true],
      ])('by SIGKILL ends %s, and removes its files', async (_, stubborn) => {
        const { own, url } = await runAgent(stubborn);
        own.child.kill('SIGKILL');
        await expectNothingLeft(url);
      });
    });

    it('of the agent by SIGKILL ends sotto run with its exit code', async () => {
      const { own, pid, url } = await runAgent();
      process.kill(pid, 'SIGKILL');
      expect(await own.ended).toBe(128 + constants.signals.SIGKILL);
      expect(own.err()).toContain('1 request, $0.0000. The cost of 1 is unknown, and may be charged.');
      await expectNothingLeft(url);
    });

    it.each([
      ['SIGKILL', null],
      ['SIGTERM', 0],
    ] as const)('of sotto proxy by %s', async (signal, code) => {
      const own = sotto(['proxy', '--port', '0', '--open']);
      const [, url = ''] = await own.outMatches(/^(http:\S+)\n/);
      const body = JSON.stringify({ model, stream: true, messages: hello });
      const answer = await fetch(`${url}/chat/completions`, { method: 'POST', body });
      const decoder = new TextDecoder();
      let seen = '';
      const broken = (async () => {
        for await (const piece of answer.body ?? []) seen += decoder.decode(piece);
      })();
      broken.catch(() => {});
      await until(() => seen.includes('before the gate'), 'all that the provider produces has come');
      own.child.kill(signal);
      if (signal === 'SIGTERM') {
        // The first signal stops the listener, and the second one ends the answers that still run.
        await until(async () => (await Promise.allSettled([fetch(url)]))[0]?.status === 'rejected', 'nothing listens');
        own.child.kill(signal);
      }
      expect(await own.ended).toBe(code);
      await expect(broken).rejects.toThrow();
      await expectNothingLeft(url);
    });
  },
);

import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { processesMentioning } from '../../kit/npm-start.ts';
import type { TestAccount } from '../../kit/service.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';
import { alone, isInstalled, runAgent, userEnvironment } from './installed-agents.ts';
import { countTo, fillTheContext, lookAt, neverEnd, summary, usage } from './scripted-model.ts';

/** Coding agents in situations that a task has seldom. */

const model = 'acme/coder';
/** Its context holds the agent's own prompt, and little more. */
const smallModel = 'acme/small';
const pricing = { input: 1, output: 2 };
const answerNusd = BigInt(usage.prompt_tokens * 1000 + usage.completion_tokens * 2000);
/** One agent for each dialect: Messages, Responses, Gemini, and chat completions. A hundred turns of every agent would take minutes. */
const speakers = ['claude', 'codex', 'gemini', 'opencode'];
/** Agents whose own tools show an image to the model. Those of the others read one as text, or not at all. */
const seers = [...speakers, 'pi'];
/** A picture of one pixel. */
const picture = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** A prompt that no other process of the machine has among its arguments. */
const endless = `Begin, and never end (${randomUUID()}).`;

let folder: string;

await describeStage(
  'scenes of coding agents',
  async () => {
    folder = await mkdtemp(join(tmpdir(), 'sotto-scenes-'));
    await mkdir(join(folder, 'home'));
    const routes = { acme: { pricing, capabilities: { tools: true, vision: true } } };
    return {
      providers: { acme: {} },
      models: {
        [model]: { routes, context_length: 400_000, max_output_tokens: 32_000 },
        [smallModel]: { routes, context_length: 60_000, max_output_tokens: 2000 },
      },
      features: ['evidence'],
      stop: () => rm(folder, { recursive: true, force: true }),
    };
  },
  (stage) => {
    let account: TestAccount;
    let work: string;
    beforeAll(async () => {
      account = await stage.service.createAccount();
    });
    beforeEach(async () => {
      work = await mkdtemp(join(folder, 'work-'));
      stage.provider('acme').seen.splice(0);
    });
    const restartBroker = async (): Promise<void> => {
      await stage.service.broker.terminate();
      await stage.service.broker.restart();
    };
    const seen = () => stage.provider('acme').seen;
    const start = (name: string, prompt: string, more: Partial<Parameters<typeof runAgent>[0]> = {}) => {
      const environment = userEnvironment(join(folder, 'home'), folder);
      return runAgent({
        ...{ name, account, prompt, environment, work },
        service: stage.service,
        options: ['--model', model],
        ...more,
      });
    };
    const saidBy = (run: ReturnType<typeof start>): string => `${run.out()}\n${run.err()}`;

    describe.each(Object.keys(alone))('%s', (name) => {
      const scene = it.skipIf(!isInstalled(name));

      const sceneOf = (names: readonly string[]) => (names.includes(name) ? scene : () => undefined);

      sceneOf(speakers)('works for a hundred turns, each of which is paid once', async () => {
        const before = await stage.service.settled(account);
        stage.provider('acme').answer(countTo(100));
        const run = start(name, 'Count to 100, one command for each number.');
        expect(await run.ended, saidBy(run)).toBe(0);
        expect(run.out()).toContain('Counted to 100.');
        // The whole conversation reaches the model in the end.
        const results = (seen().at(-1)?.text ?? '').match(/"role":"tool"/g) ?? [];
        expect(results).toHaveLength(100);
        expect(before - (await stage.service.settled(account))).toBe(BigInt(seen().length) * answerNusd);
      });

      sceneOf(seers)('shows an image to the model', async () => {
        const path = join(work, 'picture.png');
        await writeFile(path, Buffer.from(picture, 'base64'));
        stage.provider('acme').answer(lookAt(() => path));
        const run = start(name, 'Look at picture.png.');
        expect(await run.ended, saidBy(run)).toBe(0);
        expect(run.out()).toContain('I have seen the image.');
        expect(seen().at(-1)?.text).toMatch(/"url":"data:image\/png;base64,/);
      });

      scene('goes on when the broker restarts in the middle', async () => {
        let restart: Promise<void> | undefined;
        const count = countTo(4);
        stage.provider('acme').answer((request, response) => {
          // The broker finishes this answer before it ends.
          if (seen().length === 3) restart ??= restartBroker();
          return count(request, response);
        });
        const run = start(name, 'Count to 4, one command for each number.');
        expect(await run.ended, saidBy(run)).toBe(0);
        expect(run.out()).toContain('Counted to 4.');
        await restart;
      });

      scene('ends at Ctrl-C in the middle of an answer, with all of its processes', async () => {
        const asked = new Promise<void>((resolve) => {
          stage.provider('acme').answer((request, response) => {
            neverEnd(request, response);
            resolve();
          });
        });
        const run = start(name, endless);
        await Promise.race([asked, run.ended]);
        run.child.kill('SIGINT');
        await run.ended;
        // The broker has seen that the caller left.
        await Promise.all(seen().map(({ closed }) => closed));
        expect(await processesMentioning(endless)).toEqual([]);
      });

      scene('says that the balance is empty, and asks no provider', async () => {
        const poor = await stage.service.createAccount({ usd: 0 });
        const run = start(name, 'Say hello.', { account: poor });
        await run.ended;
        expect(saidBy(run)).toMatch(/balance|quota|credit/i);
        expect(seen()).toEqual([]);
      });

      scene('says that the service does not have a model, and asks no provider', async () => {
        const run = start(name, 'Say hello.', { options: ['--map', '*=acme/gone', '--model', model] });
        await run.ended;
        expect(saidBy(run)).toMatch(/acme\/gone|model_not_found|not (?:found|exist)/i);
        expect(seen()).toEqual([]);
      });
    });

    it.skipIf(!isInstalled('codex'))(
      'Codex talks through a WebSocket and has its conversation shortened there, as with OpenAI itself',
      async () => {
        stage.provider('acme').answer(fillTheContext({ honest: true }));
        const own = ['model_providers.sotto.name="OpenAI"', 'model_providers.sotto.supports_websockets=true'];
        const run = start('codex', 'Fill your context, then say good-bye.', {
          options: ['--model', smallModel],
          more: own.flatMap((setting) => ['-c', setting]),
        });
        expect(await run.ended, saidBy(run)).toBe(0);
        expect(run.out()).toContain('Good-bye.');
        expect(saidBy(run)).not.toMatch(/falling back/i);
        const texts = seen().map(({ text }) => text);
        // The request for a summary is ours. Codex never sees the summary itself.
        expect(texts.some((text) => text.includes('Summarise this conversation'))).toBe(true);
        expect(texts.at(-1)).toContain(summary);
        expect(saidBy(run)).not.toContain(summary);
      },
    );

    it.each(
      [
        ['claude', 'gemini'],
        ['cline', 'pi'],
      ].filter((both) => both.every(isInstalled)),
    )('%s and %s at once pay for what each of them used', async (...both) => {
      const before = await stage.service.settled(account);
      stage.provider('acme').answer(countTo(5));
      const runs = both.map((name) => start(name, 'Count to 5, one command for each number.'));
      for (const run of runs) {
        expect(await run.ended, saidBy(run)).toBe(0);
        expect(run.out()).toContain('Counted to 5.');
      }
      const counted = runs.map((run) => Number(/sotto: (\d+) requests/.exec(run.err())?.[1]));
      expect(counted.reduce((sum, each) => sum + each, 0)).toBe(seen().length);
      expect(before - (await stage.service.settled(account))).toBe(BigInt(seen().length) * answerNusd);
    });
  },
  { planes: ['two'] },
);

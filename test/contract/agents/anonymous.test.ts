import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { expectRightAfterKills } from '../../kit/killed-agent.ts';
import { startRelay } from '../../kit/relay.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';
import { makeIssuer } from '../../kit/wallets.ts';
import { alone, isInstalled, userEnvironment } from './installed-agents.ts';
import { doTheTask, task } from './scripted-model.ts';

const model = 'acme/coder';

await describeStage(
  'an anonymous coding agent',
  async () => {
    const [issuer, relay] = await Promise.all([makeIssuer(), startRelay()]);
    return {
      providers: { acme: {} },
      models: {
        [model]: {
          routes: { acme: { pricing: { input: 10, output: 20 }, capabilities: { tools: true } } },
          ...{ context_length: 400_000, max_output_tokens: 32_000 },
        },
      },
      environment: { BILLING_TEST_RAIL: 'on', ATTESTATION: 'simulated', ...issuer.environment },
      standIns: { issuer, relay },
      stop: () => Promise.all([issuer.stop(), relay.stop()]),
    };
  },
  (stage) => {
    it.skipIf(!isInstalled('claude'))(
      'pays with a purse that bought by schedule, and kill -9 at random moments loses and doubles nothing',
      async () => {
        const acme = stage.provider('acme');
        let work = '';
        acme.answer(doTheTask(() => work));
        const { out, err } = await expectRightAfterKills({
          ...{ service: stage.service, ...stage.standIns, seen: () => acme.seen.length },
          ...{ model, seed: 57, kills: 4 },
          async prepare(home) {
            work = home;
            await writeFile(join(work, task.file), `${task.before}\n`);
            return { args: ['--', ...(alone.claude?.(task.prompt) ?? [])], environment: userEnvironment(home, home) };
          },
        });
        expect(out).toContain(task.printed);
        expect(err).toMatch(/The wallet is closed: \d+ credits/);
      },
    );
  },
  { planes: ['two'] },
);

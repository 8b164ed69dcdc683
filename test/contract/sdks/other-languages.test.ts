import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { useFolder } from '../../kit/folder.ts';
import { onPath } from '../../kit/programs.ts';
import type { TestAccount } from '../../kit/service.ts';
import { noteSkip } from '../../kit/skips.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';
import { chatModel, sdkSpec } from './world.ts';

const here = fileURLToPath(new URL('.', import.meta.url));
const run = promisify(execFile);

/** Python libraries whose user learns of a broken stream, and the versions that are installed for the tests. */
const inPython = readFileSync(join(here, 'python/requirements.txt'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => (line.split('==')[0] ?? '').replace('pydantic-ai-slim', 'pydantic-ai'));
const python = process.env.SOTTO_TEST_PYTHON ?? '';
const hasPython = python !== '' && spawnSync(python, ['-c', 'import openai, litellm, agents']).status === 0;
if (!hasPython) {
  noteSkip(
    'the client libraries of Python',
    'install test/contract/sdks/python/requirements.txt, and set SOTTO_TEST_PYTHON to that python.',
  );
}

const inGo = ['openai-go', 'go-openai'];
const folder = useFolder('go-clients');
const goClients = join(folder, 'clients');
const hasGo =
  onPath('go') !== undefined &&
  spawnSync('go', ['mod', 'download'], { cwd: join(here, 'go'), stdio: 'ignore' }).status === 0;
if (!hasGo) noteSkip('the client libraries of Go', 'put Go on the PATH, with access to its modules.');

/** What a program that uses a library gets: a text, or an error of some class. */
interface Outcomes {
  readonly whole: Outcome;
  readonly streamed: Outcome;
  /** A stream that breaks off after its first words. */
  readonly broken: Outcome;
  readonly failed: Outcome;
}
type Outcome = { readonly said: string } | { readonly error: string };

await describeStage('clients of other languages', sdkSpec, (stage) => {
  let account: TestAccount;
  beforeAll(async () => {
    account = await stage.service.createAccount();
  });

  const straight = (): readonly string[] => [stage.provider('acme').baseUrl, 'key', 'small-v1'];
  const through = (): readonly string[] => [stage.service.baseUrl, account.inferenceKey, chatModel];

  const expectTheSame = async (outcomesAt: (place: readonly string[]) => Promise<Outcomes>): Promise<void> => {
    const own = await outcomesAt(through());
    expect(own).toMatchObject({
      whole: { said: 'You said: hi' },
      streamed: { said: 'You said: hi there' },
      broken: { error: expect.any(String) },
      failed: { error: expect.any(String) },
    });
    const { whole, streamed, failed } = await outcomesAt(straight());
    expect(own).toMatchObject({ whole, streamed, failed });
  };

  describe.skipIf(!hasPython)('Python', () => {
    it.each(inPython)(
      '%s shows its user the same as straight at the provider',
      async (library) => {
        await expectTheSame(async (place) => {
          const { stdout } = await run(python, [join(here, 'python/clients.py'), library, ...place]);
          return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Outcomes;
        });
      },
      120_000,
    );
  });

  describe.skipIf(!hasGo)('Go', () => {
    beforeAll(() => run('go', ['build', '-o', goClients, '.'], { cwd: join(here, 'go') }), 600_000);

    it.each(inGo)(
      '%s shows its user the same as straight at the provider',
      async (library) => {
        await expectTheSame(async (place) => {
          const { stdout } = await run(goClients, [library, ...place]);
          return JSON.parse(stdout) as Outcomes;
        });
      },
      120_000,
    );
  });
});

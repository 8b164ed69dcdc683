import { execFile, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { noteSkip, onPath } from '@sotto/test-servers';
import { beforeAll, describe, expect, it } from 'vitest';
import { useFolder } from '../../kit/folder.ts';
import type { TestAccount } from '../../kit/service.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';
import { chatModel, reasoningText, sdkSpec } from './world.ts';

const here = fileURLToPath(new URL('.', import.meta.url));
const run = promisify(execFile);

/** The files of requirements, each for a Python of its own: their libraries need different versions of OpenAI's SDK. */
const requirementFiles = ['requirements.txt', 'requirements-openai-2.txt'];
const pythons = requirementFiles.map((file, at) => {
  const program = process.env.SOTTO_TEST_PYTHONS?.split(':')[at] ?? '';
  // Both files bring these two.
  const able = program !== '' && spawnSync(program, ['-c', 'import openai, litellm']).status === 0;
  if (!able) {
    noteSkip(
      `the client libraries of Python in ${file}`,
      `install ${requirementFiles.join(' and ')} of test/contract/sdks/python for a Python each, and set SOTTO_TEST_PYTHONS to the two, with a colon between them.`,
    );
  }
  return { program, able };
});

/** Each library that has a file in python/libraries, and the Python that has it. */
const inPython = readdirSync(join(here, 'python/libraries'))
  .filter((name) => name.endsWith('.py'))
  .map((name) => {
    const library = name.slice(0, -'.py'.length).replaceAll('_', '-');
    const at = requirementFiles.findIndex((file) =>
      readFileSync(join(here, 'python', file), 'utf8')
        .split('\n')
        .some((line) => /^[\w-]+/.exec(line)?.[0] === library),
    );
    if (at === -1) throw new Error(`No requirements name ${library}.`);
    return { library, program: '', able: false, ...pythons[at] };
  });

/** The errors of libraries that know a conversation that is too long, so that their user can shorten it. */
const overflows: Readonly<Record<string, string>> = {
  'aider-chat': 'ContextWindowExceededError',
  dspy: 'ContextWindowExceededError',
  litellm: 'ContextWindowExceededError',
  'pydantic-ai-slim': 'ModelContextWindowExceededError',
  'strands-agents': 'ContextWindowOverflowException',
};

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
  /** A conversation that does not fit into the model's context. */
  readonly tooLong?: Outcome;
  /** The reasoning of an answer, if the library shows it. */
  readonly thoughts?: Outcome;
}
type Outcome = { readonly said: string } | { readonly error: string };

await describeStage('clients of other languages', sdkSpec, (stage) => {
  let account: TestAccount;
  beforeAll(async () => {
    account = await stage.service.createAccount();
  });

  const straight = (): readonly string[] => [stage.provider('acme').baseUrl, 'key', 'small-v1'];
  const through = (): readonly string[] => [stage.service.baseUrl, account.inferenceKey, chatModel];

  const expectTheSame = async (outcomesAt: (place: readonly string[]) => Promise<Outcomes>): Promise<Outcomes> => {
    const [own, { broken: _, ...rest }] = await Promise.all([outcomesAt(through()), outcomesAt(straight())]);
    expect(own).toMatchObject({
      whole: { said: 'You said: hi' },
      streamed: { said: 'You said: hi there' },
      broken: { error: expect.any(String) },
      failed: { error: expect.any(String) },
      ...(own.tooLong === undefined ? {} : { tooLong: { error: expect.any(String) } }),
      ...(own.thoughts === undefined ? {} : { thoughts: { said: reasoningText } }),
    });
    expect(own).toMatchObject(rest);
    return own;
  };

  describe('Python', () => {
    for (const { library, program, able } of inPython) {
      it.skipIf(!able)(
        `${library} shows its user the same as straight at the provider`,
        async () => {
          const { tooLong } = await expectTheSame(async (place) => {
            const { stdout } = await run(program, [join(here, 'python/clients.py'), library, ...place]);
            return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Outcomes;
          });
          if (overflows[library] !== undefined) expect(tooLong).toEqual({ error: overflows[library] });
        },
        300_000,
      );
    }
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

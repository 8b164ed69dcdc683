import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { noteSkip } from '@sotto/test-servers';
import { expect, it } from 'vitest';
import { runToEnd } from '../../kit/programs.ts';
import { answerChat, type FakeProvider, type ProviderHandler, startProvider } from '../../kit/provider.ts';
import { get } from '../../kit/send.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';
import { oneModel } from '../../kit/stage/one-model.ts';
import { callAs, model, readFile, runCommand } from './scripted-model.ts';

/** Qwen Code: it speaks chat completions and the Model Context Protocol, and takes both addresses from files and variables. */
const programs = process.env.SOTTO_TEST_AGENTS ?? '';
const qwen = join(programs, 'qwen');
const isInstalled = programs !== '' && existsSync(qwen);
if (!isInstalled) {
  noteSkip(
    'a coding agent that sets up a client',
    'install the packages of test/contract/agents/package.json, and set SOTTO_TEST_AGENTS to their node_modules/.bin.',
  );
}

let folder: string;
const skillFile = (): string => join(folder, 'work/SKILL.md');
const found = (pattern: RegExp, text = ''): string => pattern.exec(text)?.[1] ?? `nothing like ${pattern}`;

/**
 * What a model would do that knows nothing but the skill: it reads that, asks for the models at the address that stands there, reads the
 * page about JavaScript at the documentation server, and runs the program of the page.
 */
const setUpClient: ProviderHandler = model(({ results, tools }) => {
  const [skill, models, declared, page, ...ran] = results;
  if (skill === undefined) return readFile(tools, skillFile());
  if (models === undefined) return runCommand(tools, `curl -s ${found(/(http\S+\/catalog\/models)/, skill)}`);
  // Qwen Code hides tools of servers behind one that finds them and one that calls them.
  if (declared === undefined) return callAs(tools, /^tool_search$/, { query: 'read_page' });
  if (page === undefined) {
    const name = found(/"name": ?"([^"]*read_page)"/, declared);
    return callAs(tools, /^tool_call$/, { name, arguments: { path: 'tools/javascript' } });
  }
  if (ran.length > 0) return `The client printed: ${ran.at(-1)}`;
  const program = found(/```js\n(.*?)```/s, page).replaceAll('demo/chat', found(/"id":"([^"/]+\/[^"]+)"/, models));
  const baseUrl = found(/`(http\S+)` *\|\n\| keys/, skill);
  return runCommand(tools, `cat > client.mjs <<'END'\n${program}\nEND\nBASE_URL=${baseUrl} node client.mjs`);
});

await describeStage(
  'a coding agent that has the skill and the documentation server',
  async () => {
    folder = await mkdtemp(join(tmpdir(), 'sotto-skill-'));
    const itsModel = await startProvider(setUpClient);
    return {
      ...oneModel,
      standIns: { itsModel },
      stop: async () => {
        await itsModel.stop();
        await rm(folder, { recursive: true, force: true });
      },
    };
  },
  (stage) => {
    it.skipIf(!isInstalled)('sets up a client of the deployment', async () => {
      const { service } = stage;
      const { itsModel }: { readonly itsModel: FakeProvider } = stage.standIns;
      const { inferenceKey } = await service.createAccount();
      const skill = (await get(`${new URL(service.controlUrl).origin}/skills/sotto/SKILL.md`)).text;
      await mkdir(join(folder, 'work/.qwen'), { recursive: true });
      await mkdir(join(folder, 'home'));
      await writeFile(skillFile(), skill);
      // The address is that of the command that the skill has for another agent.
      const server = found(/claude mcp add --transport http sotto (http\S+?)`/, skill);
      const settings = { mcpServers: { sotto: { httpUrl: server, trust: true } }, usageStatisticsEnabled: false };
      await writeFile(join(folder, 'work/.qwen/settings.json'), JSON.stringify(settings));
      await symlink(fileURLToPath(new URL('../../node_modules', import.meta.url)), join(folder, 'work/node_modules'));
      stage.provider('alpha').answer(answerChat({ content: 'Hello from Sotto.' }));

      const ran = await runToEnd(
        qwen,
        ['--yolo', '-p', 'Set up a client. Read SKILL.md first.'],
        join(folder, 'work'),
        {
          ...{ HOME: join(folder, 'home'), TMPDIR: folder, INFERENCE_KEY: inferenceKey },
          PATH: [dirname(process.execPath), process.env.PATH ?? ''].join(delimiter),
          ...{ OPENAI_API_KEY: 'k', OPENAI_BASE_URL: itsModel.baseUrl, OPENAI_MODEL: 'coder' },
        },
      );
      expect(ran.code, `${ran.out}\n${ran.error}\n${itsModel.seen.at(-1)?.text.slice(-4000)}`).toBe(0);
      expect(ran.out).toContain('Hello from Sotto.');
      expect(ran.out).toContain('Refused: model_not_found');
      expect(stage.provider('alpha').seen.at(-1)?.body.messages).toEqual([{ role: 'user', content: 'Hello' }]);
    });
  },
);

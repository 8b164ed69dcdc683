import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { clientErrors } from '@sotto/client';
import { agents } from '@sotto/client/testing';
import { freePort } from '@sotto/test-servers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { documentedBlock } from '../../kit/documented.ts';
import { useFolder } from '../../kit/folder.ts';
import { endAll, freePorts, npmStart, root, type StartedByNpm } from '../../kit/npm-start.ts';
import { buildPlayground } from '../../kit/playground.ts';
import { installSotto } from '../../kit/run-sotto.ts';

const run = promisify(execFile);
const guide = 'docs/use/private-client.md';
const folder = useFolder('client-guide');
let started: StartedByNpm;
let proxyPort: string;
beforeAll(async () => {
  proxyPort = String(await freePort());
  installSotto(folder);
  started = await npmStart(folder, await freePorts());
});
afterAll(endAll);

const environment = (): NodeJS.ProcessEnv => {
  const { base_url, control_url, inference_key, management_key } = started.quickstart;
  return {
    PATH: `${folder}:${process.env.PATH ?? ''}`,
    BASE_URL: base_url,
    CONTROL_URL: control_url,
    INFERENCE_KEY: inference_key,
    MANAGEMENT_KEY: management_key,
  };
};

/** Runs a block of a guide unchanged, except for its port, which may be in use. */
async function shell(name: string, page = guide): Promise<string> {
  const script = documentedBlock(page, name).replaceAll('4999', proxyPort);
  const { stdout } = await run('bash', ['-euc', script], { cwd: folder, env: environment() });
  return stdout;
}

it('the proxy serves curl, streamed, with the service of `npm start`', async () => {
  expect(await shell('proxy')).toMatch(/data: \{.*"content".*data: \[DONE\]\n\n$/s);
});

it('the proxy with its guards sends a placeholder to that service, and gives the value back', async () => {
  const said = await shell('guards', 'docs/use/guards.md');
  expect(said).toContain('You said: Write to maria.schneider@example.com');
});

/**
 * How each agent finds the proxy. The commands of the pages run a program that stands for the agent: it reads the settings as the agent
 * does, asks once with its last argument, and prints the answer.
 */
const ways: readonly (readonly [name: string, page: string, block: string, way: string])[] = [
  [
    ...['claude', 'claude-code.md', 'run-claude'],
    `const { ANTHROPIC_BASE_URL: url, ANTHROPIC_AUTH_TOKEN: key, ANTHROPIC_MODEL: model } = env;
    return [url + '/v1/messages', key, { model, max_tokens: 50, messages }];`,
  ],
  [
    ...['codex', 'codex.md', 'run-codex'],
    `const setting = (name) => JSON.parse(argv.find((each) => each.startsWith(name + '=')).slice(name.length + 1));
    const url = setting('model_providers.sotto.base_url') + '/responses';
    return [url, env[setting('model_providers.sotto.env_key')], { model: setting('model'), input }];`,
  ],
  [
    ...['gemini', 'gemini-cli.md', 'run-gemini'],
    `const { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: key } = env;
    const contents = [{ role: 'user', parts: [{ text: input }] }];
    return [url + '/v1beta/models/' + after('--model') + ':generateContent', key, { contents }];`,
  ],
  [
    ...['opencode', 'opencode.md', 'run-opencode'],
    `const { provider, model } = JSON.parse(env.OPENCODE_CONFIG_CONTENT);
    return chat(provider.sotto.options.baseURL, provider.sotto.options.apiKey, model.slice('sotto/'.length));`,
  ],
  [
    ...['cline', 'cline.md', 'run-cline'],
    `const { settings } = read(after('--data-dir') + '/settings/providers.json').providers[after('--provider')];
    return chat(settings.baseUrl, settings.apiKey, after('--model'));`,
  ],
  [
    ...['continue', 'continue.md', 'run-continue'],
    `const [{ apiBase, apiKey, model }] = read(after('--config')).models;
    return chat(apiBase, apiKey, model);`,
  ],
  [
    ...['pi', 'pi.md', 'run-pi'],
    `const { baseUrl, apiKey } = read(env.PI_CODING_AGENT_DIR + '/models.json').providers[after('--provider')];
    return chat(baseUrl, apiKey, after('--model'));`,
  ],
  [...['goose', 'goose.md', 'run-goose'], 'return chat(env.OPENAI_BASE_URL, env.OPENAI_API_KEY, env.GOOSE_MODEL);'],
  [...['qwen', 'qwen-code.md', 'run-qwen'], 'return chat(env.OPENAI_BASE_URL, env.OPENAI_API_KEY, env.OPENAI_MODEL);'],
] as const;

/** Writes the program that stands for an agent. */
function standFor(program: string, way: string): Promise<void> {
  const script = `#!${process.execPath}
    const { argv, env } = process;
    const input = argv.at(-1);
    const messages = [{ role: 'user', content: input }];
    const read = (file) => JSON.parse(require('node:fs').readFileSync(file, 'utf8'));
    const after = (option) => argv[argv.indexOf(option) + 1];
    const chat = (url, key, model) => [url + '/chat/completions', key, { model, messages }];
    const [url, key, body] = (() => { ${way} })();
    fetch(url, { method: 'POST', headers: { authorization: 'Bearer ' + key }, body: JSON.stringify(body) })
      .then((answer) => answer.text())
      .then(console.log);`;
  return writeFile(join(folder, program), script, { mode: 0o755 });
}

it.each(ways)('%s runs by the command of %s, which installs it, too', async (name, page, block, way) => {
  const { program = '', install = '' } = agents[name] ?? {};
  expect(await readFile(join(root, `docs/tools/${page}`), 'utf8')).toContain(`\`${install}\``);
  await standFor(program, way);
  const command = documentedBlock(`docs/tools/${page}`, block);
  const { stdout, stderr } = await run('bash', ['-euc', command], { cwd: folder, env: environment() });
  expect(stdout).toContain('You said: Say hello');
  expect(stderr).toMatch(/sotto: 1 request, .*Providers: private 1/);
});

it('the overview lists every agent with its page', async () => {
  const overview = await readFile(join(root, 'docs/tools/coding-agents.md'), 'utf8');
  expect(ways.map(([name]) => name).sort()).toEqual(Object.keys(agents).sort());
  for (const [, page] of ways) expect(overview).toContain(`](${page})`);
});

it('a run has a bill, and each of its charges a signed receipt', async () => {
  await standFor('claude', ways[0]?.[3] ?? '');
  const script = documentedBlock('docs/tools/coding-agents.md', 'bill');
  const { stdout } = await run('bash', ['-euc', script], { cwd: folder, env: environment() });
  expect(stdout).toContain('1 of 1 charges are proven by a signed receipt.');
});

it('the settings of an agent are printed by the command of the overview', async () => {
  const script = documentedBlock('docs/tools/coding-agents.md', 'print');
  const { stdout } = await run('bash', ['-euc', script], { cwd: folder, env: environment() });
  expect(stdout).toContain('SOTTO_LOCAL_TOKEN=TOKEN sotto proxy --model demo/chat --warm-caches on\n');
  expect(stdout).toContain('export SOTTO_LOCAL_TOKEN=TOKEN');
  expect(stdout).toMatch(/^codex .*model_provider="sotto".* 'model="demo\/chat"'$/m);
});

it('a chat is answered', async () => {
  expect(await shell('chat')).toContain('Hello there');
});

it('the playground prints the address of its page', async () => {
  await buildPlayground();
  const playground = spawn('bash', ['-euc', `exec ${documentedBlock(guide, 'playground')}`], {
    cwd: folder,
    env: environment(),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [printed] = (await once(playground.stdout.setEncoding('utf8'), 'data')) as [string];
  const [address = ''] = /^http:\S+#sotto_local_\S+/.exec(printed) ?? [];
  expect(await (await fetch(address)).text()).toContain('<title>Playground · Sotto</title>');
  playground.kill('SIGINT');
  expect(await once(playground, 'close')).toEqual([0, null]);
});

it('what both cost adds up', async () => {
  expect(await shell('bill')).toMatch(/^[1-9]\d* charges, [\d.]+ USD: [1-9]\d* adds? up\n$/);
});

it('the library serves the OpenAI SDK', async () => {
  await symlink(join(root, 'test/node_modules'), join(folder, 'node_modules'));
  await writeFile(join(folder, 'library.mjs'), documentedBlock(guide, 'library', 'js'));
  const args = ['--conditions=@sotto/source', 'library.mjs'];
  const { stdout } = await run(process.execPath, args, { cwd: folder, env: environment() });
  expect(stdout).toContain('You said: Hello');
});

it('names only codes that exist', async () => {
  const text = await readFile(join(root, guide), 'utf8');
  const named = [...text.matchAll(/`(answer_lost|retry_refused)`/g)].map(([, code]) => code);
  expect(named.length).toBeGreaterThan(1);
  expect(named.filter((code) => !Object.hasOwn(clientErrors, code ?? ''))).toEqual([]);
});

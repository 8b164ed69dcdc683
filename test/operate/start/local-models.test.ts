import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ollamaAnswers, vllmAnswers } from '@sotto/discovery/testing';
import { startTestRedis } from '@sotto/test-servers';
import OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { documentedBlock } from '../../kit/documented.ts';
import { useFolder } from '../../kit/folder.ts';
import { type ModelServerStandIn, startModelServer } from '../../kit/model-server.ts';
import { endAll, freePorts, npmStart, root, type StartedByNpm } from '../../kit/npm-start.ts';
import { until } from '../../kit/service.ts';

// Postgres does not run as root, so it needs access through this folder.
const dataDir = useFolder('local-models', 0o755);
let ollama: ModelServerStandIn;

beforeAll(async () => {
  ollama = await startModelServer(ollamaAnswers);
});
afterEach(async () => {
  ollama.answer(ollamaAnswers);
  await endAll();
});
afterAll(() => ollama.stop());

const start = async (environment: Record<string, string> = {}): Promise<StartedByNpm> =>
  npmStart(dataDir, { ...(await freePorts()), LOCAL_MODELS: ollama.origin, ...environment });

/** Does what the printed line says. */
function lookAgain(started: StartedByNpm): void {
  const [, pid] = /To look for local models again: kill -HUP (\d+)/.exec(started.output()) ?? [];
  process.kill(Number(pid), 'SIGHUP');
}

/** Runs a command of a page in a folder. `npm run` finds the project by `--prefix`. */
const shell = (script: string, cwd: string) =>
  promisify(execFile)('bash', ['-euc', script.replace('npm run', `npm --prefix ${root} run`)], {
    cwd,
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' },
  });

const clientOf = ({ quickstart }: StartedByNpm): OpenAI =>
  new OpenAI({ baseURL: quickstart.base_url, apiKey: quickstart.inference_key, maxRetries: 0 });

const say = (client: OpenAI, model: string) =>
  client.chat.completions.create({ model, messages: [{ role: 'user', content: 'Hello' }] });

const listed = async ({ quickstart }: StartedByNpm): Promise<Record<string, unknown>[]> => {
  const answer = await fetch(`${quickstart.control_url}/catalog/models`);
  return ((await answer.json()) as { data: Record<string, unknown>[] }).data;
};

it('serves the models of a server on this machine, free of charge, without configuration', async () => {
  const started = await start();
  expect(started.output()).toContain(`Ollama at ${ollama.origin}/v1: 2 models`);
  expect(started.output()).toContain('left out: gpt-oss:120b-cloud');
  expect(started.output()).toContain('"model":"ollama/qwen3-8b"');
  const client = clientOf(started);
  const answer = await say(client, 'ollama/qwen3-8b');
  expect(answer).toMatchObject({ model: 'ollama/qwen3-8b', usage: { cost: 0 } });
  expect(answer.choices[0]?.message.content).toBe('Locally: Hello');
  expect(ollama.asked.at(-1)).toMatchObject({ model: 'qwen3:8b' });
  const { data: streamed, response } = await client.chat.completions
    .create({ model: '/auto', stream: true, messages: [{ role: 'user', content: 'Hello' }] })
    .withResponse();
  let text = '';
  for await (const chunk of streamed) text += chunk.choices[0]?.delta.content ?? '';
  expect(text).toBe('Locally: Hello');
  expect(response.headers.get('x-router-selected-model')).toBe('ollama/ollama/qwen3-8b');
  expect(response.headers.get('x-router-privacy-class')).toBe('private');

  const models = await listed(started);
  expect(models.find(({ id }) => id === 'ollama/qwen3-8b')).toMatchObject({
    context_length: 16_384,
    pricing: { input: 0, output: 0 },
    capabilities: { tools: true, vision: false, reasoning: { can_disable: true } },
  });
  expect(models.find(({ id }) => id === 'demo/chat')).toMatchObject({ auto: false });
  expect((await say(client, 'demo/chat')).choices[0]?.message.content).toContain('You said: Hello');
});

it('looks again on SIGHUP, and the registry stays as it was', async () => {
  ollama.answer({ ...ollamaAnswers, 'GET /api/tags': { models: [] } });
  const started = await start();
  const registry = await readFile(join(dataDir, 'providers.yaml'));
  const client = clientOf(started);
  await expect(say(client, 'ollama/qwen3-8b')).rejects.toMatchObject({ status: 404, type: 'model_not_found' });
  ollama.answer(ollamaAnswers);
  lookAgain(started);
  await until(async () => (await say(client, 'ollama/qwen3-8b')).model !== '', 'the new model is served', 20_000);
  expect(await readFile(join(dataDir, 'providers.yaml'))).toEqual(registry);
});

it('names the address at which no known server answers', async () => {
  const other = await startModelServer({ 'GET /v1/models': { data: [{ id: 'x', owned_by: 'somebody' }] } });
  const started = await start({ LOCAL_MODELS: `${other.origin},${ollama.origin}` });
  expect(started.output()).toContain(`${other.origin} (LOCAL_MODELS): no Ollama, LM Studio, llama.cpp or vLLM answers`);
  expect(started.output()).toContain('2 models');
  await other.stop();
});

it('offers two servers of one kind under ids of their own', async () => {
  const [one, two] = [await startModelServer(vllmAnswers), await startModelServer(vllmAnswers)];
  const started = await start({ LOCAL_MODELS: `${one.origin}/v1,${two.origin}` });
  expect((await listed(started)).map(({ id }) => id)).toEqual(
    expect.arrayContaining(['vllm/Qwen-Qwen3-8B', 'vllm-2/Qwen-Qwen3-8B']),
  );
  await Promise.all([one.stop(), two.stop()]);
});

it.each([
  ['not a URL', 'ollama', /LOCAL_MODELS is `ollama`: it takes `auto`, `off` or addresses of this machine/],
  ['another machine', 'http://192.0.2.1:11434', /LOCAL_MODELS is .* addresses of this machine/],
])('refuses %s', async (_, value, message) => {
  await expect(start({ LOCAL_MODELS: value })).rejects.toThrow(message);
});

it('never adds to files of the operator', async () => {
  const catalog = join(dataDir, 'own.yaml');
  await writeFile(
    catalog,
    `models: [{id: own/echo, model_type: text, context_length: 4096, routes: [
      {provider: demo, upstream_model: demo-chat, privacy_class: private, pricing: {input: 1, output: 1}}]}]`,
  );
  await expect(start({ CATALOG_FILE: catalog })).rejects.toThrow(/LOCAL_MODELS is set beside PROVIDERS_FILE/);
  const started = await start({ CATALOG_FILE: catalog, LOCAL_MODELS: 'auto' });
  expect((await listed(started)).map(({ id }) => id)).toEqual(['/auto', 'own/echo']);
});

it('serves them with two processes, too', async (context) => {
  const redis = await startTestRedis();
  if (redis === undefined) return context.skip('no Redis');
  ollama.answer({ ...ollamaAnswers, 'GET /api/tags': { models: [] } });
  const started = await start({ REDIS_URL: redis.url });
  ollama.answer(ollamaAnswers);
  lookAgain(started);
  const client = clientOf(started);
  await until(async () => (await say(client, 'ollama/qwen3-8b')).model !== '', 'the new model is served', 20_000);
  await started.end('SIGTERM');
  await redis.stop();
});

it('runs the commands of the quickstart for a server of one’s own', async () => {
  const list = { object: 'list', data: [{ id: 'small-v1', object: 'model' }] };
  const server = await startModelServer({ 'GET /v1/models': list });
  const folder = await mkdtemp(join(tmpdir(), 'sotto-own-server-'));
  const [add = '', start_ = ''] = documentedBlock('docs/start/quickstart.md', 'provider-add').trim().split('\n');
  await shell(add.replace('http://127.0.0.1:8000', server.origin), folder);
  const files = Object.fromEntries(
    [...start_.matchAll(/(\w+_FILE)=(\S+)/g)].map(([, name, file]) => [name, join(folder, file ?? '')]),
  );
  expect(Object.keys(files)).toEqual(['PROVIDERS_FILE', 'CATALOG_FILE']);
  const started = await start({ ...files, LOCAL_MODELS: 'auto' });
  expect((await say(clientOf(started), 'acme/small-v1')).choices[0]?.message.content).toBe('Locally: Hello');
  await rm(folder, { recursive: true });
  await server.stop();
});

it('starts with the files of the example', async () => {
  const server = await startModelServer({});
  const folder = await mkdtemp(join(tmpdir(), 'sotto-example-'));
  const example = join(root, 'examples/own-provider');
  const registry = await readFile(join(example, 'providers.yaml'), 'utf8');
  await writeFile(join(folder, 'providers.yaml'), registry.replace('http://127.0.0.1:8000', server.origin));
  const started = await start({
    PROVIDERS_FILE: join(folder, 'providers.yaml'),
    CATALOG_FILE: join(example, 'catalog.yaml'),
    LOCAL_MODELS: 'auto',
  });
  expect((await say(clientOf(started), 'acme/small')).model).toBe('acme/small');
  await rm(folder, { recursive: true });
  await server.stop();
});

it('says which key a provider lacks, and what `/auto` needs if all providers are anonymous', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sotto-keys-'));
  const provider = (id: string, key: string) =>
    `{id: ${id}, name: ${id}, adapter: openai, base_url: "http://127.0.0.1:9/v1", privacy_class: anonymous, api_key_env: ${key}}`;
  const model = (id: string) =>
    `{id: ${id}/m, model_type: text, context_length: 4096, routes: [{provider: ${id}, upstream_model: m, privacy_class: anonymous, pricing: {input: 1, output: 1}}]}`;
  await writeFile(
    join(folder, 'p.yaml'),
    `providers: [${provider('acme', 'ACME_API_KEY')}, ${provider('bolt', 'BOLT_KEY')}, ${provider('corp', 'CORP_KEY')}]`,
  );
  await writeFile(join(folder, 'c.yaml'), `models: [${model('acme')}, ${model('bolt')}, ${model('corp')}]`);
  const started = await start({
    PROVIDERS_FILE: join(folder, 'p.yaml'),
    CATALOG_FILE: join(folder, 'c.yaml'),
    LOCAL_MODELS: 'auto',
    BOLT_KEY: 'secret',
    CORP_KEY: 'sotto_inf_x',
  });
  expect(started.output()).toContain('`acme` has no key: set ACME_API_KEY and start again.');
  expect(started.output()).toContain('`corp` has no key: CORP_KEY begins with `sotto_`');
  expect(started.output()).toMatch(/`\/auto` allows `private` and stronger ones: it refuses/);
  await expect(say(clientOf(started), '/auto')).rejects.toMatchObject({
    status: 403,
    type: 'no_provider_route_meets_privacy',
    message: expect.stringContaining('set `auto.tiers` to `Standard`'),
  });
  await rm(folder, { recursive: true });
});

it('with a key of a built-in provider, never chooses the demo for `/auto`', async () => {
  const started = await start({ LOCAL_MODELS: 'off', OPENAI_API_KEY: 'sk-none' });
  expect(started.output()).toContain('"model":"openai/');
  await expect(say(clientOf(started), '/auto')).rejects.toMatchObject({ status: 403 });
  expect((await say(clientOf(started), 'demo/chat')).choices[0]?.message.content).toContain('You said: Hello');
});

it('ends at once with every problem of both files, each with its line', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sotto-malformed-'));
  await writeFile(
    join(folder, 'p.yaml'),
    'providers:\n  - {id: acme, name: Acme, adapter: smtp, privacy_class: secret}\n',
  );
  await writeFile(join(folder, 'c.yaml'), 'models:\n  - {id: acme, model_type: text, routes: []}\n');
  const ended = await start({
    PROVIDERS_FILE: join(folder, 'p.yaml'),
    CATALOG_FILE: join(folder, 'c.yaml'),
    LOCAL_MODELS: 'auto',
  }).then(
    () => '',
    (error: unknown) => String(error),
  );
  for (const problem of [
    /p\.yaml:2: .*`smtp`/,
    /p\.yaml:2: .*`secret`/,
    /p\.yaml:2: .*base_url/,
    /c\.yaml:2: .*`acme`/,
  ]) {
    expect(ended).toMatch(problem);
  }
  expect(ended).not.toMatch(/Invalid|expected|received/);
  await rm(folder, { recursive: true });
});

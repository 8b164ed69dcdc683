import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCli } from '@sotto/control';
import { noteSkip, redisSkipReason, until } from '@sotto/test-servers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ask } from '../../kit/client.ts';
import { useFolder } from '../../kit/folder.ts';
import { answerChat, answerError, type FakeProvider, startProvider } from '../../kit/provider.ts';
import { type Service, startService, type TestAccount } from '../../kit/service.ts';
import { surroundingsOf } from '../../kit/stage/surroundings.ts';

/**
 * An operator moves from LiteLLM: a `config.yaml`, a price map and a file of models.dev, in the forms in which these projects publish
 * them, become a service that serves.
 */
const folder = useFolder('imported');
const at = (name: string): string => join(folder, name);
const write = (name: string, content: string): string => {
  writeFileSync(at(name), content);
  return at(name);
};
const read = (...names: string[]): string => readFileSync(join(folder, ...names), 'utf8');

async function cli(...args: string[]) {
  const out: string[] = [];
  const error: string[] = [];
  const context = { environment: {}, readInput: async () => '' };
  const code = await runCli(args, { ...context, out: (line) => out.push(line), error: (line) => error.push(line) });
  return { code, out, error };
}

const priceMap = {
  sample_spec: {
    litellm_provider: 'one of https://docs.litellm.ai/docs/providers',
    mode: 'chat',
    input_cost_per_token: 0,
  },
  'gpt-4o-mini': {
    ...{
      litellm_provider: 'openai',
      mode: 'chat',
      max_tokens: 16384,
      max_input_tokens: 128000,
      max_output_tokens: 16384,
    },
    ...{ input_cost_per_token: 1.5e-7, output_cost_per_token: 6e-7, cache_read_input_token_cost: 7.5e-8 },
    ...{ supports_function_calling: true, supports_system_messages: true },
  },
};
const modelsDev = {
  acme: {
    ...{
      id: 'acme',
      env: ['ACME_API_KEY'],
      npm: '@ai-sdk/openai-compatible',
      name: 'Acme',
      doc: 'https://acme.example/docs',
    },
    models: {
      large: {
        ...{ id: 'large', name: 'Acme Large', attachment: false, reasoning: false, temperature: true, tool_call: true },
        ...{ release_date: '2026-01-01', last_updated: '2026-01-01', open_weights: false },
        modalities: { input: ['text'], output: ['text'] },
        ...{ cost: { input: 3, output: 15, cache_read: 0.3 }, limit: { context: 200000, output: 64000 } },
      },
      free: { id: 'free', name: 'Free', limit: { context: 1000, output: 100 }, cost: { input: 0, output: 0 } },
    },
  },
};
const config = (baseUrl: string): string => `model_list:
  - model_name: gpt-4o-mini
    litellm_params:
      model: openai/gpt-4o-mini
      api_base: ${baseUrl}
      api_key: os.environ/OPENAI_ONE_KEY
      weight: 1
  - model_name: gpt-4o-mini
    litellm_params:
      model: openai/gpt-4o-mini
      api_base: ${baseUrl}
      api_key: os.environ/OPENAI_TWO_KEY
      weight: 1
  - model_name: "anthropic/*"
    litellm_params: { model: anthropic/* }
router_settings:
  routing_strategy: simple-shuffle
litellm_settings:
  success_callback: ["langfuse"]
`;

const surroundings = await surroundingsOf.two();
if (surroundings === undefined) noteSkip('files of other projects', redisSkipReason);
let provider: FakeProvider;
let service: Service;
let account: TestAccount;
let imported: Awaited<ReturnType<typeof cli>>;

beforeAll(async () => {
  if (surroundings === undefined) return;
  provider = await startProvider();
  write('config.yaml', config(provider.baseUrl));
  write('prices.json', JSON.stringify(priceMap));
  imported = await cli('litellm', 'import', at('config.yaml'), '--prices', at('prices.json'), '--out', at('made'));
  service = await startService({
    ...{ planes: 'two', databaseUrl: await surroundings.start(), redisUrl: surroundings.redisUrl },
    ...{ registry: read('made', 'providers.yaml'), catalog: read('made', 'catalog.yaml') },
    brokerEnvironment: {
      OPENAI_ONE_KEY_FILE: write('one', 'sk-one\n'),
      OPENAI_TWO_KEY_FILE: write('two', 'sk-two\n'),
    },
  });
  account = await service.createAccount();
});

afterAll(async () => {
  await service?.stop();
  await provider?.stop();
  await surroundings?.stop();
});

const askFor = (model: string) => ask(service, account.inferenceKey, { model });
const keysSeen = (): string[] =>
  provider.seen.map(({ headers }) => String(headers.authorization).replace('Bearer ', ''));

it.skipIf(surroundings === undefined)(
  'a configuration of LiteLLM and its price map become a catalog that serves',
  async () => {
    expect(imported.code, imported.error.join('\n')).toBe(0);
    expect(imported.out).toContain('the model `gpt-4o-mini` is `openai/gpt-4o-mini` now');
    expect(imported.out).toContain('the broker needs OPENAI_ONE_KEY, OPENAI_TWO_KEY');
    const file = at('config.yaml');
    expect(imported.error).toEqual([
      `${file}:14: not translated: \`model_list[2].model_name\`: a pattern has no price: list its models`,
      `${file}:17: not translated: \`router_settings.routing_strategy\`: routes are ranked by price, latency or throughput, as \`sort\` of a workspace or request says`,
      `${file}:19: not translated: \`litellm_settings.success_callback\`: content is passed to nothing but the provider`,
    ]);
    provider.answer(answerChat({ promptTokens: 10, completionTokens: 20 }));
    const before = await service.settled(account);
    const answered = await askFor('openai/gpt-4o-mini');
    expect(answered.status, answered.text).toBe(200);
    // 10 tokens at 0.15 USD and 20 at 0.6 USD per million, in nano-USD.
    expect(before - (await service.settled(account))).toBe(13_500n);
  },
);

it.skipIf(surroundings === undefined)(
  'requests use both keys, and go on with one when the provider refuses the other',
  async () => {
    const before = provider.seen.length;
    // The chance that 40 draws of two equal keys are all the same is 2 in 10^12.
    for (let asked = 0; asked < 40; asked += 1) expect((await askFor('openai/gpt-4o-mini')).status).toBe(200);
    expect(new Set(keysSeen().slice(before))).toEqual(new Set(['sk-one', 'sk-two']));
    provider.answer((request, response) =>
      (request.headers.authorization === 'Bearer sk-one' ? answerError(401) : answerChat())(request, response),
    );
    for (let asked = 0; asked < 40; asked += 1) expect((await askFor('openai/gpt-4o-mini')).status).toBe(200);
    expect(service.logs()).toContain('"variable":"OPENAI_ONE_KEY","outcome":"authentication_failed"');
    expect(service.logs()).not.toContain('sk-one');
  },
);

it.skipIf(surroundings === undefined)('changed keys are used after SIGHUP, without a restart', async () => {
  const { pid } = service.broker;
  provider.answer(answerChat());
  write('one', 'sk-new\n');
  write('two', 'sk-new\n');
  process.kill(pid, 'SIGHUP');
  await until(async () => {
    expect((await askFor('openai/gpt-4o-mini')).status).toBe(200);
    return keysSeen().at(-1) === 'sk-new';
  }, 'the new key is used');
  expect(service.broker.pid).toBe(pid);
});

it.skipIf(surroundings === undefined)('a file of models.dev becomes a catalog that serves', async () => {
  const file = write('api.json', JSON.stringify(modelsDev));
  // The provider that the first import named. `--listed-as` is the name that models.dev has for it.
  const id = /id: (\S+)/.exec(read('made', 'providers.yaml'))?.[1] ?? '';
  const wrong = await cli('catalog', 'import', file, '--provider', id);
  expect(wrong).toMatchObject({ code: 1, error: [expect.stringContaining('name one with --listed-as. It has acme')] });
  const made = await cli(
    'catalog',
    'import',
    file,
    '--provider',
    id,
    '--listed-as',
    'acme',
    '--creator',
    'acme',
    '--out',
    at('dev.yaml'),
  );
  expect(made.error).toEqual(['left out: free: it is free: a price of 0 is for you to write']);
  await service.replaceCatalog(read('dev.yaml'));
  await until(async () => (await askFor('acme/large')).status === 200, 'the broker has the model');
  expect(provider.seen.at(-1)?.body.model).toBe('large');
});

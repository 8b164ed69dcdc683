import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { agents, foreignKeys } from './index.ts';
import type { AgentWay } from './known-agents.ts';

const way: AgentWay = {
  origin: 'http://127.0.0.1:41233',
  token: 'sotto_local_TOKEN',
  model: 'acme/coder',
  contextLength: 64_000,
  models: ['acme/coder', 'acme/small'],
  folder: '/tmp/sotto-run-1',
};
const startOf = (name: string, more: Partial<AgentWay> = {}) => {
  const start = agents[name]?.start({ ...way, ...more });
  if (start === undefined) throw new Error(`There is no agent ${name}.`);
  return start;
};
const fileOf = (name: string, file: string, more: Partial<AgentWay> = {}): unknown =>
  JSON.parse(startOf(name, more).files[file] ?? '');

describe('the page of coding agents', () => {
  const read = (path: string): string => readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8');

  it('states the versions that the tests run', () => {
    const { dependencies } = JSON.parse(read('test/contract/agents/package.json')) as { dependencies: object };
    const stated = [...read('docs/tools/coding-agents.md').matchAll(/^\| [\w ]+ \| (\d+\.\d+\.\d+) \|$/gm)];
    expect(stated.map(([, version]) => version).sort()).toEqual(Object.values(dependencies).sort());
  });
});

it('claude keeps a quarter of a small context for its answers, and what it wants of a large one', () => {
  const reserved = (contextLength: number) =>
    startOf('claude', { contextLength }).environment.CLAUDE_CODE_MAX_OUTPUT_TOKENS;
  expect(reserved(32_768)).toBe('8192');
  expect(reserved(200_000)).toBeUndefined();
});

describe.each(Object.keys(agents))('the start of %s', (name) => {
  it('names the proxy, the token and the model', () => {
    const text = JSON.stringify(startOf(name));
    for (const needed of [way.origin, way.token, 'acme/coder']) expect(text).toContain(needed);
  });

  it('keeps the token out of the arguments, which every process list shows', () => {
    expect(startOf(name).args.join(' ')).not.toContain(way.token);
  });

  it('sets no variable of another service but those that lead to the proxy', () => {
    const { environment } = startOf(name);
    const values = foreignKeys.flatMap((key) => environment[key] ?? []);
    for (const value of values) expect([way.origin, `${way.origin}/v1`, way.token, way.model]).toContain(value);
  });

  it('points to no file that it does not write', () => {
    const { environment, args, files } = startOf(name);
    const named = [...Object.values(environment), ...args].filter((text) => text.startsWith(`${way.folder}/`));
    expect(named.filter((path) => files[path.slice(way.folder.length + 1)] === undefined)).toEqual([]);
  });
});

describe('Cline', () => {
  const providers = (more: Partial<AgentWay> = {}) => fileOf('cline', 'settings/providers.json', more);

  it('reads its provider from the folder of the run', () => {
    const args = ['--data-dir', way.folder, '--provider', 'openai-compatible', '--model', way.model];
    expect(startOf('cline').args).toEqual(args);
    expect(providers()).toMatchObject({
      lastUsedProvider: 'openai-compatible',
      providers: {
        'openai-compatible': {
          settings: { apiKey: way.token, baseUrl: `${way.origin}/v1`, model: way.model, contextWindow: 64_000 },
        },
      },
    });
  });

  it('states no context window that is not known', () => {
    expect(JSON.stringify(providers({ contextLength: undefined }))).not.toContain('contextWindow');
  });

  it('asks before it runs a tool', () => {
    expect(fileOf('cline', 'settings/global-settings.json')).toMatchObject({ toolAutoApprove: false });
  });
});

it('Continue and pi learn the context window of the model', () => {
  expect(fileOf('continue', 'continue.yaml')).toMatchObject({
    models: [{ model: 'acme/coder', defaultCompletionOptions: { contextLength: 64_000 } }],
  });
  expect(fileOf('pi', 'models.json')).toMatchObject({
    providers: { sotto: { models: [{ id: 'acme/coder', contextWindow: 64_000 }, { id: 'acme/small' }] } },
  });
});

it('Gemini CLI shortens a conversation before the context of the model is full', () => {
  const settings = (contextLength: number | undefined) => fileOf('gemini', '.gemini/settings.json', { contextLength });
  expect(settings(64_000)).toMatchObject({ model: { compressionThreshold: (64_000 / 1_048_576) * 0.6 } });
  expect(settings(2_000_000)).toMatchObject({ model: { compressionThreshold: 0.5 } });
  expect(settings(undefined)).not.toHaveProperty('model');
});

it.each<[name: string, setting: RegExp]>([
  ['claude', /"DISABLE_TELEMETRY":"1"/],
  ['cline', /\\"telemetryOptOut\\":true/],
  ['codex', /"analytics\.enabled=false"/],
  ['gemini', /\\"usageStatisticsEnabled\\":false/],
  ['goose', /"GOOSE_TELEMETRY_OFF":"1"/],
  ['opencode', /\\"share\\":\\"disabled\\"/],
  ['pi', /"PI_TELEMETRY":"0"/],
  ['qwen', /"QWEN_USAGE_STATISTICS_ENABLED":"false"/],
])('%s does not report to its maker, where a setting of the run can stop it', (name, setting) => {
  expect(JSON.stringify(startOf(name))).toMatch(setting);
});

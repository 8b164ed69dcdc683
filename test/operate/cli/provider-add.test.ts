import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCli } from '@sotto/control';
import { type Answers, ollamaAnswers } from '@sotto/discovery/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ModelServerStandIn, startModelServer } from '../../kit/model-server.ts';

const free = ['--input-price', '0', '--output-price', '0'];
const list = { object: 'list', data: [{ id: 'small-v1', object: 'model', context_length: 8192 }, { id: 'whisper-1' }] };

let folder: string;
let ollama: ModelServerStandIn;
let other: ModelServerStandIn;

beforeAll(async () => {
  ollama = await startModelServer(ollamaAnswers);
  other = await startModelServer({ 'GET /v1/models': list });
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sotto-provider-'));
  return () => rm(folder, { recursive: true });
});
afterAll(() => Promise.all([ollama.stop(), other.stop()]));

const registryFile = () => join(folder, 'providers.yaml');
const catalogFile = () => join(folder, 'catalog.yaml');

async function add(
  ...args: string[]
): Promise<{ readonly code: number; readonly out: string; readonly error: string }> {
  const out: string[] = [];
  const error: string[] = [];
  const code = await runCli(['provider', 'add', ...args, '--registry', registryFile(), '--catalog', catalogFile()], {
    environment: { ACME_API_KEY: 'secret', OWN_KEY: 'sotto_inf_x' },
    readInput: async () => '',
    out: (line) => out.push(line),
    error: (line) => error.push(line),
  });
  return { code, out: out.join('\n'), error: error.join('\n') };
}

const readBoth = async () => [await readFile(registryFile(), 'utf8'), await readFile(catalogFile(), 'utf8')] as const;

describe('sotto-control provider add', () => {
  it('recognises a model server, writes both files and says how to use them', async () => {
    const { code, out, error } = await add(ollama.origin, ...free);
    expect(code).toBe(0);
    expect(error).toContain('left out: gpt-oss:120b-cloud');
    expect(out).toContain('added `ollama` (anonymous) with 2 models');
    expect(out).toContain(`To use them: PROVIDERS_FILE=${registryFile()} CATALOG_FILE=${catalogFile()} npm start`);
    const [registry, catalog] = await readBoth();
    expect(registry).toContain(`base_url: ${ollama.origin}/v1`);
    expect(catalog).toContain('id: ollama/qwen3-8b');
  });

  it('asks below the path of the address only, as a gateway has several servers', async () => {
    const below = Object.entries(ollamaAnswers).map(([route, answer]) => [route.replace(' /', ' /ours/'), answer]);
    const gateway = await startModelServer({
      ...ollamaAnswers,
      ...(Object.fromEntries(below) as Answers),
      'GET /team/v1/models': list,
    });
    try {
      expect((await add(`${gateway.origin}/team/v1`, '--id', 'team', ...free)).code).toBe(0);
      expect((await add(`${gateway.origin}/ours/v1/`, '--id', 'ours', ...free)).code).toBe(0);
    } finally {
      await gateway.stop();
    }
    const [registry, catalog] = await readBoth();
    expect(registry).toContain(`base_url: ${gateway.origin}/team/v1\n`);
    expect(registry).toContain(`base_url: ${gateway.origin}/ours/v1\n`);
    expect(catalog).toContain('id: team/small-v1');
    expect(catalog).toContain('id: ours/qwen3-8b');
  });

  it('claims neither a tier nor a price that the operator did not give', async () => {
    for (const origin of [ollama.origin, `${other.origin}/v1`]) {
      expect(await add(origin)).toMatchObject({
        code: 1,
        error: expect.stringMatching(/give (one with )?--input-price and --output-price/),
      });
      expect((await add(origin, ...free)).code).toBe(0);
    }
    for (const text of await readBoth()) {
      expect(text).toContain('privacy_class: anonymous');
      expect(text).not.toContain('privacy_class: private');
    }
  });

  it('takes another server by its list', async () => {
    expect(await add(`${other.origin}/v1`, '--id', 'acme', '--name', 'Acme', ...free)).toMatchObject({
      code: 0,
      error: 'left out: whisper-1: by its name it is no model for chat or embeddings',
    });
    const [registry, catalog] = await readBoth();
    expect(registry).toMatch(/id: acme\n.*name: Acme\n.*adapter: openai\n/);
    expect(catalog).toContain('pricing: { input: 0, output: 0 }');
    // The stand-in takes whatever is asked, so the model takes tools.
    expect(catalog).toContain('capabilities: { tools: true }');
  });

  it('tries tools where a list does not say what a model can do, and takes the operator’s word for it', async () => {
    const refuses = { 'POST /v1/chat/completions': ({ tools }: { tools?: unknown }) => (tools ? {} : { choices: [] }) };
    const silent = await startModelServer({ 'GET /v1/models': list, ...refuses } as Answers);
    try {
      const tried = await add(`${silent.origin}/v1`, '--id', 'acme', '--name', 'Acme', ...free);
      expect(tried.error).toContain('acme/small-v1: did not take a tool when asked; --tools says that it does');
      expect((await readBoth())[1]).not.toContain('tools');
      expect((await add(`${silent.origin}/v1`, '--id', 'acme', '--force', '--tools', ...free)).error).not.toContain(
        'did not take',
      );
      expect((await readBoth())[1]).toContain('capabilities: { tools: true }');
    } finally {
      await silent.stop();
    }
  });

  it('recognises a server behind a key, and what the operator says of it wins over what is usual', async () => {
    const said = ['--name', 'Ours', '--privacy-class', 'anonymous', '--input-price', '3', '--output-price', '4'];
    const more = ['--context-length', '8192', '--api-key-env', 'ACME_API_KEY'];
    expect((await add(ollama.origin, ...said, ...more)).code).toBe(0);
    expect(ollama.heard.at(-1)).toContain('"authorization":"Bearer secret"');
    const [registry, catalog] = await readBoth();
    expect(registry).toMatch(/name: Ours\n[^-]*privacy_class: anonymous\n/);
    expect(registry).toContain('api_key_env: ACME_API_KEY');
    expect(catalog).toContain('pricing: { input: 3, output: 4 }');
    expect(catalog).toContain('context_length: 8192');
    expect(catalog).not.toContain('private');
    const listed = await add(`${other.origin}/v1`, '--id', 'acme', ...said, '--context-length', '4096');
    expect(listed.code).toBe(0);
    expect((await readBoth())[1]).toMatch(
      /id: acme\/small-v1\n[\s\S]*context_length: 4096\n[\s\S]*privacy_class: anonymous\n[\s\S]*pricing: \{ input: 3, output: 4 \}/,
    );
  });

  it('explains itself', async () => {
    const { code, out } = await add('--help');
    expect(code).toBe(0);
    expect(out).toMatch(/^usage: sotto-control provider add URL .*\[--tools\]\n\nask a server for its models/);
  });

  it('names the variable of a key, and never writes the key', async () => {
    expect((await add(`${other.origin}/v1`, '--id', 'acme', '--api-key-env', 'ACME_API_KEY', ...free)).code).toBe(0);
    const [registry, catalog] = await readBoth();
    expect(registry).toContain('api_key_env: ACME_API_KEY');
    expect(registry + catalog).not.toContain('secret');
  });

  it('adds to files that exist, and replaces a provider only with --force', async () => {
    await add(ollama.origin, ...free);
    expect((await add(`${other.origin}/v1`, '--id', 'acme', ...free)).code).toBe(0);
    const before = await readBoth();
    const again = await add(ollama.origin, ...free);
    expect(again).toMatchObject({ code: 1, error: expect.stringContaining('already has the provider `ollama`') });
    expect(await readBoth()).toEqual(before);
    expect((await add(ollama.origin, '--force', ...free)).code).toBe(0);
    const [registry, catalog] = await readBoth();
    expect([...registry.matchAll(/- id: (\S+)/g)].map(([, id]) => id)).toEqual(['acme', 'ollama']);
    expect(catalog.match(/provider: ollama/g)).toHaveLength(2);
  });

  it('writes nothing into files that the planes would refuse', async () => {
    await writeFile(registryFile(), 'providers:\n  - {id: acme, name: Acme, adapter: smtp}\n');
    const { code, error } = await add(ollama.origin, ...free);
    expect(code).toBe(1);
    expect(error).toMatch(/providers\.yaml:2: .*`smtp`: it must be `openai`/);
    expect(await readFile(registryFile(), 'utf8')).not.toContain('ollama');
  });

  it.each([
    [['ftp://acme.example'], /needs the address of a server/],
    [['http://192.0.2.1:11434'], /needs --insecure-http/],
    [['http://127.0.0.1:1'], /cannot reach http:\/\/127\.0\.0\.1:1\/v1\/models/],
    [['https://127.0.0.1:1', '--id', 'Acme!'], /--id must be the id of a provider/],
    [['http://127.0.0.1:1', '--api-key-env', 'NOBODY_SET_IT'], /NOBODY_SET_IT.* is not set/],
    [['http://127.0.0.1:1', '--api-key-env', 'OWN_KEY'], /OWN_KEY, which begins with `sotto_`/],
  ])('refuses %j', async (args, message) => {
    const { code, error } = await add(...args);
    expect(code).not.toBe(0);
    expect(error).toMatch(message);
  });
});

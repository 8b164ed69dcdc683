import { execFile } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { noteSkip } from '@sotto/test-servers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { documentedBlock } from '../../kit/documented.ts';
import { useFolder } from '../../kit/folder.ts';
import { endAll, freePorts, npmStart, root, type StartedByNpm } from '../../kit/npm-start.ts';

const run = promisify(execFile);
// Postgres does not run as root, so it needs access through this folder.
const folder = useFolder('pages', 0o755);
let started: StartedByNpm;
beforeAll(async () => {
  started = await npmStart(join(folder, '.sotto'), await freePorts());
  await mkdir(join(folder, 'bin'));
  await symlink(join(root, 'test/node_modules'), join(folder, 'node_modules'));
});
afterAll(endAll);

function environment(): NodeJS.ProcessEnv {
  const { base_url, control_url, inference_key, management_key, email, password } = started.quickstart;
  return {
    PATH: `${join(folder, 'bin')}:${process.env.PATH ?? ''}`,
    BASE_URL: base_url,
    CONTROL_URL: control_url,
    INFERENCE_KEY: inference_key,
    MANAGEMENT_KEY: management_key,
    EMAIL: email,
    PASSWORD: password,
  };
}

async function shell(script: string): Promise<string> {
  return (await run('bash', ['-euc', script], { cwd: folder, env: environment() })).stdout;
}

/** Runs a program of a page in Node, with the packages of the tests. */
async function node(page: string, name: string): Promise<string> {
  const program = `${basename(page, '.md')}-${name}.mjs`;
  await writeFile(join(folder, program), documentedBlock(page, name, 'js'));
  const args = ['--conditions=@sotto/source', program];
  return (await run(process.execPath, args, { cwd: folder, env: environment() })).stdout;
}

describe('pages for users, with what `npm start` runs', () => {
  it('quickstart.md: both flows, with the variables of `.sotto/env`', async () => {
    const page = 'docs/start/quickstart.md';
    const steps = ['compatibility', 'private'].map((name) => documentedBlock(page, name));
    const { stdout } = await run('bash', ['-euc', steps.join('\n')], { cwd: folder, env: { PATH: process.env.PATH } });
    expect(stdout).toMatch(/You said: Hello.*"cost":.*You said: Hello/s);
  });

  it('routing-preferences.md: a policy, preferences and a preview', async () => {
    const page = 'docs/use/routing-preferences.md';
    expect(await shell(documentedBlock(page, 'policy'))).toContain('You said: Hello');
    const [preferences, preview] = ['preferences', 'preview'].map((name) => documentedBlock(page, name));
    const shown = await shell(`${preferences}\n${preview}`);
    expect(shown).toMatch(/"provider_sort":"price".*"privacy_boundary":"Private".*"max_price":\{"output":20\}/s);
    expect(shown).toMatch(/"provider":"demo"/);
  });
});

describe('pages for tools, with what `npm start` runs', () => {
  it('curl.md: streams, and answers in the private flow', async () => {
    const page = 'docs/tools/curl.md';
    const streamed = await shell(documentedBlock(page, 'stream'));
    expect(streamed).toMatch(/data: \{.*"content".*"usage":\{.*data: \[DONE\]\n\n$/s);
    expect(await shell(documentedBlock(page, 'private'))).toMatch(/"choices".*You said: Hello.*"usage"/s);
  });

  it('javascript.md', async () => {
    const said = await node('docs/tools/javascript.md', 'openai');
    expect(said).toMatch(/You said: Hello.*\nRefused: model_not_found\n$/s);
  });

  it('vercel-ai-sdk.md', async () => {
    expect(await node('docs/tools/vercel-ai-sdk.md', 'ai')).toMatch(/You said: Hello.*\n[1-9]\d* tokens\n$/s);
    expect(await node('docs/tools/vercel-ai-sdk.md', 'private')).toContain('You said: Hello');
  });

  it('langchain.md', async () => {
    expect(await node('docs/tools/langchain.md', 'langchain')).toMatch(/You said: Hello.*\n2 vectors\n$/s);
    expect(await node('docs/tools/langchain.md', 'private')).toContain('You said: Hello');
  });

  it('python.md', async (context) => {
    const isInstalled = await run('python3', ['-c', 'import openai']).then(
      () => true,
      () => false,
    );
    if (!isInstalled) {
      noteSkip('docs/tools/python.md', 'Install the Python package `openai`.');
      return context.skip('no Python package openai');
    }
    await writeFile(join(folder, 'openai_page.py'), documentedBlock('docs/tools/python.md', 'openai', 'py'));
    const said = await shell('python3 openai_page.py');
    expect(said).toMatch(/You said: Hello.*\nRefused: model_not_found\n$/s);
  });

  it('open-webui.md: the container gets an address and a key that list models', async () => {
    await writeFile(join(folder, 'bin/docker'), '#!/bin/sh\nprintf "%s\\n" "$@"\n', { mode: 0o755 });
    const told = (await shell(documentedBlock('docs/tools/open-webui.md', 'start'))).split('\n');
    expect(told.slice(0, 2)).toEqual(['run', '-d']);
    const settingOf = (name: string): string => told.find((each) => each.startsWith(`${name}=`))?.split('=')[1] ?? '';
    const answer = await fetch(`${settingOf('OPENAI_API_BASE_URL')}/models`, {
      headers: { authorization: `Bearer ${settingOf('OPENAI_API_KEY')}` },
    });
    expect(await answer.json()).toMatchObject({
      data: expect.arrayContaining([expect.objectContaining({ id: 'demo/chat' })]),
    });
  });
});

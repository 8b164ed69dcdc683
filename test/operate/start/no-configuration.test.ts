import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { serverKinds } from '@sotto/discovery';
import { freePort } from '@sotto/test-servers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { documentedBlock } from '../../kit/documented.ts';
import { useFolder } from '../../kit/folder.ts';
import { endAll, freePorts, npmStart, root, type StartedByNpm } from '../../kit/npm-start.ts';
import { type OwnNetwork, openOwnNetwork } from '../../kit/own-network.ts';
import { fromSource } from '../../kit/programs.ts';
import { hasBrowser, signInBy, useBrowser } from '../../people/dashboard/stage.ts';

const network: OwnNetwork | undefined = await openOwnNetwork();
// Another program may have the usual ports of the machine itself, so there they are given.
const port = network === undefined ? await freePort() : serverKinds.ollama.port;
const ownPorts = await freePorts();
const given: Record<string, string> = network ? {} : { LOCAL_MODELS: `http://127.0.0.1:${port}`, ...ownPorts };
const under = network?.under ?? [];

// Postgres does not run as root, so it needs access through this folder.
const folder = useFolder('no-configuration', 0o755);
let ollama: ChildProcess;
let started: StartedByNpm;

beforeAll(async () => {
  const standIn = `
    import { ollamaAnswers } from '@sotto/discovery/testing';
    import { startModelServer } from './kit/model-server.ts';
    console.log((await startModelServer(ollamaAnswers, ${port})).origin);`;
  const [program = '', ...args] = [...under, process.execPath, ...fromSource, '--input-type=module', '-e', standIn];
  ollama = spawn(program, args, { cwd: join(root, 'test'), stdio: ['ignore', 'pipe', 'inherit'] });
  if (ollama.stdout !== null) await once(ollama.stdout, 'data');
  started = await npmStart(join(folder, '.sotto'), given, under);
});
afterAll(async () => {
  await endAll();
  ollama?.kill();
  await network?.stop();
});

describe('npm start without any configuration, beside an Ollama', () => {
  it('serves its model to a tool that reads the variables of OpenAI’s SDK', async () => {
    const program = `
      import OpenAI from 'openai';
      const messages = [{ role: 'user', content: 'Hello' }];
      const answer = await new OpenAI().chat.completions.create({ model: 'ollama/qwen3-8b', messages });
      console.log(answer.choices[0].message.content);`;
    const tool = join(folder, 'your-tool');
    const inTest = `cd '${join(root, 'test')}' && exec '${process.execPath}' --input-type=module -e "${program}"`;
    await writeFile(tool, `#!/bin/sh\n${inTest}\n`, { mode: 0o755 });
    await writeFile(join(folder, 'ask.sh'), documentedBlock('docs/start/quickstart.md', 'openai'));
    const [command = '', ...args] = [...under, 'bash', 'ask.sh'];
    const env = { PATH: `${folder}:${process.env.PATH}` };
    const { stdout } = await promisify(execFile)(command, args, { cwd: folder, env });
    expect(stdout.trim()).toBe('Locally: Hello');
  });

  describe.skipIf(!hasBrowser())('in a browser', () => {
    const origin = (url: string): string => new URL(url).origin;
    const browser = useBrowser(
      () => ({ control: origin(started.quickstart.control_url), broker: origin(started.quickstart.base_url) }),
      network?.wrapped,
    );

    it('says wherever it speaks of two processes that one process runs both planes', async () => {
      const { email, password } = started.quickstart;
      const page = await browser.open('/');
      const sentence = page.getByText(/^Control and broker run in one process here, for evaluation\./);
      for (const path of ['/', '/verify', '/sign-in']) {
        await page.goto(path);
        await sentence.first().waitFor();
      }
      await signInBy(page, { email, password });
      await page.getByRole('button', { name: 'Account' }).waitFor();
      await page.goto('/playground');
      await page.getByRole('figure', { name: 'Who will learn what' }).locator(sentence).waitFor();
      await page.getByRole('region', { name: 'Verification' }).locator(sentence).waitFor();
    });

    it('the playground chooses its model, and shows its answer in the private flow', async () => {
      const { email, password } = started.quickstart;
      const page = await browser.open('/playground');
      await page.getByLabel('Email').fill(email);
      await page.getByLabel('Password').fill(password);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await expect.poll(() => page.getByLabel('Model', { exact: true }).inputValue()).toContain('ollama/qwen3-8b');
      await page.getByLabel('Continue with simulated evidence', { exact: false }).check();
      await page.getByLabel('Your question').fill('Hello');
      await page.getByRole('button', { name: 'Send' }).click();
      await page.getByText('Locally: Hello').waitFor();
      const facts = page.getByLabel('About this answer');
      for (const part of ['ollama', 'Private', '5 in, 3 out', '$0.00'])
        await expect.poll(() => facts.textContent()).toContain(part);
    });
  });
});

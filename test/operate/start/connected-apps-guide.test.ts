import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePort } from '../../kit/free-port.ts';
import { Browser } from '../../people/connect/browser.ts';
import { allowed, Consent } from '../../people/connect/flow.ts';
import { signIn } from '../../people/connect/people.ts';
import { endAll, npmStart, root, type StartedByNpm } from './npm-start.ts';

const run = promisify(execFile);
let folder: string;
let started: StartedByNpm;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sotto-connect-guide-'));
  const ports = { CONTROL_PORT: String(await freePort()), CONFIDENTIAL_PORT: String(await freePort()) };
  started = await npmStart(folder, { ...ports, CONNECTED_APPS: 'on' });
});
afterAll(async () => {
  await endAll();
  await rm(folder, { recursive: true, force: true });
});

it('docs/guides/connected-apps.md: its commands register an app, connect a person, and use and end that', async () => {
  const guide = await readFile(join(root, 'docs/guides/connected-apps.md'), 'utf8');
  const blocks = [...guide.matchAll(/<!-- test: \w+ -->\n```sh\n(.*?)```/gs)].map(([, script]) => script);
  expect(blocks).toHaveLength(4);
  const { control_url, base_url, email, password } = started.quickstart;
  const variables = { CONTROL_URL: control_url, BASE_URL: base_url, EMAIL: email, PASSWORD: password };
  const bash = async (script: string, more: Record<string, string> = {}): Promise<string> => {
    const env = { PATH: process.env.PATH ?? '', ...variables, ...more };
    return (await run('bash', ['-euc', script], { cwd: folder, env })).stdout;
  };
  const kept = 'declare -p CLIENT_ID CLIENT_SECRET VERIFIER > kept';
  const asked = await bash([...blocks.slice(0, 2), kept].join('\n'));
  expect(asked).toContain(`"issuer":"${control_url}/connect"`);

  const person = { email, password, accountId: '', browser: new Browser() };
  const service = { controlUrl: control_url };
  await signIn(service, person);
  const page = new Consent(
    service,
    await person.browser.follow(/http\S+\/authorize\?\S+/.exec(asked.split('}').at(-1) ?? '')?.[0] ?? ''),
  );
  const callback = new URL(await page.answer(person, allowed()));
  expect(callback.searchParams.get('state')).toBe('xyz');
  expect(callback.searchParams.get('iss')).toBe(`${control_url}/connect`);

  const code = callback.searchParams.get('code') ?? '';
  const used = await bash(['. ./kept', ...blocks.slice(2), 'echo "end:$REFRESH_TOKEN"'].join('\n'), { CODE: code });
  expect(used).toContain('"object":"chat.completion"');
  expect(used).toMatch(/\{"data":\[.*\],"next_cursor":null\}/);
  expect(used).toMatch(/end:[\w-]{43}$/m);
  const grants = await person.browser.ask('GET', `${control_url}/connect/grants`);
  expect(await grants.json()).toMatchObject({ data: [{ app: { name: 'Notebook' }, ended_at: expect.any(String) }] });
});

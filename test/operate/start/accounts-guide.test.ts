import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePort } from '../../kit/free-port.ts';
import { until } from '../../kit/service.ts';
import { totpCode } from '../../people/accounts/totp.ts';
import { endAll, npmStart, root, type StartedByNpm } from './npm-start.ts';

const run = promisify(execFile);
let folder: string;
let started: StartedByNpm;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sotto-accounts-guide-'));
  const ports = { CONTROL_PORT: String(await freePort()), CONFIDENTIAL_PORT: String(await freePort()) };
  started = await npmStart(folder, ports);
});
afterAll(async () => {
  await endAll();
  await rm(folder, { recursive: true, force: true });
});

/** Each block runs in the shell of those before it, whose cookies lie in a file. */
it('docs/guides/accounts.md: its commands sign up, verify, reset, enrol an app and end sessions', async () => {
  const guide = await readFile(join(root, 'docs/guides/accounts.md'), 'utf8');
  const blocks = Object.fromEntries(
    [...guide.matchAll(/<!-- test: ([\w-]+) -->\n```sh\n(.*?)```/gs)].map(([, name, script]) => [name, script]),
  );
  expect(Object.keys(blocks)).toEqual(['sign-up', 'verify', 'reset', 'second-factor', 'sessions']);
  const cookies = join(folder, 'cookies');
  await writeFile(cookies, '');
  const stand = { token: '', code: '' };
  const execute = async (script: string | undefined): Promise<string> => {
    const helpers = `mail_token() { echo '${stand.token}'; }; authenticator() { echo '${stand.code}'; }; mktemp() { echo '${cookies}'; }; ANN='${cookies}'`;
    const { stdout } = await run('bash', ['-euc', `${helpers}\n${script ?? 'false'}`], {
      cwd: folder,
      env: { PATH: process.env.PATH ?? '', CONTROL_URL: started.quickstart.control_url },
    });
    return stdout;
  };
  const printed = async (path: string): Promise<string> => {
    let token = '';
    await until(async () => {
      token = started.output().split(`${path}#token=`).at(-1)?.split('\n')[0] ?? '';
      return started.output().includes(`${path}#token=`);
    }, 'the mail is printed');
    return token;
  };

  expect(await execute(blocks['sign-up'])).toMatch(/"mail":"printed".*"emailVerified":false/s);
  stand.token = await printed('/verify-email');
  expect(await execute(blocks.verify)).toMatch(/"status":true.*"emailVerified":true/s);
  const [ask = '', after = ''] = blocks.reset?.split(/(?=TOKEN=)/) ?? [];
  expect(await execute(ask)).toContain('"status":true');
  stand.token = await printed('/reset-password');
  expect(await execute(after)).toMatch(/\{"status":true\}.*"email":"ann@people\.example"/s);
  const [enable = '', verify = ''] = blocks['second-factor']?.split(/(?=^curl -s -b "\$ANN" -c)/m) ?? [];
  const uri = (await execute(`${enable}\necho "$URI"`)).trim();
  expect(uri).toMatch(/^otpauth:\/\/totp\/Sotto/);
  stand.code = totpCode(uri, Date.now());
  expect(await execute(`URI='${uri}'\n${verify}`)).toContain('"twoFactorEnabled":');
  expect(await execute(blocks.sessions)).toMatch(/^\[\{.*\}\]\{"status":true\}$/s);
});

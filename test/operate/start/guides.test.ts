import { execFile } from 'node:child_process';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, it } from 'vitest';
import { totpCode } from '../../kit/authenticator.ts';
import { Browser } from '../../kit/browser.ts';
import { allowed, Consent, signIn } from '../../kit/connected-apps.ts';
import { documentedBlock } from '../../kit/documented.ts';
import { useFolder } from '../../kit/folder.ts';
import { endAll, freePorts, npmStart, root, type StartedByNpm } from '../../kit/npm-start.ts';
import { until } from '../../kit/service.ts';

const run = promisify(execFile);
// Postgres does not run as root, so it needs access through this folder.
const folders = useFolder('guides', 0o755);
afterAll(endAll);

/** Starts a service for one guide. It begins without accounts. */
async function startFor(environment: Record<string, string> = {}): Promise<{ started: StartedByNpm; folder: string }> {
  const folder = await mkdtemp(join(folders, 'guide-'));
  return { started: await npmStart(folder, { ...(await freePorts()), ...environment }), folder };
}

/** Each block continues the session of the blocks before it, because their cookies are kept in a file. */
it('docs/use/accounts-and-workspaces.md: its commands sign up, verify, reset, enrol an app and end sessions', async () => {
  const { started, folder } = await startFor();
  const names = ['sign-up', 'verify', 'reset', 'second-factor', 'sessions'];
  const blocks = Object.fromEntries(
    names.map((name) => [name, documentedBlock('docs/use/accounts-and-workspaces.md', name)]),
  );
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

it('docs/use/connected-apps.md: its commands register an app, connect a person, and use and end that', async () => {
  const { started, folder } = await startFor({ CONNECTED_APPS: 'on' });
  const guide = await readFile(join(root, 'docs/use/connected-apps.md'), 'utf8');
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
  expect(used).toMatch(/\{"data":\[.*\],"next_cursor":null,"kept_from":null\}/);
  expect(used).toMatch(/end:[\w-]{43}$/m);
  const grants = await person.browser.ask('GET', `${control_url}/connect/grants`);
  expect(await grants.json()).toMatchObject({ data: [{ app: { name: 'Notebook' }, ended_at: expect.any(String) }] });
});

it('docs/use/accounts-and-workspaces.md and budgets.md: their commands make a workspace, limit it, and bring somebody into it', async () => {
  const { started, folder } = await startFor();
  const blocks = [
    documentedBlock('docs/use/accounts-and-workspaces.md', 'make'),
    documentedBlock('docs/use/budgets.md', 'budget'),
    documentedBlock('docs/use/budgets.md', 'tag'),
    documentedBlock('docs/use/budgets.md', 'settings'),
    documentedBlock('docs/use/budgets.md', 'webhook'),
    documentedBlock('docs/use/accounts-and-workspaces.md', 'policy'),
    documentedBlock('docs/use/accounts-and-workspaces.md', 'invite'),
  ];
  const { control_url, email, password } = started.quickstart;
  const { stdout } = await run('bash', ['-euc', blocks.join('\n')], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', CONTROL_URL: control_url, EMAIL: email, PASSWORD: password },
  });
  expect(stdout).toMatch(/"key":"sotto_inf_/);
  expect(stdout).toContain('"name":"Research and play","is_default":false,"role":"owner"');
  expect(stdout).toContain('{"data":[],"next_cursor":null,"kept_from":null}');
  expect(stdout).toMatch(/"data":\[\{[^}]*"scope":"workspace"[^}]*"limit_usd":50/);
  expect(stdout).toMatch(/"scope":"tag"[^}]*"tag":"R&D"[^}]*"limit_usd":100/);
  expect(stdout).toContain('{"alert_percents":[50,80,100],"member_budget_usd":20}');
  expect(stdout).toMatch(/"url":"https:\/\/hooks\.example\.com\/sotto"[^}]*"secret":"whsec_/);
  expect(stdout).toMatch(/"outcome":"\w+"/);
  expect(stdout).toContain('"max_key_limit_usd":20');
  expect(stdout).toMatch(/"name":"notebook"[^}]*"credit_limit_usd":20,[^}]*"openai_compatible":false/);
  expect(stdout).toContain('"workspace":"Research and play","role":"member"');
  expect(stdout).toMatch(
    /"email":"ann@people\.example","role":"member","by_group":false,"joined_at":"[^"]+","disabled":false\}\],"next_cursor":null\}$/,
  );
  await until(() => started.output().includes('mail to ann@people.example'), 'the mail is printed');
  expect(started.output()).toMatch(/invites you to the workspace "Research and play" as member\..*\nsotto_inv_/s);
});

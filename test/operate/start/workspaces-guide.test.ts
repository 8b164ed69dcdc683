import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePort } from '../../kit/free-port.ts';
import { until } from '../../kit/service.ts';
import { endAll, npmStart, root, type StartedByNpm } from './npm-start.ts';

const run = promisify(execFile);
let folder: string;
let started: StartedByNpm;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sotto-workspaces-guide-'));
  const ports = { CONTROL_PORT: String(await freePort()), CONFIDENTIAL_PORT: String(await freePort()) };
  started = await npmStart(folder, ports);
});
afterAll(async () => {
  await endAll();
  await rm(folder, { recursive: true, force: true });
});

it('docs/guides/workspaces.md: its commands make a workspace, and bring somebody into it', async () => {
  const guide = await readFile(join(root, 'docs/guides/workspaces.md'), 'utf8');
  const blocks = [...guide.matchAll(/<!-- test: \w+ -->\n```sh\n(.*?)```/gs)].map(([, script]) => script);
  expect(blocks).toHaveLength(2);
  const { control_url, email, password } = started.quickstart;
  const { stdout } = await run('bash', ['-euc', blocks.join('\n')], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', CONTROL_URL: control_url, EMAIL: email, PASSWORD: password },
  });
  expect(stdout).toMatch(/"key":"sotto_inf_/);
  expect(stdout).toContain('"name":"Research and play","is_default":false,"role":"owner"');
  expect(stdout).toContain('{"data":[],"next_cursor":null}');
  expect(stdout).toContain('"workspace":"Research and play","role":"member"');
  expect(stdout).toMatch(/"email":"ann@people\.example","role":"member","joined_at":"[^"]+"\}\]\}$/);
  await until(() => started.output().includes('mail to ann@people.example'), 'the mail is printed');
  expect(started.output()).toMatch(/invites you to the workspace "Research and play" as member\..*\nsotto_inv_/s);
});

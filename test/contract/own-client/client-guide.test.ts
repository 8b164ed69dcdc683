import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { clientErrors } from '@sotto/client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePort } from '../../kit/free-port.ts';
import { endAll, npmStart, root, type StartedByNpm } from '../../operate/start/npm-start.ts';

const run = promisify(execFile);
let guide: string;
let folder: string;
let started: StartedByNpm;
let proxyPort: string;
beforeAll(async () => {
  guide = await readFile(join(root, 'docs/guides/client.md'), 'utf8');
  folder = await mkdtemp(join(tmpdir(), 'sotto-client-guide-'));
  proxyPort = String(await freePort());
  const main = fileURLToPath(new URL('../../../packages/client/src/command/main.ts', import.meta.url));
  await writeFile(
    join(folder, 'sotto'),
    `#!/bin/sh\nexec '${process.execPath}' --conditions=@sotto/source '${main}' "$@"\n`,
  );
  await chmod(join(folder, 'sotto'), 0o755);
  const ports = { CONTROL_PORT: String(await freePort()), CONFIDENTIAL_PORT: String(await freePort()) };
  started = await npmStart(folder, ports);
});
afterAll(async () => {
  await endAll();
  await rm(folder, { recursive: true, force: true });
});

/** A block of the guide, as it stands but for a port that may be taken. */
async function shell(name: string): Promise<string> {
  const [, script] = new RegExp(`<!-- test: ${name} -->\\n\`\`\`sh\\n(.*?)\`\`\``, 's').exec(guide) ?? [];
  const { base_url, control_url, inference_key, management_key } = started.quickstart;
  const { stdout } = await run('bash', ['-euc', (script ?? 'exit 9').replaceAll('4999', proxyPort)], {
    cwd: folder,
    env: {
      PATH: `${folder}:${process.env.PATH ?? ''}`,
      BASE_URL: base_url,
      CONTROL_URL: control_url,
      INFERENCE_KEY: inference_key,
      MANAGEMENT_KEY: management_key,
    },
  });
  return stdout;
}

it('the proxy serves curl, streamed, with what `npm start` brings', async () => {
  expect(await shell('proxy')).toMatch(/data: \{.*"content".*data: \[DONE\]\n\n$/s);
});

it('a chat is answered', async () => {
  expect(await shell('chat')).toContain('Hello there');
});

it('what both cost adds up', async () => {
  expect(await shell('bill')).toMatch(/^[1-9]\d* charges, [\d.]+ USD: [1-9]\d* adds? up\n$/);
});

it('names codes that there are', () => {
  const named = [...guide.matchAll(/`(answer_lost|retry_refused)`/g)].map(([, code]) => code);
  expect(named.length).toBeGreaterThan(1);
  expect(named.filter((code) => !Object.hasOwn(clientErrors, code ?? ''))).toEqual([]);
});

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import {
  dstackChecks,
  gatewayChecks,
  keySetDigest,
  nvidiaChecks,
  providerChecks,
  providerReceiptChecks,
  receiptChecks,
  snpCurrencyChecks,
  snpReportChecks,
  statementBytes,
  statementPurposes,
  tdxCollateralChecks,
  tdxQuoteChecks,
} from '@sotto/attestation';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type StandInService, startStandIn } from './stand-in.ts';

const run = promisify(execFile);
const root = new URL('../../', import.meta.url);
let guide: string;
let folder: string;
let service: StandInService;
beforeAll(async () => {
  guide = await readFile(new URL('docs/guides/verify.md', root), 'utf8');
  folder = await mkdtemp(join(tmpdir(), 'sotto-guide-'));
  service = await startStandIn();
  const main = fileURLToPath(new URL('packages/client/src/command/main.ts', root));
  const command = `#!/bin/sh\nexec '${process.execPath}' --conditions=@sotto/source '${main}' "$@"\n`;
  await writeFile(join(folder, 'sotto'), command);
  await chmod(join(folder, 'sotto'), 0o755);
});
afterAll(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

const block = (name: string): string =>
  new RegExp(`<!-- test: ${name} -->\\n\`\`\`sh\\n(.*?)\`\`\``, 's').exec(guide)?.[1] ?? `no block named ${name}`;

const shell = (script: string): Promise<string> =>
  run('bash', ['-uc', script], {
    cwd: folder,
    env: { PATH: `${folder}:${process.env.PATH ?? ''}`, BASE_ORIGIN: service.baseOrigin },
  }).then(({ stdout }) => stdout);

it('names every check that a verifier makes', () => {
  const checks = [
    ...[dstackChecks, gatewayChecks, nvidiaChecks, providerChecks, providerReceiptChecks, receiptChecks].flat(),
    ...[snpCurrencyChecks, snpReportChecks, tdxCollateralChecks, tdxQuoteChecks].flat(),
  ];
  expect(checks.length).toBeGreaterThan(50);
  expect(checks.filter((check) => !guide.includes(`\`${check}\``))).toEqual([]);
});

it('shows a report with the command that it says', async () => {
  const out = await shell(`${block('report')}\necho "exit $?"`);
  expect(out).toContain('simulated.hardware');
  expect(out).toContain('"verdict": "untrusted"');
  expect(out).toContain('exit 1');
});

it('makes the statement by hand that the hardware signs', async (context) => {
  if (
    await run('jq', ['--version']).then(
      () => false,
      () => true,
    )
  )
    return context.skip('no jq');
  const out = await shell(`${block('document')}\n${block('statement')}\necho "$NONCE"`);
  const { key_set: keySet } = JSON.parse(await readFile(join(folder, 'evidence.json'), 'utf8')) as { key_set: unknown };
  const [hash, nonce = ''] = out.split('\n').map((line) => line.split(' ')[0]);
  const statement = statementBytes({
    keySetDigest: keySetDigest(keySet),
    nonce,
    origin: service.baseOrigin,
    purpose: statementPurposes.gateway,
  });
  expect(hash).toBe(createHash('sha256').update(statement).digest('hex'));
});

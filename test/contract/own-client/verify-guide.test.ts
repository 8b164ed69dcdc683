import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  dstackChecks,
  gatewayChecks,
  keySetDigest,
  measurementSchema,
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
import { TdxMachine } from '@sotto/attestation/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { documentedBlock } from '../../kit/documented.ts';
import { useFolder } from '../../kit/folder.ts';
import { installSotto } from '../../kit/run-sotto.ts';
import { json, type StandInService, startStandIn } from './stand-in.ts';

const run = promisify(execFile);
const folder = useFolder('guide');
let service: StandInService;
beforeAll(async () => {
  service = await startStandIn();
  installSotto(folder);
});
afterAll(async () => {
  await service.stop();
});

const block = (name: string): string => documentedBlock('docs/use/verifying.md', name);

const shell = (script: string): Promise<string> =>
  run('bash', ['-uc', script], {
    cwd: folder,
    env: {
      PATH: `${folder}:${process.env.PATH ?? ''}`,
      BASE_ORIGIN: service.baseOrigin,
      CONTROL_ORIGIN: new URL(service.controlUrl).origin,
      INFERENCE_KEY: 'sotto_inf_secret',
    },
  }).then(({ stdout }) => stdout);

it('names every check that a verifier makes', async () => {
  const list = await readFile(new URL('../../../docs/reference/attestation-checks.md', import.meta.url), 'utf8');
  const checks = [
    ...[dstackChecks, gatewayChecks, nvidiaChecks, providerChecks, providerReceiptChecks, receiptChecks].flat(),
    ...[snpCurrencyChecks, snpReportChecks, tdxCollateralChecks, tdxQuoteChecks].flat(),
  ];
  expect(checks.length).toBeGreaterThan(50);
  expect(checks.filter((check) => !list.includes(`\`${check}\``))).toEqual([]);
});

it('shows a report with the command that the guide names', async () => {
  const out = await shell(`${block('report')}\necho "exit $?"`);
  expect(out).toContain('simulated.hardware');
  expect(out).toContain('"verdict": "untrusted"');
  expect(out).toContain('exit 1');
});

it('shows the measurements of a machine in the form of a pin, once the rest of its provider is pinned', async () => {
  const machine = await TdxMachine.make();
  const routes = [{ provider: 'acme', privacy_class: 'e2ee' }];
  service.onControl(({ path }, response) => {
    const ticket = { ticket: 'ticket', expires_at: new Date(Date.now() + 300_000).toISOString() };
    const list = { data: [{ id: 'creator/model', provider_routes: routes }] };
    json(response, 200, path === '/v1/models' ? list : ticket);
  });
  service.onBroker(async ({ text }, response) => {
    const { nonce } = JSON.parse(text) as { nonce: string };
    const reportData = Uint8Array.from(Buffer.concat([Buffer.alloc(32, 7), Buffer.from(nonce, 'hex')]));
    const quote = Buffer.from(await machine.quote({ reportData })).toString('base64');
    json(response, 200, {
      version: 'sotto.provider.evidence.v1',
      ...{ provider: 'acme', model: 'creator/model', upstream_model: 'Vendor/Model-70B', privacy_class: 'e2ee', nonce },
      ...{ obtained_at: new Date().toISOString(), family: 'near' },
      evidence: {
        ...{ signing_algo: 'ed25519', signing_address: '07'.repeat(32) },
        machine: { tee_type: 'tdx', quote, collateral: await machine.collateral() },
      },
    });
  });
  const out = await shell(`${block('enclave')}\necho "exit $?"`);
  service.onControl(undefined);
  expect(out).toMatch(/passed +provider\.route\n/);
  const [, shown = ''] = /provider\.measurement +no measurements are pinned; the machine's are (\S+)\n/.exec(out) ?? [];
  expect(measurementSchema.safeParse(shown).error).toBeUndefined();
  expect(out).toContain('exit 1');
});

it('computes by hand the statement that the hardware signs', async (context) => {
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
    purpose: statementPurposes.client.hardware,
  });
  expect(hash).toBe(createHash('sha256').update(statement).digest('hex'));
});

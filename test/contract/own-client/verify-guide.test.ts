import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import type { Server } from 'node:http';
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
  reportDataOf,
  snpCurrencyChecks,
  snpReportChecks,
  statementBytes,
  statementPurposes,
  tdxCollateralChecks,
  tdxQuoteChecks,
} from '@sotto/attestation';
import { madeFirmware, madeInitrd, madeKernel, SnpMachine, TdxMachine, vectorJson } from '@sotto/attestation/testing';
import { readPins, releaseChecks } from '@sotto/client';
import { privateSigstore, simulatedEvidence, statementOf } from '@sotto/client/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
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
    ...[snpCurrencyChecks, snpReportChecks, tdxCollateralChecks, tdxQuoteChecks, releaseChecks].flat(),
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

describe('pins of an own build', () => {
  // Computed by sev-snp-measure 0.0.13 from the same files.
  const measurement =
    '060a12d1a334632a2bfe1cfb84ec66dcb1af899329c7aeea6f31c1948a291ba0663444cb490bd069dd9e8281aa6a3fe3';
  let machine: SnpMachine | undefined;
  const serve = async (shown: string): Promise<void> => {
    machine ??= await SnpMachine.make('milan');
    const made = machine;
    service.onEvidence(async (nonce) => {
      const document = await simulatedEvidence(nonce, service.stated());
      const statement = statementBytes({
        ...{ keySetDigest: keySetDigest(document.key_set), nonce, origin: service.baseOrigin },
        purpose: statementPurposes.client.hardware,
      });
      const evidence = await made.shown({
        measurement: Uint8Array.from(Buffer.from(shown, 'hex')),
        reportData: reportDataOf(statement),
      });
      return { ...document, evidence };
    });
  };
  beforeAll(async () => {
    await mkdir(join(folder, 'image'));
    await writeFile(join(folder, 'OVMF.fd'), madeFirmware());
    await writeFile(join(folder, 'image/kernel'), madeKernel());
    await writeFile(join(folder, 'image/initrd'), madeInitrd());
    await writeFile(join(folder, 'image/cmdline'), `root=/dev/mapper/root dstack.rootfs_hash=${'ab'.repeat(32)}`);
  });
  afterAll(() => service.onEvidence(undefined));

  it('accept a machine that runs it, and no other', async () => {
    await serve(measurement);
    expect(await shell(`${block('measure')}\necho "exit $?"`)).toMatch(/passed +gateway\.measurement\n/);
    const pins = JSON.parse(await readFile(join(folder, 'pins.json'), 'utf8')) as unknown;
    expect(pins).toMatchObject({ gateway: { sev_snp: { measurements: [{ name: '2026.11', measurement }] } } });
    await serve('ab'.repeat(48));
    expect(await shell(`${block('measure')}\necho "exit $?"`)).toMatch(
      /FAILED +gateway\.measurement +the machine is none/,
    );
  });

  it('are compared with recorded evidence, without a connection', async () => {
    await serve(measurement);
    await shell(block('measure').split('\n')[0] ?? '');
    const script = `${block('document')}\n${block('verify-recorded')}\necho "exit $?"`;
    const out = await shell(script);
    for (const name of ['gateway.measurement', 'gateway.report_data'])
      expect(out).toMatch(new RegExp(`passed +${name}\n`));
    expect(out).toMatch(/skipped +gateway\.tls_key/);
    expect(out).toContain('Vendor               AMD\n');
    expect(out).toMatch(/^Recorded evidence, checked as of \d{4}-\S+Z; no service was contacted\.\n/);
    expect(out).toContain('Binding              not compared: a file has no connection\n');
    expect(out).not.toContain('Verified at');
    expect(await shell(script.replace('--nonce "$NONCE"', `--nonce ${'ab'.repeat(32)}`))).toMatch(
      /FAILED +gateway\.report_data/,
    );
  });

  it('come from a release in Sigstore’s log, or in an operator’s own', async () => {
    const { PrivateSigstore } = await privateSigstore();
    const now = new Date(Date.now() + 60_000);
    const listen = (server: Server) => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const instance = await PrivateSigstore.start(now, listen);
    const machine = { name: 'small', measurement, host_data: '00'.repeat(32) };
    const statement = statementOf(new Date().toISOString(), { machines: { sev_snp: [machine] } });
    const [, identity = ''] = /--identity (\S+)/.exec(block('release')) ?? [];
    const [, issuer = ''] = /--issuer (\S+)/.exec(block('release')) ?? [];
    const bundle = await instance.sign(statement, { identity, issuer });
    await writeFile(join(folder, 'release.sigstore.json'), JSON.stringify(bundle));
    await writeFile(join(folder, 'root.json'), JSON.stringify(instance.trustedRoot));
    await serve(measurement);
    await rm(join(folder, 'pins.json'), { force: true });
    // The guide's reader has Sigstore's public instance.
    const commands = block('release').replace('--pins pins.json', '--pins pins.json --trusted-root root.json');
    const out = await shell(`${commands}\necho "exit $?"`);
    expect(out).toContain(`release 0.2.0, commit ${'ab'.repeat(20)}, logged at `);
    expect(out).toContain(`signed by ${identity} (${issuer} vouched for it)`);
    expect(out).toMatch(/passed +gateway\.measurement\n/);
    expect(out).toMatch(/Newest known release 0\.2\.0, logged at \S+ \(less than a day ago\)/);
    // Made-up hardware: no machine of AMD signed the evidence, so no release is claimed for it.
    expect(out).toMatch(/Release +not known/);

    await rm(join(folder, 'pins.json'));
    await writeFile(join(folder, 'statement.json'), statement);
    const sign = `LOG_KEY=$(sotto release key log.example.com --out release.key)
      sotto release sign statement.json --key release.key --log log > release.json`;
    await shell(`${sign}\n${block('own-log')}`);
    expect(readPins(await readFile(join(folder, 'pins.json'), 'utf8'))).toMatchObject({
      gateway: { sev_snp: { measurements: [{ measurement, release: '0.2.0' }] } },
      logs: [{ checkpoint: expect.stringMatching(/^log\.example\.com\n1\n/) }],
    });
  });

  it('are compared with what a machine of the build gave', async () => {
    await serve(measurement);
    const said = `2>said && cat said; echo "exit $?"`;
    expect(await shell(`${block('recorded').trimEnd()} ${said}`)).toContain(
      'The recording agrees: measurement, host_data.\n',
    );
    await serve('ab'.repeat(48));
    await shell(`${block('recorded').trimEnd()} 2>said || true`);
    expect(await readFile(join(folder, 'said'), 'utf8')).toContain(
      `measurement differs: the recording has ${'ab'.repeat(48)}.`,
    );
  });

  it('are read from a recorded dstack machine, with the compose file of the release', async () => {
    const compose = '{"manifest_version":2}';
    await writeFile(join(folder, 'app-compose.json'), compose);
    const recorded = vectorJson<object>('dstack/tdx-lite-getquote.json');
    await writeFile(join(folder, 'evidence.json'), JSON.stringify(recorded));
    await shell(block('dstack-pins'));
    const pins = readPins(await readFile(join(folder, 'pins.json'), 'utf8'));
    const compose_hash = createHash('sha256').update(compose).digest('hex');
    expect(pins).toMatchObject({ gateway: { tdx: { measurements: [{ compose_hash }] } } });
  });
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

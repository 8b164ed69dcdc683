import { describe, expect, it } from 'vitest';
import { type DstackMachine, dstackLog } from '../testing/dstack-log.ts';
import { failed, reasonOf } from '../testing/outcomes.ts';
import {
  boot,
  documentOf,
  keys,
  type Made,
  pinned,
  snp,
  snpPinned,
  told,
  untrustedBy,
  verify,
  verifyOf,
} from '../testing/provider-document.ts';
import { type EnclaveName, enclaveNames, enclaveOf, nonceBytes } from '../testing/provider-enclaves.ts';

const hash = 'cc'.repeat(32);

describe('the machine', () => {
  const name = 'near, with its TLS key';
  it('is untrusted without pins, and the reason shows what could be pinned', async () => {
    const { verdict, checks } = await verifyOf(name, {}, { pins: undefined });
    expect(verdict).toBe('untrusted');
    expect(failed(checks)).toEqual([]);
    const [, shown = ''] = /the machine's are (.*)$/.exec(reasonOf(checks, 'provider.measurement')) ?? [];
    const pin = shown.split(',').filter((pair) => /^(mr_td|rtmr\d)=/.test(pair));
    expect((await verifyOf(name, {}, { pins: { measurements: [pin.join(',')] } })).verdict).toBe(
      'cryptographically_checked',
    );
  });

  it.each<[string, Made, string]>([
    ['is none that is pinned', { machine: { mrTd: new Uint8Array(48).fill(1) } }, 'provider.measurement'],
    // RTMR0 covers what the host gives the firmware, such as ACPI tables, which the kernel executes.
    ...[0, 1, 2, 3].map((at): [string, Made, string] => [
      `has another RTMR${at}`,
      { machine: { rtmrs: [0, 1, 2, 3].map((each) => new Uint8Array(48).fill(each === at ? 7 : 0)) } },
      'provider.measurement',
    ]),
    ['can be debugged', { machine: { tdAttributes: 1n } }, 'tdx.td_attributes'],
    ['was revoked', { collateral: { pckCrl: { revoked: [7] } } }, 'tdx.pck_crl'],
    ['has an event log of another machine', { shown: { event_log: [] } }, 'dstack.identity'],
    ['has a quote that is none', { shown: { quote: '!' } }, 'tdx.format'],
    ['has old collateral', { collateral: { tcbInfo: { tcbEvaluationDataNumber: 17 } } }, 'tdx.evaluation_number'],
  ])('%s: untrusted', async (_, made, check) => {
    const { verdict, checks, isCurrent } = await verifyOf(name, made);
    expect(failed(checks)).toContain(check);
    expect({ verdict, isCurrent }).toEqual({ verdict: 'untrusted', isCurrent: false });
  });

  const expired = { pckCrl: { from: '2025-01-01T00:00:00Z', until: '2025-02-01T00:00:00Z' } };
  it.each<[string, Made]>([
    ['no collateral', { shown: { collateral: undefined } }],
    ['collateral that has expired', { collateral: expired }],
  ])('with %s is none to send content to', async (_, made) => {
    const result = await verifyOf(name, { ...made, privacyClass: 'tee' }, { privacyClass: 'tee' });
    expect(failed(result.checks)).toEqual([]);
    expect(result).toMatchObject({ verdict: 'policy_matched', isCurrent: false });
  });
});

describe('a dstack machine whose host may know its keys', () => {
  const software = { compose: hash, osImage: 'dd'.repeat(32) };
  const own = { appId: 'aa'.repeat(20), keyProvider: { name: 'kms', id: `3059${'ab'.repeat(89)}` } };
  const pin = [
    `${boot},compose_hash=${hash},os_image_hash=${software.osImage}`,
    `app_id=${own.appId},key_provider=kms:${own.keyProvider.id}`,
  ].join(',');

  /** The genuine, pinned software on a machine of that identity, with a key that its key provider gave it. */
  const verifyOn = async (name: EnclaveName, identity: DstackMachine) => {
    const { log, rtmr3 } = dstackLog({ ...software, ...identity });
    const rtmrs = [...[0, 1, 2].map(() => new Uint8Array(48)), rtmr3];
    const reportData = enclaveOf(name).sign(keys, nonceBytes);
    const made = { machine: { rtmrs, reportData }, shown: { event_log: log } };
    return verifyOf(name, made, { pins: { measurements: [pin] } });
  };

  const families = enclaveNames.filter((name) => /^(?:near|phala|venice)/.test(name));
  it.each(families)('%s: is accepted as it was pinned', async (name) => {
    expect((await verifyOn(name, own)).verdict).toBe('cryptographically_checked');
  });

  it.each<[string, Partial<DstackMachine>]>([
    ['another KMS', { keyProvider: { name: 'kms', id: `3059${'cd'.repeat(89)}` } }],
    ['another kind of key provider', { keyProvider: { name: 'local-sgx', id: own.keyProvider.id } }],
    ['no key provider', { keyProvider: undefined }],
    // The KMS derives keys from the app id. Whoever registered it may have more software of their own accepted for it.
    ['another app id', { appId: 'ee'.repeat(20) }],
  ])('with %s it is untrusted, in every family', async (_, changed) => {
    for (const name of families) {
      expect(told(await verifyOn(name, { ...own, ...changed }))).toMatchObject(untrustedBy('provider.measurement'));
    }
  });
});

describe('pinned processors', () => {
  const name = 'near, with its TLS key';
  const ppid = 'ab'.repeat(16);

  it('refuse another one, and the reason shows what could be pinned', async () => {
    const under = (platforms: string[]) => verifyOf(name, {}, { pins: { measurements: [pinned], platforms } });
    const refused = await under([ppid]);
    expect(told(refused)).toMatchObject(untrustedBy('provider.platform'));
    const [own = ''] = /[0-9a-f]{32}$/.exec(reasonOf(refused.checks, 'provider.platform')) ?? [];
    expect((await under([ppid, own])).verdict).toBe('cryptographically_checked');
  });

  it('refuse another SEV-SNP chip', async () => {
    const machine = await snp.shown({ reportData: enclaveOf('tinfoil').sign(keys, nonceBytes) });
    const document = { ...(await documentOf('tinfoil')), evidence: { machine } };
    const under = (platforms: string[]) =>
      verify('tinfoil', document, { pins: { measurements: [snpPinned], platforms } });
    const refused = await under([ppid]);
    expect(told(refused)).toMatchObject(untrustedBy('provider.platform'));
    const [own = ''] = /[0-9a-f]{128}$/.exec(reasonOf(refused.checks, 'provider.platform')) ?? [];
    expect((await under([own])).verdict).toBe('policy_matched');
  });
});

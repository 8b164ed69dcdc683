import { describe, expect, it } from 'vitest';
import { concatBytes, fromHex, toHex } from '../bytes.ts';
import { amdRoots, snpProducts } from '../pinned-roots.ts';
import { Issuer } from '../testing/issuer.ts';
import { failed, notMade, reasonOf } from '../testing/outcomes.ts';
import { intermediateSerial, SnpMachine, type SnpSettings } from '../testing/snp-machine.ts';
import { flipped, vectorBytes, vectorCertificate, vectorText } from '../testing/vectors.ts';
import { type SnpEvidence, type SnpPolicy, verifySnpUnder } from './verify-snp.ts';

const snp = (name: string) => vectorCertificate(`snp/${name}`);
const real = (report: string, key: string, intermediate: string): SnpEvidence => ({
  report: vectorBytes(`snp/${report}`),
  endorsementKey: snp(key),
  intermediate: snp(intermediate),
});
const verifyReal = (evidence: SnpEvidence, now = '2026-03-01T00:00:00Z', policy: SnpPolicy = {}) =>
  verifySnpUnder(amdRoots, evidence, { now: new Date(now) }, policy);

/** The recordings do not include a revocation list, and without a policy there is no minimum. */
const unmadeByDefault = ['snp.revocation', 'snp.revocation_date', 'snp.minimum_tcb'];

const milan = () => real('ms_milan_report.bin', 'ms_milan_vcek.pem', 'ms_milan_ask.pem');
const milanV2 = () => real('ar_milan_v2_report.bin', 'ar_milan_v2_vcek.der', 'ar_milan_ask.der');
const genoa = () => real('ms_genoa_report.bin', 'ms_genoa_vcek.pem', 'ms_genoa_ask.pem');
const genoaV5 = () => real('ar_genoa_v5_report.bin', 'ar_genoa_v5_vcek.der', 'ar_genoa_ask.der');
const turin = () => real('ms_turin_report.bin', 'ms_turin_vcek.pem', 'ms_turin_ask.pem');
const vlek = () => real('ar_milan_vlek_report.bin', 'ar_milan_vlek.der', 'ar_milan_asvk.der');
const virtee = (): SnpEvidence => ({
  report: fromHex(vectorText('snp/virtee_milan_report.hex').trim(), 'the report'),
  endorsementKey: snp('virtee_milan_vcek.der'),
  intermediate: snp('ar_milan_ask.der'),
});
/** dstack packs its report with other data: the report follows two bytes of version and two of length. */
const dstack = (): SnpEvidence => ({
  report: vectorBytes('dstack/sev_snp_attestation.bin').slice(4, 4 + 1184),
  endorsementKey: vectorCertificate('dstack/sev_snp_vcek.pem'),
  intermediate: vectorCertificate('dstack/sev_snp_ask.pem'),
});

describe('real SEV-SNP evidence that must pass', () => {
  it.each([
    ['Milan v3', milan(), 'milan', '2026-03-01T00:00:00Z'],
    ['Milan v2', milanV2(), 'milan', '2026-03-01T00:00:00Z'],
    ['Milan, of virtee', virtee(), 'milan', '2026-03-01T00:00:00Z'],
    ['Milan, of dstack', dstack(), 'milan', '2026-11-21T00:00:00Z'],
    ['Genoa v3', genoa(), 'genoa', '2026-03-01T00:00:00Z'],
    ['Genoa v5', genoaV5(), 'genoa', '2026-03-01T00:00:00Z'],
    ['Turin v5', turin(), 'turin', '2026-03-01T00:00:00Z'],
  ])('%s', async (_, evidence, product, now) => {
    const result = await verifyReal(evidence, now);
    expect(failed(result.checks)).toEqual([]);
    expect(notMade(result.checks)).toEqual(unmadeByDefault);
    expect(result.product).toBe(product);
  });

  it('a hoster’s key, if the policy accepts it and the reported privilege level', async () => {
    const policy: SnpPolicy = { signers: ['vlek'], vmpl: 1 };
    expect(failed((await verifyReal(vlek(), '2025-06-01T00:00:00Z', policy)).checks)).toEqual([]);
    expect(failed((await verifyReal(vlek(), '2025-06-01T00:00:00Z')).checks)).toEqual(['snp.vmpl', 'snp.signer']);
    expect(failed((await verifyReal(vlek(), '2026-03-01T00:00:00Z', policy)).checks)).toEqual(['snp.chain']);
    expect(failed((await verifyReal(milan(), undefined, policy)).checks)).toEqual(['snp.vmpl', 'snp.signer']);
  });

  it('reads the machine’s identity', async () => {
    const { report, tcb } = await verifyReal(dstack(), '2026-11-21T00:00:00Z');
    expect(new TextDecoder().decode(report?.reportData.subarray(0, 24))).toBe('attest-test-fixture-2026');
    expect(toHex(report?.hostData ?? new Uint8Array())).toMatch(/^783f0057/);
    expect(tcb).toEqual({ fmc: undefined, bootloader: 4, tee: 0, snp: 23, microcode: 213 });
  });
});

describe('real SEV-SNP evidence that must not pass', () => {
  it.each([
    [
      'a key that no intermediate signed, old',
      { ...milanV2(), endorsementKey: snp('ar_milan_v2_vcek_invalid_legacy.der') },
      ['snp.chain'],
    ],
    [
      'a key that no intermediate signed, new',
      { ...milanV2(), endorsementKey: snp('ar_milan_v2_vcek_invalid_new.der') },
      ['snp.chain'],
    ],
    [
      'a machine that can be debugged',
      real('gosev_milan_debugpolicy_report.bin', 'gosev_milan_vcek.der', 'ar_milan_ask.der'),
      ['snp.guest_policy'],
    ],
    [
      'a Milan report with a Genoa key',
      { ...milan(), ...{ endorsementKey: snp('ms_genoa_vcek.pem'), intermediate: snp('ms_genoa_ask.pem') } },
      ['snp.signature', 'snp.product', 'snp.tcb_binding', 'snp.chip_binding'],
    ],
    [
      'a Turin report with a Milan key',
      { ...milan(), report: turin().report },
      ['snp.signature', 'snp.product', 'snp.tcb_binding', 'snp.chip_binding'],
    ],
    [
      'another chip’s key of the same line',
      { ...milan(), endorsementKey: virtee().endorsementKey },
      ['snp.signature', 'snp.tcb_binding', 'snp.chip_binding'],
    ],
    ['a Milan key with Genoa’s intermediate', { ...milan(), intermediate: snp('ms_genoa_ask.pem') }, ['snp.chain']],
    [
      'a chip’s key with the hosters’ intermediate',
      { ...milan(), intermediate: snp('ar_milan_asvk.der') },
      ['snp.chain'],
    ],
    ['the root in the place of the intermediate', { ...milan(), intermediate: snp('ar_milan_ark.der') }, ['snp.chain']],
    [
      'the intermediate in the place of the key',
      { ...milan(), endorsementKey: snp('ms_milan_ask.pem') },
      ['snp.chain'],
    ],
    ['an Intel quote', { ...milan(), report: vectorBytes('tdx/dcapqvl_tdx_quote_v4.bin') }, ['snp.format']],
    [
      'the first bytes of an Intel quote',
      { ...milan(), report: vectorBytes('tdx/dcapqvl_tdx_quote_v4.bin').slice(0, 1184) },
      ['snp.format'],
    ],
    [
      'a report with a byte more',
      { ...milan(), report: concatBytes(milan().report, Uint8Array.of(0)) },
      ['snp.format'],
    ],
    ['a report with a byte less', { ...milan(), report: milan().report.slice(0, -1) }, ['snp.format']],
    [
      'garbage for certificates',
      { ...milan(), endorsementKey: new Uint8Array(64), intermediate: new Uint8Array() },
      ['snp.chain'],
    ],
    [
      'texts for bytes',
      { report: 'report', endorsementKey: 'key', intermediate: 7 } as unknown as SnpEvidence,
      ['snp.format', 'snp.chain'],
    ],
  ])('%s', async (_, evidence, expected) => {
    expect(
      failed(
        (await verifyReal(evidence, evidence.endorsementKey.length === 1360 ? '2024-06-01T00:00:00Z' : undefined))
          .checks,
      ),
    ).toEqual(expected);
  });

  it('before and after its certificates', async () => {
    for (const now of ['2026-02-04T00:00:00Z', '2033-02-06T00:00:00Z', 'no time']) {
      expect(failed((await verifyReal(milan(), now)).checks)).toEqual(['snp.chain']);
    }
  });

  it('pins AMD’s roots by the keys of the published certificates', () => {
    for (const [index, product] of snpProducts.entries()) {
      const others = snpProducts.filter((_, other) => other !== index);
      expect(toHex(snp(`ar_${product}_ark.der`))).toContain(toHex(amdRoots[product].spki));
      for (const other of others)
        expect(toHex(snp(`ar_${other}_ark.der`))).not.toContain(toHex(amdRoots[product].spki));
    }
  });
});

describe('a platform made for the test', () => {
  const time = { now: new Date('2026-01-15T00:00:00Z') };
  const minimumTcb = {
    milan: { bootloader: 4, snp: 24, microcode: 219 },
    genoa: { bootloader: 7, snp: 14, microcode: 72 },
    turin: { fmc: 1, snp: 4 },
  };

  it.each(snpProducts)('passes every check: %s', async (product) => {
    const machine = await SnpMachine.make(product);
    const { checks } = await verifySnpUnder(machine.anchors, await machine.evidence(), time, { minimumTcb });
    expect(failed(checks)).toEqual([]);
    expect(notMade(checks)).toEqual([]);
  });

  it('is refused under the roots of AMD', async () => {
    const machine = await SnpMachine.make('milan');
    expect(failed((await verifySnpUnder(amdRoots, await machine.evidence(), time, {})).checks)).toEqual(['snp.chain']);
  });

  it.each<[string, SnpSettings, string]>([
    ['debug', { policy: 0xb_0000n }, 'snp.guest_policy'],
    ['migration agent', { policy: 0x7_0000n }, 'snp.guest_policy'],
    ['the bit that is always one', { policy: 0x1_0000n }, 'snp.guest_policy'],
    ['a reserved bit', { policy: 0x403_0000n }, 'snp.guest_policy'],
    ['another privilege level', { vmpl: 1 }, 'snp.vmpl'],
    ['a hoster’s key said to have signed', { signerInfo: 0b100 }, 'snp.signer'],
    ['no key said to have signed', { signerInfo: 0b11100 }, 'snp.signer'],
    ['a masked chip key', { signerInfo: 0b10 }, 'snp.signer'],
    ['reserved signer bits', { signerInfo: 0b100000 }, 'snp.signer'],
    ['a masked chip id', { chipId: new Uint8Array(64) }, 'snp.chip_binding'],
    ['another chip id', { chipId: new Uint8Array(64).fill(1) }, 'snp.chip_binding'],
    ['another processor line', { cpu: [0x19, 0x11] }, 'snp.product'],
    ['an unknown processor', { cpu: [0x17, 0x31] }, 'snp.product'],
    ['another TCB than certified', { reportedTcb: Uint8Array.of(4, 0, 0, 0, 0, 0, 25, 219) }, 'snp.tcb_binding'],
    ['a TCB that can be rolled back', { committedTcb: Uint8Array.of(4, 0, 0, 0, 0, 0, 23, 219) }, 'snp.minimum_tcb'],
    ['another signature algorithm', { signatureAlgorithm: 2 }, 'snp.format'],
    ...[0, 1, 6, 255].map((version): [string, SnpSettings, string] => [
      `version ${version}`,
      { version },
      'snp.format',
    ]),
  ])('is refused: %s', async (_, settings, name) => {
    const machine = await SnpMachine.make('milan');
    const { checks } = await verifySnpUnder(machine.anchors, await machine.evidence(settings), time, { minimumTcb });
    expect(failed(checks)).toEqual([name]);
  });

  it.each([2, 3, 4, 5])('is read in version %i', async (version) => {
    const machine = await SnpMachine.make('milan');
    expect(failed((await verifySnpUnder(machine.anchors, await machine.evidence({ version }), time)).checks)).toEqual(
      [],
    );
  });

  it('is refused when a root certifies a key of another line', async () => {
    const machine = await SnpMachine.make('genoa', 'milan');
    const { checks } = await verifySnpUnder(machine.anchors, await machine.evidence(), time);
    expect(failed(checks)).toEqual(['snp.endorsement']);
  });

  it('is refused below the minimum TCB', async () => {
    const machine = await SnpMachine.make('turin');
    for (const part of ['fmc', 'bootloader', 'tee', 'snp', 'microcode'] as const) {
      const policy = { minimumTcb: { turin: { [part]: 82 } } };
      const { checks } = await verifySnpUnder(machine.anchors, await machine.evidence(), time, policy);
      expect(failed(checks), part).toEqual(['snp.minimum_tcb']);
    }
  });

  it('is refused with its intermediate revoked, and not accepted with a forged, expired or broken list', async () => {
    const machine = await SnpMachine.make('milan');
    const forger = await Issuer.make('ARK-Milan', 'amd-pss');
    const evidence = await machine.evidence();
    const outcomeOf = async (revocationList: Uint8Array | undefined) =>
      (await verifySnpUnder(machine.anchors, { ...evidence, revocationList }, time, { minimumTcb })).checks;

    expect(failed(await outcomeOf(await machine.revocationList({ revoked: [intermediateSerial] })))).toEqual([
      'snp.revocation',
    ]);
    expect(failed(await outcomeOf(await forger.revoke()))).toEqual(['snp.revocation']);
    expect(failed(await outcomeOf(new Uint8Array(9)))).toEqual(['snp.revocation']);
    expect(failed(await outcomeOf(new Uint8Array()))).toEqual(['snp.revocation']);
    expect(failed(await outcomeOf(await machine.revocationList({ from: '2026-01-16T00:00:00Z' })))).toEqual([
      'snp.revocation_date',
    ]);
    expect(notMade(await outcomeOf(undefined))).toEqual(['snp.revocation', 'snp.revocation_date']);
    const expired = await outcomeOf(await machine.revocationList({ until: '2026-01-15T00:00:00Z' }));
    expect(notMade(expired)).toEqual(['snp.revocation_date']);
    expect(reasonOf(expired, 'snp.revocation_date')).toContain('expired');
  });
});

// Every thirteenth byte here; `tools/fuzz` changes all of them.
it('refuses a real report with one bit changed, in any part of it', async () => {
  const { report, ...chain } = turin();
  for (let index = 0; index < report.length; index += 13) {
    const { checks } = await verifyReal({ report: flipped(report, index, index % 8), ...chain });
    expect(failed(checks), `byte ${index}`).not.toEqual([]);
  }
});

import { beforeAll, describe, expect, it } from 'vitest';
import { concatBytes, fromHex, toHex } from '../bytes.ts';
import { intelSgxRoot } from '../pinned-roots.ts';
import { Issuer } from '../testing/issuer.ts';
import { failed, notMade, reasonOf } from '../testing/outcomes.ts';
import { type CollateralSettings, type MachineSettings, serials, TdxMachine } from '../testing/tdx-machine.ts';
import { flipped, vectorDstackQuote, vectorJson } from '../testing/vectors.ts';
import type { TdxCollateral } from './collateral.ts';
import { type TdxEvidence, type TdxPolicy, verifyTdxUnder } from './verify-tdx.ts';

const time = { now: new Date('2026-01-15T00:00:00Z') };
const policy = { minimumEvaluationNumber: 18 };

let machine: TdxMachine;
beforeAll(async () => {
  machine = await TdxMachine.make();
});

const verify = (evidence: TdxEvidence, ours: TdxPolicy = policy) =>
  verifyTdxUnder(machine.root.anchor, evidence, time, ours);

const verifyMade = async (quote: MachineSettings, collateral: CollateralSettings = {}, ours: TdxPolicy = policy) =>
  verify({ quote: await machine.quote(quote), collateral: await machine.collateral(collateral) }, ours);

describe('a machine made for the test', () => {
  it.each([
    ['v4', {}],
    ['v5 with a TDX 1.0 body', { version: 5 as const }],
    ['v5 with a TDX 1.5 body', { version: 5 as const, mrServiceTd: new Uint8Array(48) }],
    ['auth data of another length than 32', { qeAuthData: Uint8Array.of(1, 2, 3) }],
    ['no auth data', { qeAuthData: new Uint8Array() }],
    ['a TDX module of version 1', { teeTcbSvn: [6, 1, 5] }],
  ])('passes: %s', async (_, settings) => {
    const { checks, tcb } = await verifyMade(settings);
    expect(failed(checks)).toEqual([]);
    expect(notMade(checks)).toEqual([]);
    expect(tcb?.status).toBe('UpToDate');
  });

  it.each(['pck', 'pckAuthority', 'tcbSigner'] as const)('ends with its certificates: %s', async (name) => {
    const soon = '2026-01-15T00:02:00Z';
    const ending = await TdxMachine.make({}, { [name]: soon });
    const evidence = { quote: await ending.quote(), collateral: await ending.collateral() };
    const { checks, untilMs } = await verifyTdxUnder(ending.root.anchor, evidence, time, policy);
    expect(failed(checks)).toEqual([]);
    expect(untilMs).toBe(Date.parse(soon) + 1000);
  });

  it('is refused under the root of Intel', async () => {
    const evidence = { quote: await machine.quote(), collateral: await machine.collateral() };
    const { checks } = await verifyTdxUnder(intelSgxRoot, evidence, time, policy);
    expect(failed(checks)).toEqual(['tdx.pck_chain', 'tdx.tcb_info', 'tdx.qe_identity', 'tdx.root_crl']);
  });
});

describe('quotes that are refused', () => {
  const zeros = new Uint8Array(48);
  it.each<[string, MachineSettings, string]>([
    ['debug', { tdAttributes: (1n << 28n) | 1n }, 'tdx.td_attributes'],
    ['another bit of the debug group', { tdAttributes: (1n << 28n) | 4n }, 'tdx.td_attributes'],
    ['SEPT_VE_DISABLE not set', { tdAttributes: 0n }, 'tdx.td_attributes'],
    ['a reserved bit', { tdAttributes: (1n << 28n) | (1n << 40n) }, 'tdx.td_attributes'],
    ['migratable', { tdAttributes: (1n << 28n) | (1n << 29n) }, 'tdx.td_attributes'],
    ['XFAM without x87', { xfam: 0x602e6n }, 'tdx.xfam'],
    ['XFAM beyond what is defined', { xfam: 0x602e7n | (1n << 20n) }, 'tdx.xfam'],
    ['SEAM attributes', { seamAttributes: 1n }, 'tdx.seam_attributes'],
    ['a service TD', { version: 5, mrServiceTd: zeros.with(0, 1) }, 'tdx.no_service_td'],
    ['a module of another signer', { mrSignerSeam: zeros.with(0, 1) }, 'tdx.module_level'],
    ['a module that Intel does not know', { teeTcbSvn: [6, 9, 5] }, 'tdx.module_level'],
    ['a module below every level', { teeTcbSvn: [1, 1, 5] }, 'tdx.module_level'],
    ['a module that is out of date', { teeTcbSvn: [5, 1, 5] }, 'tdx.tcb_status'],
    ['a platform that is out of date', { teeTcbSvn: [3, 0, 3] }, 'tdx.tcb_status'],
    ['another quoting enclave', { qeMrSigner: new Uint8Array(32) }, 'tdx.qe_level'],
    ['a quoting enclave below every level', { qeIsvSvn: 2 }, 'tdx.qe_level'],
    ['a quoting enclave that is out of date', { qeIsvSvn: 3 }, 'tdx.tcb_status'],
  ])('%s', async (_, settings, name) => {
    expect(failed((await verifyMade(settings)).checks)).toContain(name);
  });

  it.each<[string, (quote: Uint8Array) => Uint8Array, string]>([
    ['bytes after it', (quote) => concatBytes(quote, Uint8Array.of(1)), 'tdx.nothing_after'],
    ['too many zeros after it', (quote) => concatBytes(quote, new Uint8Array(1025)), 'tdx.nothing_after'],
    ['its last byte missing', (quote) => quote.slice(0, -1), 'tdx.format'],
    ['version 3', (quote) => quote.slice().fill(3, 0, 1), 'tdx.format'],
    ['a v4 body under a v5 header', (quote) => quote.slice().fill(5, 0, 1), 'tdx.format'],
    ['TEE type 0, which is SGX', (quote) => quote.slice().fill(0, 4, 5), 'tdx.format'],
    ['another kind of attestation key', (quote) => quote.slice().fill(3, 2, 3), 'tdx.format'],
    ['another vendor of the quoting enclave', (quote) => flipped(quote, 12), 'tdx.format'],
    ['lengths beyond its end', (quote) => quote.slice().fill(0xff, 632, 636), 'tdx.format'],
    ['no bytes at all', () => new Uint8Array(), 'tdx.format'],
    ['a megabyte', () => new Uint8Array(1_000_000), 'tdx.format'],
  ])('%s', async (_, change, name) => {
    const evidence = { quote: change(await machine.quote()), collateral: await machine.collateral() };
    expect(failed((await verify(evidence)).checks)).toContain(name);
  });

  it.each([undefined, null, 'quote', 7, {}, [1, 2, 3], new ArrayBuffer(5006)])(
    '%s, which is not a byte array',
    async (quote) => {
      const { checks } = await verify({
        quote: quote as unknown as Uint8Array,
        collateral: await machine.collateral(),
      });
      expect(failed(checks)).toContain('tdx.format');
    },
  );

  it('a report of another machine under this one’s attestation key', async () => {
    const [ours, other] = [await machine.quote(), await machine.quote({ reportData: new Uint8Array(64).fill(9) })];
    const mixed = concatBytes(other.subarray(0, 632), ours.subarray(632));
    expect(failed((await verify({ quote: mixed, collateral: await machine.collateral() })).checks)).toEqual([
      'tdx.quote_signature',
    ]);
  });

  it('a key that the quoting enclave does not vouch for', async () => {
    const stranger = await Issuer.make('a stranger');
    const quote = await machine.quote();
    const swapped = concatBytes(
      quote.subarray(0, 636),
      await stranger.sign(quote.subarray(0, 632)),
      stranger.point,
      quote.subarray(636 + 128),
    );
    expect(failed((await verify({ quote: swapped, collateral: await machine.collateral() })).checks)).toEqual([
      'tdx.qe_binding',
    ]);
  });

  it('a PCK certificate that no PCK CA issued', async () => {
    const other = await TdxMachine.make({ authority: 'Intel SGX TCB Signing' });
    const evidence = { quote: await other.quote(), collateral: await other.collateral() };
    const { checks } = await verifyTdxUnder(other.root.anchor, evidence, time, policy);
    expect(failed(checks)).toEqual(['tdx.pck_chain']);
  });
});

describe('collateral that is refused', () => {
  it.each<[string, CollateralSettings, string]>([
    ['the platform revoked', { pckCrl: { revoked: [3, serials.pck] } }, 'tdx.pck_crl'],
    ['the PCK CA revoked', { rootCrl: { revoked: [serials.pckAuthority] } }, 'tdx.root_crl'],
    ['the TCB signer revoked', { rootCrl: { revoked: [serials.tcbSigner] } }, 'tdx.root_crl'],
    [
      'the platform revoked in a list that has expired',
      { pckCrl: { revoked: [serials.pck], from: '2025-01-01T00:00:00Z', until: '2025-02-01T00:00:00Z' } },
      'tdx.pck_crl',
    ],
    ['a PCK CRL from the future', { pckCrl: { from: '2026-01-16T00:00:00Z' } }, 'tdx.collateral_dates'],
    ['a root CRL from the future', { rootCrl: { from: '2026-01-16T00:00:00Z' } }, 'tdx.collateral_dates'],
    [
      'a PCK CRL from the future beside a root CRL that expired',
      {
        rootCrl: { from: '2025-01-01T00:00:00Z', until: '2025-02-01T00:00:00Z' },
        pckCrl: { from: '2026-01-16T00:00:00Z' },
      },
      'tdx.collateral_dates',
    ],
    ['TCB info from the future', { tcbInfo: { issueDate: '2026-01-16T00:00:00Z' } }, 'tdx.collateral_dates'],
    ['another FMSPC', { tcbInfo: { fmspc: '50806F000000' } }, 'tdx.tcb_info'],
    ['another PCEID', { tcbInfo: { pceId: '0001' } }, 'tdx.tcb_info'],
    ["SGX's TCB info", { tcbInfo: { id: 'SGX' } }, 'tdx.tcb_info'],
    ['TCB info of version 2', { tcbInfo: { version: 2 } }, 'tdx.tcb_info'],
    [
      'TCB levels without TDX components',
      { tcbInfo: { tcbLevels: [{ tcb: { sgxtcbcomponents: [], pcesvn: 1 }, tcbStatus: 'UpToDate' }] } },
      'tdx.tcb_info',
    ],
    ['a status that does not exist', { tcbInfo: { tcbLevels: [{ tcb: {}, tcbStatus: 'Fine' }] } }, 'tdx.tcb_info'],
    ["SGX's QE identity", { qeIdentity: { id: 'QE' } }, 'tdx.qe_identity'],
    ['a date in another form', { qeIdentity: { issueDate: '1 January 2026' } }, 'tdx.qe_identity'],
    ['TCB info of an older evaluation', { tcbInfo: { tcbEvaluationDataNumber: 17 } }, 'tdx.evaluation_number'],
    ['a QE identity of an older evaluation', { qeIdentity: { tcbEvaluationDataNumber: 17 } }, 'tdx.evaluation_number'],
  ])('%s', async (_, settings, name) => {
    expect(failed((await verifyMade({}, settings)).checks)).toContain(name);
  });

  const expired = { from: '2025-01-01T00:00:00Z', until: '2026-01-15T00:00:00Z' };
  it.each<[string, CollateralSettings]>([
    ['the root CRL', { rootCrl: expired }],
    ['the PCK CRL', { pckCrl: expired }],
    ['the TCB info', { tcbInfo: { issueDate: '2025-01-01T00:00:00Z', nextUpdate: expired.until } }],
    ['the QE identity', { qeIdentity: { issueDate: '2025-01-01T00:00:00Z', nextUpdate: expired.until } }],
  ])('%s on the second it expires: what it shows is judged, but proves nothing', async (what, settings) => {
    const { checks } = await verifyMade({}, settings);
    expect(notMade(checks)).toEqual(['tdx.collateral_dates']);
    expect(reasonOf(checks, 'tdx.collateral_dates')).toBe(`${what} expired 2026-01-15T00:00:00.000Z`);
  });

  const changed = async (change: (collateral: TdxCollateral) => unknown) =>
    failed((await verify({ quote: await machine.quote(), collateral: change(await machine.collateral()) })).checks);

  it.each(['root_ca_crl', 'pck_crl'] as const)(
    '%s: empty, garbage, cut, forged or with something after it',
    async (field) => {
      const name = field === 'pck_crl' ? 'tdx.pck_crl' : 'tdx.root_crl';
      const forger = await Issuer.make(field === 'pck_crl' ? 'Intel SGX PCK Platform CA' : 'Test Root');
      const forged = toHex(await forger.revoke());
      for (const value of ['', '00', 'ff'.repeat(300), 'not hex', '3003020101', forged]) {
        expect(await changed((collateral) => ({ ...collateral, [field]: value })), value).toEqual([name]);
      }
      expect(await changed((collateral) => ({ ...collateral, [field]: collateral[field].slice(0, -2) }))).toEqual([
        name,
      ]);
      expect(await changed((collateral) => ({ ...collateral, [field]: `${collateral[field]}00` }))).toEqual([name]);
    },
  );

  it('either revocation list in place of the other', async () => {
    expect(await changed((given) => ({ ...given, pck_crl: given.root_ca_crl }))).toEqual(['tdx.pck_crl']);
    expect(await changed((given) => ({ ...given, root_ca_crl: given.pck_crl }))).toEqual(['tdx.root_crl']);
  });

  it.each(['root_ca_crl', 'pck_crl'] as const)('%s with any one bit flipped', async (field) => {
    const [quote, collateral] = [await machine.quote(), await machine.collateral()];
    const list = fromHex(collateral[field], field);
    for (const index of list.keys()) {
      const broken = { ...collateral, [field]: toHex(flipped(list, index, index % 8)) };
      expect(failed((await verify({ quote, collateral: broken })).checks), `byte ${index}`).not.toEqual([]);
    }
  });

  it('signed texts written again: members in another order, or one more space', async () => {
    const reordered = (text: string) => JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(text)).reverse()));
    expect(await changed((given) => ({ ...given, tcb_info: reordered(given.tcb_info) }))).toEqual(['tdx.tcb_info']);
    expect(await changed((given) => ({ ...given, qe_identity: reordered(given.qe_identity) }))).toEqual([
      'tdx.qe_identity',
    ]);
    expect(await changed((given) => ({ ...given, tcb_info: `${given.tcb_info} ` }))).toEqual(['tdx.tcb_info']);
  });

  it('the signatures of the two texts exchanged', async () => {
    expect(
      await changed((given) => ({
        ...given,
        tcb_info_signature: given.qe_identity_signature,
        qe_identity_signature: given.tcb_info_signature,
      })),
    ).toEqual(['tdx.tcb_info', 'tdx.qe_identity']);
  });

  it('TCB info signed by the platform itself, whose chain ends at the same root', async () => {
    const { tcb_info: text } = await machine.collateral();
    const signature = toHex(await machine.signAsPlatform(text));
    expect(
      await changed((given) => ({ ...given, tcb_info_signature: signature, tcb_info_issuer_chain: machine.pckChain })),
    ).toEqual(['tdx.tcb_info']);
  });

  it('TCB info signed by another key that the root certified', async () => {
    const other = await TdxMachine.make({ tcbSigner: 'Something Else' });
    const evidence = { quote: await other.quote(), collateral: await other.collateral() };
    const { checks } = await verifyTdxUnder(other.root.anchor, evidence, time, policy);
    expect(failed(checks)).toEqual(['tdx.tcb_info', 'tdx.qe_identity']);
  });

  it.each([
    ['a number', 7],
    ['a text', 'collateral'],
    ['an empty object', {}],
    ['lists of numbers', { root_ca_crl: [1], pck_crl: [2] }],
  ])('%s', async (_, collateral) => {
    expect(await changed(() => collateral)).toEqual(['tdx.collateral_format']);
  });
});

describe('policy', () => {
  const hardening: MachineSettings = { teeTcbSvn: [3, 0, 4] };

  it('accepts SWHardeningNeeded only for accepted advisories', async () => {
    expect(failed((await verifyMade(hardening)).checks)).toEqual(['tdx.tcb_status']);
    const named = { ...policy, acceptedAdvisories: ['INTEL-SA-00001'] };
    expect(failed((await verifyMade(hardening, {}, named)).checks)).toEqual([]);
    const others = { ...policy, acceptedAdvisories: ['INTEL-SA-00009'] };
    expect(failed((await verifyMade(hardening, {}, others)).checks)).toEqual(['tdx.tcb_status']);
  });

  describe('of platform, module and quoting enclave separately', () => {
    const named = { ...policy, acceptedAdvisories: ['INTEL-SA-00003'] };
    const needsHardening = (advisoryIDs?: readonly string[]) => ({
      tcbStatus: 'SWHardeningNeeded',
      ...(advisoryIDs === undefined ? {} : { advisoryIDs }),
    });
    /** Collateral that assigns these statuses to each part. */
    const levels = async (ofPlatform: object, ofQuotingEnclave: object): Promise<CollateralSettings> => {
      const { tcb_info: info, qe_identity: identity } = await machine.collateral();
      const [[platform], [enclave]] = [info, identity].map((text) => JSON.parse(text).tcbLevels);
      return {
        tcbInfo: { tcbLevels: [{ ...platform, ...ofPlatform }] },
        qeIdentity: { tcbLevels: [{ ...enclave, ...ofQuotingEnclave }] },
      };
    };
    const failedAt = async (settings: CollateralSettings) => failed((await verifyMade({}, settings, named)).checks);

    it('accepts a status that accepted advisories explain', async () => {
      const explained = needsHardening(['INTEL-SA-00003']);
      expect(await failedAt(await levels(explained, {}))).toEqual([]);
      expect(await failedAt(await levels({}, explained))).toEqual([]);
      expect(await failedAt(await levels(explained, explained))).toEqual([]);
    });

    it('does not let the advisories of one status cover another without any', async () => {
      const explained = needsHardening(['INTEL-SA-00003']);
      const unexplained = needsHardening();
      expect(await failedAt(await levels(unexplained, explained))).toEqual(['tdx.tcb_status']);
      expect(await failedAt(await levels(explained, unexplained))).toEqual(['tdx.tcb_status']);
    });

    it('refuses one whose advisories are not all accepted, whatever the other lists', async () => {
      const explained = needsHardening(['INTEL-SA-00003']);
      const more = needsHardening(['INTEL-SA-00003', 'INTEL-SA-00004']);
      expect(await failedAt(await levels(explained, more))).toEqual(['tdx.tcb_status']);
      expect(await failedAt(await levels(more, explained))).toEqual(['tdx.tcb_status']);
    });
  });

  it('never accepts OutOfDate, whichever advisories are accepted', async () => {
    const named = { ...policy, acceptedAdvisories: ['INTEL-SA-00002'] };
    expect(failed((await verifyMade({ teeTcbSvn: [3, 0, 3] }, {}, named)).checks)).toEqual(['tdx.tcb_status']);
  });

  it('skips the check of the evaluation number without a minimum', async () => {
    expect(notMade((await verifyMade({}, {}, {})).checks)).toEqual(['tdx.evaluation_number']);
  });

  it('applies the given clock tolerance, and fails for an invalid date', async () => {
    const evidence = {
      quote: vectorDstackQuote('dstack/quote-report.json'),
      collateral: vectorJson('tdx/collateral_2026-03_90c06f.json'),
    };
    const at = async (now: string, toleranceMs: number) =>
      (await verifyTdxUnder(intelSgxRoot, evidence, { now: new Date(now), toleranceMs }, policy)).checks;
    expect(failed(await at('2026-03-16T22:30:00Z', 0))).toEqual(['tdx.collateral_dates']);
    expect(failed(await at('2026-03-16T22:30:00Z', 300_000))).toEqual([]);
    expect(failed(await at('2026-03-15T22:30:00Z', 300_000))).toEqual(['tdx.collateral_dates']);
    expect(failed(await at('no time', 0))).toContain('tdx.pck_chain');
  });
});

// Every ninth byte here; `tools/fuzz` changes all of them.
it('refuses a real quote with one bit changed, in any part of it', async () => {
  const quote = vectorDstackQuote('dstack/quote-report.json');
  const now = new Date('2026-03-25T00:00:00Z');
  for (let index = 0; index < quote.length; index += 9) {
    const { checks } = await verifyTdxUnder(intelSgxRoot, { quote: flipped(quote, index, index % 8) }, { now });
    expect(failed(checks), `byte ${index}`).not.toEqual([]);
  }
});

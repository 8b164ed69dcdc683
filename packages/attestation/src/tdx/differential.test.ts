import { verify as oracleUnderIntel, QuoteVerifier } from '@phala/dcap-qvl';
import { beforeAll, describe, expect, it } from 'vitest';
import { concatBytes, toHex } from '../bytes.ts';
import { intelSgxRoot } from '../pinned-roots.ts';
import { Issuer } from '../testing/issuer.ts';
import { failed, notMade } from '../testing/outcomes.ts';
import { type CollateralSettings, type MachineSettings, serials, TdxMachine } from '../testing/tdx-machine.ts';
import { flipped, vectorBytes, vectorDstackQuote, vectorJson } from '../testing/vectors.ts';
import type { TdxCollateral } from './collateral.ts';
import { type TdxVerification, verifyTdxUnder } from './verify-tdx.ts';

// `@phala/dcap-qvl` checks the same evidence with independent code. Each case states both results. If they differ, it
// states why; an unexplained difference fails. We accept if every check passed, and the oracle if it says UpToDate,
// because it leaves the judgement of a status to its caller.

/** The oracle also needs the chain of the PCK CRL's issuer, which quotes carry themselves. */
type OracleCollateral = TdxCollateral & { pck_crl_issuer_chain: string };
type Answer = 'accept' | 'refuse';
const now = new Date('2026-01-15T00:00:00Z');

const ourAnswer = ({ checks }: TdxVerification): Answer =>
  failed(checks).length + notMade(checks).length === 0 ? 'accept' : 'refuse';

function oracleAnswer(run: () => { status: string }): Answer {
  try {
    return run().status === 'UpToDate' ? 'accept' : 'refuse';
  } catch {
    return 'refuse';
  }
}

const seconds = (instant: Date): number => instant.getTime() / 1000;

describe('real evidence', () => {
  const files = {
    v4: () => vectorBytes('tdx/dcapqvl_tdx_quote_v4.bin'),
    'v5 outdated': () => vectorBytes('tdx/dcapqvl_tdx_quote_v5_outdated.bin'),
    'v5 sample': () => vectorBytes('tdx/gotdx_quote_v5_sample.bin'),
    dstack: () => vectorDstackQuote('dstack/quote-report.json'),
    'dstack lite': () => vectorDstackQuote('dstack/tdx-lite-getquote.json'),
    '2023': () => vectorBytes('tdx/gotdx_prod_quote_SPR_E4_v4.bin'),
    debug: () => vectorBytes('tdx/ar_tdx_quote_v4_debug.bin'),
    'v5 old': () => vectorBytes('tdx/ar_tdx_quote_v5.bin'),
    b0c06f: () => vectorBytes('tdx/ar_tdx_quote_live_v4_b0c06f.bin'),
    azure: () => vectorBytes('tdx/ar_azure_td_quote_v4_00806f05.bin'),
  };
  const v4 = 'dcapqvl_tdx_quote_v4.collateral.json';
  const march = 'collateral_2026-03_90c06f.json';

  it.each<[keyof typeof files, string, string, Answer, Answer, string?]>([
    ['v4', v4, '2025-06-19T10:32:26Z', 'refuse', 'refuse'],
    ['v4', v4, '2025-06-19T10:32:27Z', 'accept', 'accept'],
    ['v4', v4, '2025-07-19T10:00:34Z', 'accept', 'accept'],
    ['v4', v4, '2025-07-19T10:00:35Z', 'refuse', 'accept', 'it does not look at when a revocation list ends'],
    ['v4', v4, '2025-07-19T10:16:04Z', 'refuse', 'refuse'],
    ['v4', v4, '2026-11-21T00:00:00Z', 'refuse', 'refuse'],
    ['v5 outdated', 'dcapqvl_tdx_quote_v5_outdated.collateral.json', '2026-03-01T00:00:00Z', 'refuse', 'refuse'],
    ['v5 sample', march, '2026-03-25T00:00:00Z', 'accept', 'accept'],
    ['v5 sample', march, '2026-04-15T22:06:09Z', 'refuse', 'accept', 'it takes nextUpdate as the last good second'],
    ['dstack', march, '2026-03-25T00:00:00Z', 'accept', 'accept'],
    ['dstack lite', march, '2026-04-15T12:00:00Z', 'accept', 'accept'],
    ['dstack lite', march, '2026-03-25T00:00:00Z', 'refuse', 'refuse'],
    ['2023', 'collateral_2023-06_50806f.json', '2023-07-01T00:00:00Z', 'refuse', 'refuse'],
    ['debug', 'collateral_2026-03_50806f.json', '2026-03-25T00:00:00Z', 'refuse', 'refuse'],
    ['v5 old', march, '2026-03-25T00:00:00Z', 'refuse', 'refuse'],
    ['b0c06f', march, '2026-04-05T00:00:00Z', 'refuse', 'refuse'],
    ['azure', march, '2026-04-05T00:00:00Z', 'refuse', 'refuse'],
  ])('%s with %s at %s', async (name, file, at, ours, theirs, because) => {
    const [quote, collateral] = [files[name](), vectorJson<OracleCollateral>(`tdx/${file}`)];
    const time = { now: new Date(at) };
    const result = await verifyTdxUnder(intelSgxRoot, { quote, collateral }, time, { minimumEvaluationNumber: 1 });
    expect(ourAnswer(result)).toBe(ours);
    expect(oracleAnswer(() => oracleUnderIntel(Buffer.from(quote), collateral, seconds(time.now)))).toBe(theirs);
    expect(ours === theirs || because !== undefined).toBe(true);
  });

  it('with one bit flipped: refuses everything that the oracle refuses', async () => {
    const quote = vectorDstackQuote('dstack/quote-report.json');
    const collateral = vectorJson<OracleCollateral>(`tdx/${march}`);
    const time = { now: new Date('2026-03-25T00:00:00Z') };
    const onlyOurs = new Set<number>();
    for (let index = 5; index < quote.length; index += 61) {
      const changed = flipped(quote, index, index % 8);
      const ours = ourAnswer(
        await verifyTdxUnder(intelSgxRoot, { quote: changed, collateral }, time, { minimumEvaluationNumber: 1 }),
      );
      const theirs = oracleAnswer(() => oracleUnderIntel(Buffer.from(changed), collateral, seconds(time.now)));
      expect(ours, `byte ${index}`).toBe('refuse');
      if (theirs === 'accept') onlyOurs.add(index);
    }
    // The oracle accepts changes after the signed part, or in the spelling of the PEM around the certificates.
    const pemStart = 636 + 134 + 450 + 32 + 6;
    expect([...onlyOurs].filter((index) => index < pemStart)).toEqual([]);
  });
});

describe('a machine made for the test, under its own root', () => {
  let machine: TdxMachine;
  let root: Uint8Array;
  beforeAll(async () => {
    machine = await TdxMachine.make();
    root = await machine.root.certifySelf();
  });

  const bothAnswer = async (quote: Uint8Array, collateral: TdxCollateral): Promise<[Answer, Answer]> => {
    const result = await verifyTdxUnder(
      machine.root.anchor,
      { quote, collateral },
      { now },
      { minimumEvaluationNumber: 18 },
    );
    const given = { ...collateral, pck_crl_issuer_chain: machine.pckChain };
    const oracle = QuoteVerifier.newWithRootCa(Buffer.from(root));
    return [ourAnswer(result), oracleAnswer(() => oracle.verify(Buffer.from(quote), given, seconds(now)))];
  };

  const expired = { from: '2025-01-01T00:00:00Z', until: '2025-02-01T00:00:00Z' };
  it.each<[string, MachineSettings, CollateralSettings, Answer, Answer, string?]>([
    ['all in order', {}, {}, 'accept', 'accept'],
    ['v5', { version: 5, mrServiceTd: new Uint8Array(48) }, {}, 'accept', 'accept'],
    [
      'auth data of 3 bytes',
      { qeAuthData: Uint8Array.of(1, 2, 3) },
      {},
      'accept',
      'refuse',
      'it takes auth data to have 32 bytes',
    ],
    ['debug', { tdAttributes: (1n << 28n) | 1n }, {}, 'refuse', 'refuse'],
    ['SEPT_VE_DISABLE not set', { tdAttributes: 0n }, {}, 'refuse', 'refuse'],
    ['out of date', { teeTcbSvn: [3, 0, 3] }, {}, 'refuse', 'refuse'],
    ['quoting enclave out of date', { qeIsvSvn: 3 }, {}, 'refuse', 'refuse'],
    ['another quoting enclave', { qeMrSigner: new Uint8Array(32) }, {}, 'refuse', 'refuse'],
    ['module out of date', { teeTcbSvn: [5, 1, 5] }, {}, 'refuse', 'accept', 'it has no check of the module identity'],
    [
      'module unknown to Intel',
      { teeTcbSvn: [9, 9, 5] },
      {},
      'refuse',
      'accept',
      'it has no check of the module identity',
    ],
    [
      'XFAM beyond what is defined',
      { xfam: 0x602e7n | (1n << 20n) },
      {},
      'refuse',
      'accept',
      'it does not look at XFAM',
    ],
    [
      'older evaluation',
      {},
      { tcbInfo: { tcbEvaluationDataNumber: 17 } },
      'refuse',
      'accept',
      'it pins no evaluation number',
    ],
    ['expired PCK CRL', {}, { pckCrl: expired }, 'refuse', 'accept', 'it does not look at when a list ends'],
    ['expired root CRL', {}, { rootCrl: expired }, 'refuse', 'accept', 'it does not look at when a list ends'],
    ['platform revoked', {}, { pckCrl: { revoked: [serials.pck] } }, 'refuse', 'refuse'],
    ['PCK CA revoked', {}, { rootCrl: { revoked: [serials.pckAuthority] } }, 'refuse', 'refuse'],
    ['another FMSPC', {}, { tcbInfo: { fmspc: '50806F000000' } }, 'refuse', 'refuse'],
    ["SGX's TCB info", {}, { tcbInfo: { id: 'SGX' } }, 'refuse', 'refuse'],
  ])('%s', async (_, settings, collateral, ours, theirs, because) => {
    expect(await bothAnswer(await machine.quote(settings), await machine.collateral(collateral))).toEqual([
      ours,
      theirs,
    ]);
    expect(ours === theirs || because !== undefined).toBe(true);
  });

  it('broken, empty or forged lists, and bytes after the quote: only we refuse them', async () => {
    const [quote, collateral] = [await machine.quote(), await machine.collateral()];
    const forger = await Issuer.make('Intel SGX PCK Platform CA');
    const alone = ['refuse', 'accept'];
    for (const list of ['00', '3003020101', toHex(await forger.revoke())]) {
      expect(await bothAnswer(quote, { ...collateral, pck_crl: list })).toEqual(alone);
      expect(await bothAnswer(quote, { ...collateral, root_ca_crl: list })).toEqual(alone);
    }
    expect(await bothAnswer(concatBytes(quote, Uint8Array.of(1)), collateral)).toEqual(alone);
  });
});

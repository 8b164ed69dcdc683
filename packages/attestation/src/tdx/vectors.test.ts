import { describe, expect, it } from 'vitest';
import { toHex } from '../bytes.ts';
import { intelSgxRoot } from '../pinned-roots.ts';
import { failed, notMade } from '../testing/outcomes.ts';
import { vectorBytes, vectorDstackQuote, vectorJson } from '../testing/vectors.ts';
import { verifyTdxUnder } from './verify-tdx.ts';

const verify = (quote: Uint8Array, collateral: string, now: string) =>
  verifyTdxUnder(
    intelSgxRoot,
    { quote, collateral: vectorJson(`tdx/${collateral}`) },
    { now: new Date(now) },
    { minimumEvaluationNumber: 1 },
  );

const march = 'collateral_2026-03_90c06f.json';
const v4 = () => vectorBytes('tdx/dcapqvl_tdx_quote_v4.bin');
const v4Collateral = 'dcapqvl_tdx_quote_v4.collateral.json';

describe('real TDX evidence that must pass, at its dates', () => {
  const dstack = vectorDstackQuote('dstack/quote-report.json');
  const lite = vectorDstackQuote('dstack/tdx-lite-getquote.json');
  const sample = vectorBytes('tdx/gotdx_quote_v5_sample.bin');
  it.each([
    ['v4, on its first second', v4(), v4Collateral, '2025-06-19T10:32:27Z'],
    ['v4, in the middle', v4(), v4Collateral, '2025-07-01T00:00:00Z'],
    ['v4, on its last second', v4(), v4Collateral, '2025-07-19T10:00:34Z'],
    ['v5, on its first second', sample, march, '2026-03-16T22:34:05Z'],
    ['v5, on its last second', sample, march, '2026-04-15T22:06:08Z'],
    ['dstack, v4', dstack, march, '2026-03-25T00:00:00Z'],
    ['dstack lite, on the one day it can', lite, march, '2026-04-15T12:00:00Z'],
  ])('%s', async (_, quote, collateral, now) => {
    const { checks, tcb } = await verify(quote, collateral, now);
    expect(failed(checks)).toEqual([]);
    expect(notMade(checks)).toEqual([]);
    expect(tcb).toEqual({ status: 'UpToDate', advisories: [] });
  });
});

describe('real TDX evidence that must not pass', () => {
  it.each([
    ['before the collateral', '2025-06-19T10:32:26Z', 'failed'],
    ['after the PCK CRL', '2025-07-19T10:00:35Z', 'not_made'],
    ['after the TCB info', '2025-07-19T10:16:03Z', 'not_made'],
    ['today', '2026-11-21T00:00:00Z', 'not_made'],
    ['years before its certificates', '2015-01-01T00:00:00Z', 'failed'],
  ])('a good quote %s', async (_, now, outcome) => {
    const { checks } = await verify(v4(), v4Collateral, now);
    const dates = checks.find(({ name }) => name === 'tdx.collateral_dates');
    expect(outcome === 'failed' ? failed(checks).length : dates?.outcome === 'not_made').toBeTruthy();
  });

  it.each([
    [
      'v5 below every TCB level',
      'dcapqvl_tdx_quote_v5_outdated.bin',
      'dcapqvl_tdx_quote_v5_outdated.collateral.json',
      '2026-03-01T00:00:00Z',
      ['tdx.platform_level'],
    ],
    [
      'v4 of a debuggable machine',
      'ar_tdx_quote_v4_debug.bin',
      'collateral_2026-03_50806f.json',
      '2026-03-25T00:00:00Z',
      ['tdx.td_attributes', 'tdx.tcb_status'],
    ],
    [
      'v5 below every TCB level, with a service TD',
      'ar_tdx_quote_v5.bin',
      march,
      '2026-03-25T00:00:00Z',
      ['tdx.no_service_td', 'tdx.platform_level'],
    ],
    ['v4 of another FMSPC', 'ar_tdx_quote_live_v4_b0c06f.bin', march, '2026-04-05T00:00:00Z', ['tdx.tcb_info']],
    [
      'v4 of Azure, of another FMSPC',
      'ar_azure_td_quote_v4_00806f05.bin',
      march,
      '2026-04-05T00:00:00Z',
      ['tdx.td_attributes', 'tdx.tcb_info'],
    ],
    [
      'a PCK certificate that is not valid yet',
      'ar_tdx_quote_live_v4_b0c06f.bin',
      march,
      '2026-03-20T00:00:00Z',
      ['tdx.pck_chain'],
    ],
  ])('%s', async (_, quote, collateral, now, expected) => {
    const { checks } = await verify(vectorBytes(`tdx/${quote}`), collateral, now);
    expect(failed(checks)).toEqual(expected);
  });

  it('a quote of 2023 has a good signature and chain, but text after it, and a platform below every level', async () => {
    const { checks } = await verify(
      vectorBytes('tdx/gotdx_prod_quote_SPR_E4_v4.bin'),
      'collateral_2023-06_50806f.json',
      '2023-07-01T00:00:00Z',
    );
    expect(failed(checks)).toEqual(['tdx.nothing_after', 'tdx.td_attributes', 'tdx.platform_level']);
  });

  it('an SGX quote is not a TDX quote, with any collateral', async () => {
    const quote = vectorBytes('tdx/dcapqvl_sgx_quote_v3.bin');
    for (const collateral of ['dcapqvl_sgx_quote_v3.collateral.json', v4Collateral]) {
      const { checks } = await verify(quote, collateral, '2025-07-01T00:00:00Z');
      expect(failed(checks)).toContain('tdx.format');
    }
  });

  it("SGX's TCB info and QE identity are not TDX's", async () => {
    const { checks } = await verify(v4(), 'dcapqvl_sgx_quote_v3.collateral.json', '2025-07-01T00:00:00Z');
    // Its PCK CRL is also from the other PCK CA.
    expect(failed(checks)).toEqual(['tdx.tcb_info', 'tdx.qe_identity', 'tdx.pck_crl']);
  });

  it('a quote without collateral is genuine, but not proven current', async () => {
    const quote = vectorDstackQuote('dstack/quote-report.json');
    const { checks, tcb } = await verifyTdxUnder(intelSgxRoot, { quote }, { now: new Date('2026-03-25T00:00:00Z') });
    expect(failed(checks)).toEqual([]);
    expect(notMade(checks)).toHaveLength(11);
    expect(tcb).toBeUndefined();
  });
});

it('reads the identity of machine and platform', async () => {
  const { quote, platform } = await verify(
    vectorDstackQuote('dstack/quote-report.json'),
    march,
    '2026-03-25T00:00:00Z',
  );
  expect(toHex(quote?.report.reportData ?? new Uint8Array())).toBe(`1234${'0'.repeat(124)}`);
  expect(toHex(quote?.report.mrTd ?? new Uint8Array())).toMatch(/^b24d3b24e9e3c160/);
  expect(platform?.fmspc).toBe('90c06f000000');
  expect(platform?.ppid).toMatch(/^[0-9a-f]{32}$/);
});

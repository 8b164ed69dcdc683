import { beforeEach, describe, expect, it, vi } from 'vitest';
import { fromHex } from '../bytes.ts';
import { verifySnp, verifyTdx } from '../index.ts';
import { parseSnpReport } from '../snp/report.ts';
import type { TdxCollateral } from '../tdx/collateral.ts';
import { toPem } from '../testing/issuer.ts';
import { failed, notMade } from '../testing/outcomes.ts';
import { certificateTable } from '../testing/snp-machine.ts';
import { flipped, vectorBytes, vectorCertificate, vectorDstackQuote, vectorJson } from '../testing/vectors.ts';
import { endorsementFromTable, vcekPathOf } from './amd-endorsement.ts';
import { providerVendors, VendorDocuments } from './vendor-documents.ts';

/** Answers by address. Other addresses get 404. */
let answers: Map<string, () => Response>;
let asked: string[];
beforeEach(() => {
  answers = new Map();
  asked = [];
});
const now = Date.parse('2026-03-20T00:00:00Z');
const vendors = (mirror?: string): VendorDocuments =>
  new VendorDocuments({
    now: () => now,
    mirror,
    onExpiring: () => {},
    fetch: async (url) => {
      asked.push(url);
      return answers.get(url)?.() ?? new Response('', { status: 404 });
    },
  });

describe('collateral of Intel', () => {
  const recorded = vectorJson<TdxCollateral>('tdx/collateral_2026-03_90c06f.json');
  const quote = vectorDstackQuote('dstack/quote-report.json');
  const time = { now: new Date(now) };
  const intel = 'https://api.trustedservices.intel.com';
  const chain = (name: string, pem: string) => ({ headers: { [name]: encodeURIComponent(pem) } });

  /** Intel's bodies in their original form, rebuilt from the recorded parts. */
  function serve(base: string, rootCrl: string, root: () => Response): void {
    const tcb = `{"tcbInfo":${recorded.tcb_info},"signature":"${recorded.tcb_info_signature}"}`;
    const qe = `{"enclaveIdentity":${recorded.qe_identity},"signature":"${recorded.qe_identity_signature}"}`;
    answers.set(
      `${base}/tdx/certification/v4/tcb?fmspc=90c06f000000`,
      () => new Response(tcb, chain('TCB-Info-Issuer-Chain', recorded.tcb_info_issuer_chain)),
    );
    answers.set(
      `${base}/tdx/certification/v4/qe/identity`,
      () => new Response(qe, chain('SGX-Enclave-Identity-Issuer-Chain', recorded.qe_identity_issuer_chain)),
    );
    answers.set(
      `${base}/sgx/certification/v4/pckcrl?ca=platform&encoding=der`,
      () => new Response(fromHex(recorded.pck_crl, 'the list')),
    );
    answers.set(rootCrl, root);
  }

  it('equals Intel’s signed bytes, and verifies under Intel’s root', async () => {
    const rootCrl = 'https://certificates.trustedservices.intel.com/IntelSGXRootCA.der';
    serve(intel, rootCrl, () => new Response(fromHex(recorded.root_ca_crl, 'the list')));
    const collateral = await vendors().collateralFor(quote);
    expect(collateral).toMatchObject({ tcb_info: recorded.tcb_info, qe_identity: recorded.qe_identity });
    const verified = await verifyTdx({ quote, collateral }, time, { minimumEvaluationNumber: 18 });
    expect([failed(verified.checks), notMade(verified.checks)]).toEqual([[], []]);
    expect(asked).toHaveLength(4);
  });

  it('may come from a mirror, whose root list is hex', async () => {
    const mirror = 'https://pccs.example';
    serve(mirror, `${mirror}/sgx/certification/v4/rootcacrl`, () => new Response(`${recorded.root_ca_crl}\n`));
    const collateral = await vendors(mirror).collateralFor(quote);
    const verified = await verifyTdx({ quote, collateral }, time, { minimumEvaluationNumber: 18 });
    expect([failed(verified.checks), notMade(verified.checks)]).toEqual([[], []]);
    expect(asked.every((url) => url.startsWith(mirror))).toBe(true);
  });

  it('of a provider’s machine is warned of where it is read and cannot be renewed', async () => {
    const rootCrl = 'https://certificates.trustedservices.intel.com/IntelSGXRootCA.der';
    serve(intel, rootCrl, () => new Response(fromHex(recorded.root_ca_crl, 'the list')));
    let today = now;
    const expiring: [string, number][] = [];
    const machines = providerVendors({
      now: () => today,
      onExpiring: (document, until) => void expiring.push([document, until]),
      fetch: async (url) => answers.get(url)?.() ?? new Response('', { status: 404 }),
    });
    const collateral = await machines.collateralFor(quote);
    answers.clear();
    for (let day = 0; day < 60 && (await machines.collateralFor(quote)) !== undefined; day += 1) today += 86_400_000;
    expect(collateral).toBeDefined();
    await vi.waitFor(() => expect(expiring[0]?.[0]).toBe('tdx_collateral'), 30_000);
  });

  it.each<[string, (base: string) => void]>([
    ['is refused', () => answers.clear()],
    [
      'has no issuer chain',
      (base) => answers.set(`${base}/tdx/certification/v4/qe/identity`, () => new Response('{}')),
    ],
    [
      'is of another form',
      (base) => answers.set(`${base}/tdx/certification/v4/tcb?fmspc=90c06f000000`, () => new Response('{"tcbInfo":1}')),
    ],
    [
      'never ends',
      (base) =>
        answers.set(
          `${base}/tdx/certification/v4/tcb?fmspc=90c06f000000`,
          () => new Response(new ReadableStream({ pull: (c) => c.enqueue(new Uint8Array(65_536)) })),
        ),
    ],
  ])('is absent, and nothing breaks, where an answer %s', async (_, spoil) => {
    const mirror = 'https://pccs.example';
    serve(mirror, `${mirror}/sgx/certification/v4/rootcacrl`, () => new Response(recorded.root_ca_crl));
    spoil(mirror);
    expect(await vendors(mirror).collateralFor(quote)).toBeUndefined();
  });
});

describe('certificates of AMD', () => {
  const service = 'https://kdsintf.amd.com';
  const bytes = vectorBytes('snp/ms_milan_report.bin');
  const report = parseSnpReport(bytes);
  const vcek = vectorCertificate('snp/ms_milan_vcek.pem');
  const ask = vectorCertificate('snp/ms_milan_ask.pem');
  const ark = vectorCertificate('snp/ms_milan_ark.pem');
  const time = { now: new Date(now) };

  const guids = {
    vcek: '63da758d-e664-4564-adc5-f4b93be8accd',
    ask: '4ab7b379-bbac-4fe4-a02f-05aef327c782',
    vlek: 'a8074bc2-a25a-483e-aae6-39c045a0b8a1',
    ark: 'c0b406a4-a803-4952-9743-3fb6014cd0ae',
  };

  it('come from the host’s table, and verify under AMD’s root', async () => {
    const given = certificateTable([guids.ark, ark], [guids.ask, ask], [guids.vcek, vcek]);
    const made = await vendors().endorsementFor(report, given);
    const verified = await verifySnp({ report: bytes, ...made }, time, {});
    expect(failed(verified.checks)).toEqual([]);
    expect(verified.checks.find(({ name }) => name === 'snp.chip_binding')?.outcome).toBe('passed');
    expect(asked).toEqual([`${service}/vcek/v1/Milan/crl`]);
  });

  it('otherwise come from AMD, by chip and TCB, loaded once', async () => {
    answers.set(`${service}/${vcekPathOf(report)}`, () => new Response(vcek));
    answers.set(`${service}/vcek/v1/Milan/cert_chain`, () => new Response(toPem(ask, ark)));
    const ours = vendors();
    const useless = [
      certificateTable([guids.ark, ark]),
      certificateTable([guids.ask, ark], [guids.vcek, vcek]),
      certificateTable([guids.ask, ask], [guids.vcek, vcek.slice(1)]),
      certificateTable(...Array.from({ length: 5000 }, (): [string, Uint8Array] => [guids.ark, ark])),
    ];
    for (const given of [undefined, new Uint8Array(), Uint8Array.of(1, 2, 3), ...useless]) {
      expect(await ours.endorsementFor(report, given)).toMatchObject({ endorsementKey: vcek, intermediate: ask });
    }
    expect(asked.filter((url) => url.includes('SPL='))).toHaveLength(1);
  });

  it('use each line’s format of chip and TCB', () => {
    expect(vcekPathOf(report)).toMatch(
      /^vcek\/v1\/Milan\/[0-9a-f]{128}\?blSPL=\d+&teeSPL=\d+&snpSPL=\d+&ucodeSPL=\d+$/,
    );
    const turin = parseSnpReport(vectorBytes('snp/ms_turin_report.bin'));
    expect(vcekPathOf(turin)).toMatch(/^vcek\/v1\/Turin\/[0-9a-f]{16}\?fmcSPL=\d+&blSPL=/);
  });

  it('come both or not at all from a broken table', () => {
    const given = certificateTable([guids.ask, ask], [guids.vcek, vcek]);
    const whole = endorsementFromTable(report, given);
    expect(whole).toEqual({ endorsementKey: vcek, intermediate: ask });
    let found = 0;
    for (let bit = 0; bit < 8 * 72; bit += 1) {
      const made = endorsementFromTable(report, flipped(given, bit >> 3, bit & 7));
      if (made !== undefined) found += 1;
    }
    // Only the name of the zero entry is read.
    expect(found).toBeLessThanOrEqual(8 * 24);
    for (let length = 0; length < given.length; length += 7) {
      expect(endorsementFromTable(report, given.slice(0, length))).toBeUndefined();
    }
  });

  it('of a hoster’s key (VLEK) come only from the host', async () => {
    const hosted = parseSnpReport(vectorBytes('snp/ar_milan_vlek_report.bin'));
    const [vlek, asvk] = ['snp/ar_milan_vlek.der', 'snp/ar_milan_asvk.der'].map(vectorCertificate);
    if (vlek === undefined || asvk === undefined) throw new Error('two certificates were wanted');
    await expect(vendors().endorsementFor(hosted, undefined)).rejects.toMatchObject({ code: 'endorsement_missing' });
    const given = certificateTable([guids.vcek, vcek], [guids.ask, asvk], [guids.vlek, vlek]);
    expect(await vendors().endorsementFor(hosted, given)).toMatchObject({ endorsementKey: vlek, intermediate: asvk });
    expect(new Set(asked)).toEqual(new Set([`${service}/vlek/v1/Milan/crl`]));
  });

  it('are required: without them, producing evidence fails', async () => {
    const given = certificateTable([guids.vcek, vcek]);
    given[20] = 0xff;
    for (const host of [undefined, given]) {
      await expect(vendors().endorsementFor(report, host)).rejects.toMatchObject({ code: 'endorsement_missing' });
    }
  });
});

import { type Check, type TdxCollateral, verifySnp, verifyTdx } from '@sotto/attestation';
import { flipped, vectorBytes, vectorCertificate, vectorDstackQuote, vectorJson } from '@sotto/attestation/testing';
import { describe, expect, it } from 'vitest';

// Flips one bit in valid evidence: in every byte of quotes and reports, and in a sample of longer documents. It is
// slower than a unit test may be.

const march = { now: new Date('2026-03-25T00:00:00Z') };
const policy = { minimumEvaluationNumber: 18 };
const collateral = vectorJson<TdxCollateral>('tdx/collateral_2026-03_90c06f.json');

const hasFailure = (checks: readonly Check[]): boolean => checks.some(({ outcome }) => outcome === 'failed');
const allPass = (checks: readonly Check[]): boolean => checks.every(({ outcome }) => outcome === 'passed');

async function everyFlipFails(
  bytes: Uint8Array,
  step: number,
  verify: (changed: Uint8Array) => Promise<readonly Check[]>,
) {
  const survivors: number[] = [];
  for (let index = 0; index < bytes.length; index += step) {
    if (!hasFailure(await verify(flipped(bytes, index, (index / step) % 8)))) survivors.push(index);
  }
  expect(survivors).toEqual([]);
}

describe('evidence with one flipped bit is rejected', () => {
  it.each([
    ['a TDX quote, version 4', vectorDstackQuote('dstack/quote-report.json'), 1],
    ['a TDX quote, version 5', vectorBytes('tdx/gotdx_quote_v5_sample.bin'), 5],
  ])(
    'in %s',
    async (_, quote, step) => {
      expect(allPass((await verifyTdx({ quote, collateral }, march, policy)).checks)).toBe(true);
      await everyFlipFails(quote, step, async (changed) => (await verifyTdx({ quote: changed }, march, policy)).checks);
    },
    300_000,
  );

  it('in each part of the collateral', async () => {
    const quote = vectorDstackQuote('dstack/quote-report.json');
    for (const field of Object.keys(collateral) as (keyof TdxCollateral)[]) {
      // The verifier does not read the chain of the PCK CRL's issuer, because the quote contains its own.
      if (!field.startsWith('pck_crl_issuer')) await everyFlipOf(field, quote);
    }
  }, 300_000);

  async function everyFlipOf(field: keyof TdxCollateral, quote: Uint8Array) {
    const isHex = /^[0-9a-f]+$/i.test(collateral[field]);
    const bytes = isHex
      ? Uint8Array.from(Buffer.from(collateral[field], 'hex'))
      : new TextEncoder().encode(collateral[field]);
    await everyFlipFails(bytes, 29, async (changed) => {
      const value = isHex ? Buffer.from(changed).toString('hex') : new TextDecoder().decode(changed);
      return (await verifyTdx({ quote, collateral: { ...collateral, [field]: value } }, march, policy)).checks;
    });
  }

  it.each(['milan', 'genoa', 'turin'])(
    'in a SEV-SNP report of %s, and in its certificates',
    async (product) => {
      const evidence = {
        report: vectorBytes(`snp/ms_${product}_report.bin`),
        endorsementKey: vectorCertificate(`snp/ms_${product}_vcek.pem`),
        intermediate: vectorCertificate(`snp/ms_${product}_ask.pem`),
      };
      const verify = async (changed: object) => (await verifySnp({ ...evidence, ...changed }, march, {})).checks;
      expect(hasFailure(await verify({}))).toBe(false);
      await everyFlipFails(evidence.report, 1, (report) => verify({ report }));
      await everyFlipFails(evidence.endorsementKey, 3, (endorsementKey) => verify({ endorsementKey }));
      await everyFlipFails(evidence.intermediate, 3, (intermediate) => verify({ intermediate }));
    },
    300_000,
  );
});

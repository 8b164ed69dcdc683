import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { verifyDstackTdx } from './dstack/verify-dstack.ts';
import { verifyGateway, verifyNvidia, verifyProvider, verifyProviderReceipt, verifySnp, verifyTdx } from './index.ts';
import { parseTdxQuote, type TdReport } from './tdx/quote.ts';
import { failed } from './testing/outcomes.ts';
import { vectorBytes } from './testing/vectors.ts';

describe('a verifier answers any input, and never accepts broken evidence', () => {
  const time = { now: new Date('2026-03-25T00:00:00Z') };
  const challenge = { nonce: 'ab'.repeat(32), origin: 'https://a.example', pins: {}, ...time };
  const report: TdReport = parseTdxQuote(vectorBytes('tdx/dcapqvl_tdx_quote_v4.bin')).report;
  const anything = fc.oneof(fc.anything(), fc.uint8Array({ maxLength: 2000 }), fc.jsonValue());
  const refuses = (verify: (input: never) => Promise<readonly { readonly outcome: string }[]>) =>
    fc.assert(
      fc.asyncProperty(anything, async (input) => {
        const checks = await verify(input as never);
        expect(checks.length).toBeGreaterThan(0);
        expect(checks.every(({ outcome }) => outcome === 'passed')).toBe(false);
      }),
      { numRuns: 300 },
    );

  it('as a TDX quote and its collateral', () =>
    refuses(async (input) => {
      const { checks } = await verifyTdx({ quote: input, collateral: input }, time, {});
      expect(failed(checks)).toContain('tdx.format');
      return checks;
    }));

  it('as a SEV-SNP report and its chain', () =>
    refuses(async (input) => {
      const evidence = { report: input, endorsementKey: input, intermediate: input, revocationList: input };
      const { checks } = await verifySnp(evidence, time, {});
      expect(failed(checks)).toContain('snp.chain');
      return checks;
    }));

  it('as the event log of a dstack machine', () =>
    refuses(async (input) => (await verifyDstackTdx({ eventLog: input }, report)).checks));

  it('as tokens and keys of NVIDIA', () =>
    refuses(async (input) => {
      const { standing, checks } = await verifyNvidia({ tokens: input, keySet: input }, challenge.nonce, time);
      expect(['none', 'refuted']).toContain(standing);
      return checks;
    }));

  it('as the evidence document of a provider', () =>
    refuses(async (input) => {
      const route = { provider: 'p', model: 'm', privacyClass: 'tee' } as const;
      const pinned = { family: 'near', upstreamModel: 'm', pins: undefined } as const;
      const { verdict, checks } = await verifyProvider(input, { nonce: challenge.nonce, ...route, ...pinned, ...time });
      expect(['unavailable', 'untrusted']).toContain(verdict);
      return checks;
    }));

  it('as the receipt of a provider', () =>
    refuses((input) => {
      const key = { algorithm: 'ed25519', publicKey: new Uint8Array(32) } as const;
      const { nonce } = challenge;
      return verifyProviderReceipt(input, { requestSha256: nonce, responseSha256: nonce, key });
    }));

  it('as the evidence document of a gateway', () =>
    refuses(async (input) => {
      const { verdict, checks } = await verifyGateway(input, challenge);
      expect(['unavailable', 'untrusted']).toContain(verdict);
      return checks;
    }));
});

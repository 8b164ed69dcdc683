import { describe, expect, it } from 'vitest';
import type { VerificationReport } from '../report/verify.ts';
import { currencyLines, judgeReport } from './judge-report.ts';

const outdated = {
  isCurrent: false,
  notCurrent: [
    { name: 'tdx.collateral_format', outcome: 'not_made', reason: 'no collateral was given' },
    { name: 'tdx.pck_crl', outcome: 'not_made', reason: 'it depends on a check that did not pass' },
  ],
} as const;
const current = { isCurrent: true, notCurrent: [] } as const;
const report = (gateway: object, enclave?: object) => ({ gateway, enclave }) as unknown as VerificationReport;
const verdict = 'cryptographically_checked';
const demands = { minimum: verdict, minimumOfProvider: 'policy_matched' } as const;

describe('the judgement of a report', () => {
  // A machine that its vendor has revoked shows evidence without the vendor's documents.
  it('refuses each hop whose evidence is not shown to be up to date, as the client does', () => {
    const good = { verdict, ...current };
    expect(judgeReport(report(good, good), demands)).toEqual({ code: 0, notes: [] });
    expect(judgeReport(report(good, { verdict, ...outdated }), demands)).toEqual({
      code: 1,
      notes: ['The evidence of the provider is not shown to be up to date, so the client sends no content there.'],
    });
    expect(judgeReport(report({ verdict, ...outdated }), demands)).toEqual({
      code: 1,
      notes: [
        'The evidence of the confidential origin is not shown to be up to date, so the client sends no content there.',
      ],
    });
  });

  it('tells a weak verdict from missing evidence', () => {
    const weak = report({ verdict: 'policy_matched', ...current });
    expect(judgeReport(weak, demands)).toMatchObject({ code: 1, notes: [expect.stringContaining('is required')] });
    const gone = { verdict: 'unavailable', isCurrent: false, notCurrent: [] };
    expect(judgeReport(report(gone), demands).code).toBe(3);
    expect(judgeReport(report(gone, { type: 'not_found', message: '' }), demands).code).toBe(3);
  });

  it('says which documents are missing', () => {
    expect(currencyLines(outdated)).toEqual([
      'Up to date           NOT SHOWN: tdx.collateral_format (no collateral was given)',
    ]);
    expect(currencyLines(current)).toEqual(['Up to date           yes']);
    expect(currencyLines({ isCurrent: false, notCurrent: [] })).toEqual([]);
  });
});

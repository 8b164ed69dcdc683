import { expect, it } from 'vitest';
import { acceptableVerdicts, requireAccepted } from './acceptance.ts';
import type { OriginVerification } from './verify-origin.ts';

// A machine that its vendor has revoked shows evidence without the vendor's documents, or with old ones.
it.each(acceptableVerdicts)('refuses %s if the evidence is not shown to be up to date, and says why', (verdict) => {
  const notCurrent = [{ name: 'snp.revocation', outcome: 'not_made', reason: "AMD's revocation list was not given" }];
  const verified = { verdict, checks: [], origin: 'https://b.example', isCurrent: true, notCurrent: [] };
  const terms = { minimumVerdict: verdict, pins: { gateway: {} } };
  requireAccepted(verified as unknown as OriginVerification, terms);
  const outdated = { ...verified, isCurrent: false, notCurrent } as unknown as OriginVerification;
  expect(() => requireAccepted(outdated, terms)).toThrow(
    expect.objectContaining({
      code: 'attestation_untrusted',
      message: expect.stringContaining(
        "Not shown to be up to date: snp.revocation (AMD's revocation list was not given).",
      ),
    }),
  );
});

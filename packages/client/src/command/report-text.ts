import type { Check } from '@sotto/attestation';
import type { OriginVerification } from '../gateway/verify-origin.ts';
import type { VerificationReport } from '../report/verify.ts';

/** A report for people: one line a check, with its reason. */
export function reportText({ gateway }: VerificationReport): string {
  return [
    ...standing(gateway),
    '',
    ...checkLines(gateway.checks),
    ...(gateway.keySet?.tls_public_keys ?? []).map((key) => `TLS key of ${key.origin}: sha256 ${key.spki_sha256}`),
    '',
  ].join('\n');
}

/** A report for programs. */
export function reportJson({ gateway }: VerificationReport): string {
  const { origin, nonce, verifiedAt, verdict, teeType, tlsKeySeen, absence, checks, keySet } = gateway;
  return `${JSON.stringify(
    {
      origin,
      nonce,
      verified_at: new Date(verifiedAt).toISOString(),
      verdict,
      tee_type: teeType ?? null,
      tls_key_seen: tlsKeySeen,
      ...(absence === undefined ? {} : { absence }),
      checks,
      key_set: keySet ?? null,
    },
    undefined,
    2,
  )}\n`;
}

function standing({ origin, verdict, teeType, verifiedAt, tlsKeySeen, absence }: OriginVerification): string[] {
  return [
    `Confidential origin  ${origin}`,
    `Verdict              ${verdict}`,
    `Evidence             ${teeType ?? 'none'}${teeType === 'simulated' ? ': no hardware protects anything' : ''}`,
    `TLS key              ${tlsKeySeen ? 'seen' : 'not seen: the connection is not TLS, or its key is hidden'}`,
    `Verified at          ${new Date(verifiedAt).toISOString()}`,
    ...(absence === undefined ? [] : [`Why                  ${absence}`]),
  ];
}

const words = { passed: 'passed  ', failed: 'FAILED  ', not_made: 'not made' } as const;

function checkLines(checks: readonly Check[]): string[] {
  const width = Math.max(0, ...checks.map(({ name }) => name.length));
  return checks.map((check) => {
    const reason = check.outcome === 'passed' ? '' : `  ${check.reason}`;
    return `  ${words[check.outcome]}  ${reason === '' ? check.name : check.name.padEnd(width)}${reason}`;
  });
}

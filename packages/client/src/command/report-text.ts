import type { Check } from '@sotto/attestation';
import type { EnclaveVerification } from '../enclave/verify-enclave.ts';
import type { OriginVerification } from '../gateway/verify-origin.ts';
import { type EnclaveAbsence, isVerified, type VerificationReport } from '../report/verify.ts';
import { printableLine } from './terminal.ts';

/** A report for people: one line a check, with its reason. */
export function reportText({ gateway, enclave }: VerificationReport): string {
  return [
    ...standing(gateway),
    '',
    ...checkLines(gateway.checks),
    ...(enclave === undefined ? [] : ['', ...enclaveLines(enclave)]),
    ...(gateway.keySet?.tls_public_keys ?? []).map((key) => `TLS key of ${key.origin}: sha256 ${key.spki_sha256}`),
    '',
  ].join('\n');
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

function enclaveLines(enclave: EnclaveVerification | EnclaveAbsence): string[] {
  if (!isVerified(enclave))
    return [`Provider             no evidence: ${printableLine(`${enclave.type}: ${enclave.message}`)}`];
  const { provider, model, verdict, contentVisible, gpu, checks, tlsSpkiSha256 } = enclave;
  return [
    `Provider             ${printableLine(provider)}, for ${printableLine(model)}`,
    `Verdict              ${verdict}`,
    `Content              ${contentVisible ? 'the service sees it' : 'only the enclave can read it'}`,
    `GPUs                 ${gpu.standing}${gpu.reason === undefined ? '' : `: ${printableLine(gpu.reason)}`}`,
    '',
    ...checkLines(checks),
    ...tlsSpkiSha256.map((spki) => `TLS key of the enclave: sha256 ${spki}`),
  ];
}

const words = { passed: 'passed  ', failed: 'FAILED  ', not_made: 'not made' } as const;

function checkLines(checks: readonly Check[]): string[] {
  const width = Math.max(0, ...checks.map(({ name }) => name.length));
  return checks.map((check) => {
    const reason = check.outcome === 'passed' ? '' : `  ${printableLine(check.reason)}`;
    return `  ${words[check.outcome]}  ${reason === '' ? check.name : check.name.padEnd(width)}${reason}`;
  });
}

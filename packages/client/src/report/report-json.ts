import type { EnclaveVerification } from '../enclave/verify-enclave.ts';
import { type EnclaveAbsence, isVerified, type VerificationReport } from './verify.ts';

/** A report for programs. */
export function reportJson({ gateway, enclave }: VerificationReport): string {
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
      ...(enclave === undefined ? {} : { enclave: enclaveJson(enclave) }),
    },
    undefined,
    2,
  )}\n`;
}

function enclaveJson(enclave: EnclaveVerification | EnclaveAbsence): object {
  if (!isVerified(enclave)) return { verdict: 'unavailable', ...enclave };
  const { provider, model, nonce, verifiedAt, verdict, contentVisible, isCurrent, gpu, checks, sessionId } = enclave;
  return {
    provider,
    model,
    nonce,
    verified_at: new Date(verifiedAt).toISOString(),
    verdict,
    content_visible: contentVisible,
    is_current: isCurrent,
    gpu,
    session_id: sessionId ?? null,
    checks,
  };
}

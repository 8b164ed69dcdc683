import type { EvidenceReading } from '../gateway/platform.ts';

/** Reads an answer of `GET /v1/gateway/attestation`; says why where it holds no evidence. */
export function parseEvidence(status: number, text: string): Pick<EvidenceReading, 'document' | 'absence'> {
  if (status === 200) {
    try {
      return { document: JSON.parse(text) };
    } catch {
      // What is no JSON is evidence of nothing, and not the same as none: the verifier refuses it.
      return { document: null };
    }
  }
  return { document: undefined, absence: absences[status] ?? `The service answered with status ${status}.` };
}

const absences: Readonly<Record<number, string>> = {
  404: 'The service offers no attestation.',
  429: 'The service is asked for evidence too often. Try again in a minute.',
  503: 'The service cannot give evidence now. Try again shortly.',
};

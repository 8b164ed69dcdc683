import { z } from 'zod';
import { type DstackReport, dstackReportSchema, machineOf, signingAlgorithm, signingOf } from './dstack-report.ts';
import { ask, type EvidenceQuestion, NoEvidence, queryOf, type ShownEvidence } from './evidence-question.ts';

const answerSchema = z.object({
  gateway_attestation: dstackReportSchema.optional(),
  model_attestations: z.array(dstackReportSchema).max(64).optional(),
});

/**
 * NEAR AI (nearai/cloud-api, `GET /v1/attestation/report`). For `tee`, returns the machine that ends our TLS
 * connection: the gateway's or the model's own. For `e2ee`, returns a machine of the model.
 */
export async function askNear(question: EvidenceQuestion): Promise<ShownEvidence> {
  const { nonce, upstreamModel, privacyClass } = question;
  const isTee = privacyClass === 'tee';
  const query = { model: upstreamModel, signing_algo: signingAlgorithm, nonce, include_tls_fingerprint: String(isTee) };
  const answer = await ask(
    question,
    `/attestation/report${queryOf(query)}`,
    z.union([dstackReportSchema, answerSchema]),
  );
  const report = 'intel_quote' in answer ? answer : chosen(answer, question);
  if (report === undefined) throw new NoEvidence('it has no evidence of such a machine');
  const spki = report.tls_cert_fingerprint;
  return {
    machine: machineOf(report),
    evidence: {
      ...(report.model_name === undefined ? {} : { model_name: report.model_name }),
      ...signingOf(report),
      ...(spki == null ? {} : { tls_spki_sha256: spki }),
    },
  };
}

function chosen(
  { gateway_attestation: gateway, model_attestations: models = [] }: z.infer<typeof answerSchema>,
  { privacyClass, upstreamModel }: EvidenceQuestion,
): DstackReport | undefined {
  if (privacyClass === 'tee' && gateway !== undefined) return gateway;
  return models.find((model) => model.model_name === undefined || model.model_name === upstreamModel);
}

import { z } from 'zod';
import { gpuOf } from './dstack-report.ts';
import { ask, type EvidenceQuestion, hexSchema, NoEvidence, queryOf, type ShownEvidence } from './evidence-question.ts';

/** Omits `verified` and `server_verification`: they are Venice's own claims about its evidence. */
const answerSchema = z.object({
  model: z.string().optional(),
  intel_quote: hexSchema,
  signing_key: hexSchema.optional(),
  signing_public_key: hexSchema.optional(),
  nvidia_payload: z.unknown().optional(),
});

/** Venice: `GET /tee/attestation`. */
export async function askVenice(question: EvidenceQuestion): Promise<ShownEvidence> {
  const query = { model: question.upstreamModel, nonce: question.nonce };
  const answer = await ask(question, `/tee/attestation${queryOf(query)}`, answerSchema);
  const key = answer.signing_public_key ?? answer.signing_key;
  if (key === undefined) throw new NoEvidence('its answer lacks signing_public_key');
  return {
    machine: { teeType: 'tdx', quote: Buffer.from(answer.intel_quote, 'hex') },
    evidence: {
      ...(answer.model === undefined ? {} : { model_name: answer.model }),
      signing_public_key: key,
      ...gpuOf(answer.nvidia_payload),
    },
  };
}

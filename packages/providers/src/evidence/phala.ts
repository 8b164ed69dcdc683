import * as z from 'zod';
import { dstackReportSchema, machineOf, signingAlgorithm, signingOf } from './dstack-report.ts';
import {
  ask,
  type EvidenceQuestion,
  hexSchema,
  infoSchema,
  NoEvidence,
  queryOf,
  readAnswer,
  type ShownEvidence,
} from './evidence-question.ts';

const gatewaySchema = z.object({
  attestation: z.object({
    tee_type: z.literal('tdx'),
    workload_keyset: z.record(z.string(), z.unknown()),
    evidence: z.object({
      quote: hexSchema,
      event_log: z.unknown().optional(),
      app_compose: z.string().nullish(),
      info: infoSchema.optional().catch(undefined),
    }),
  }),
});

/** Phala: asks private-ai-gateway if the address serves one, otherwise dstack-vllm-proxy. */
export async function askPhala(question: EvidenceQuestion): Promise<ShownEvidence> {
  const { nonce, upstreamModel, documents } = question;
  const gateway = await documents.get(`/aci/attestation${queryOf({ nonce })}`).catch(() => {
    throw new NoEvidence('it could not be reached');
  });
  if (gateway.status === 200) {
    const { evidence, workload_keyset } = readAnswer(gateway.body, gatewaySchema).attestation;
    const appCompose = evidence.app_compose ?? evidence.info;
    return {
      machine: {
        teeType: 'tdx',
        quote: Buffer.from(evidence.quote, 'hex'),
        ...(evidence.event_log == null ? {} : { eventLog: evidence.event_log }),
        ...(appCompose === undefined ? {} : { appCompose }),
      },
      evidence: { protocol: 'aci', key_set: workload_keyset },
    };
  }
  const query = { version: '2', model: upstreamModel, signing_algo: signingAlgorithm, nonce };
  const report = await ask(question, `/attestation/report${queryOf(query)}`, dstackReportSchema);
  return { machine: machineOf(report), evidence: { protocol: 'vllm-proxy', ...signingOf(report) } };
}

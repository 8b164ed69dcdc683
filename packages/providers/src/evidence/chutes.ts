import * as z from 'zod';
import { gpuOf } from './dstack-report.ts';
import { ask, type EvidenceQuestion, NoEvidence, queryOf, type ShownEvidence } from './evidence-question.ts';

const base64 = z.string().max(131_072);
const instancesSchema = z.object({
  instances: z
    .array(z.object({ instance_id: z.string(), e2e_pubkey: z.string().max(2048), nonces: z.array(z.string()).max(64) }))
    .max(64),
  nonce_expires_in: z.number().positive().max(3600),
});
const evidenceSchema = z.object({
  evidence: z
    .array(
      z.object({
        instance_id: z.string(),
        quote: base64,
        certificate: base64.nullish(),
        gpu_evidence: z.unknown().optional(),
      }),
    )
    .max(64),
});
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Safety margin: a nonce's lifetime begins before it arrives here. */
const marginMs = 5_000;

/** Chutes: returns one instance of the chute that the route names, with its key and one of its single-use nonces. */
export async function askChutes(question: EvidenceQuestion): Promise<ShownEvidence> {
  const { upstreamModel, nonce, privacyClass, now } = question;
  const chuteId = upstreamModel.slice(upstreamModel.lastIndexOf('@') + 1);
  if (!uuid.test(chuteId)) throw new NoEvidence('its upstream_model names no chute, as in model@uuid');
  const { instances, nonce_expires_in: expiresInS } = await ask(question, `/e2e/instances/${chuteId}`, instancesSchema);
  const { evidence } = await ask(question, `/chutes/${chuteId}/evidence${queryOf({ nonce })}`, evidenceSchema);
  for (const { instance_id: id, e2e_pubkey, nonces } of instances) {
    const shown = evidence.find((candidate) => candidate.instance_id === id);
    const [e2eNonce] = nonces;
    if (shown === undefined || (privacyClass === 'e2ee' && e2eNonce === undefined)) continue;
    return {
      machine: { teeType: 'tdx', quote: Buffer.from(shown.quote, 'base64') },
      evidence: {
        chute_id: chuteId,
        instance_id: id,
        e2e_pubkey,
        ...(shown.certificate == null ? {} : { certificate: derOf(shown.certificate) }),
        ...(privacyClass === 'tee'
          ? {}
          : { e2e_nonce: e2eNonce, e2e_nonce_expires_at: Math.floor(now + expiresInS * 1000 - marginMs) }),
        ...gpuOf(shown.gpu_evidence),
      },
    };
  }
  throw new NoEvidence('none of its instances has both a key and evidence');
}

/** A certificate comes as PEM, or as DER in base64. */
const derOf = (text: string): string =>
  Buffer.from(text.replace(/-----(?:BEGIN|END) CERTIFICATE-----/g, ''), 'base64').toString('base64');

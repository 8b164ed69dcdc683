import { gunzipSync } from 'node:zlib';
import * as z from 'zod';
import { askChutes } from './chutes.ts';
import {
  type DstackReport,
  dstackReportSchema,
  gpuOf,
  machineOf,
  signingAlgorithm,
  signingOf,
} from './dstack-report.ts';
import { ask, type EvidenceQuestion, hexSchema, NoEvidence, queryOf, type ShownEvidence } from './evidence-question.ts';
import { askPhala } from './phala.ts';

/** The functions that fetch an enclave's evidence, by provider family. They do not verify it. Each throws `NoEvidence`. */
export const evidenceFamilies = {
  near: askNear,
  phala: askPhala,
  venice: askVenice,
  tinfoil: askTinfoil,
  chutes: askChutes,
} satisfies Readonly<Record<string, (question: EvidenceQuestion) => Promise<ShownEvidence>>>;

const tinfoilSchema = z.object({ format: z.string(), body: z.string().max(131_072) });
const formats: ReadonlyMap<string, 'tdx' | 'sev_snp'> = new Map([
  ['https://tinfoil.sh/predicate/tdx-guest/v2', 'tdx'],
  ['https://tinfoil.sh/predicate/sev-snp-guest/v2', 'sev_snp'],
]);
const maxBytes = 65_536;

/** Tinfoil: fetches evidence that was made once, from its well-known path. */
async function askTinfoil(question: EvidenceQuestion): Promise<ShownEvidence> {
  const { format, body } = await ask(question, '/.well-known/tinfoil-attestation', tinfoilSchema, { atRoot: true });
  const teeType = formats.get(format);
  if (teeType === undefined) throw new NoEvidence('its evidence is of an unknown format');
  const bytes = unpacked(body);
  const machine = teeType === 'tdx' ? { teeType, quote: bytes } : { teeType, report: bytes };
  return { machine, evidence: {} };
}

function unpacked(base64: string): Buffer {
  try {
    return gunzipSync(Buffer.from(base64, 'base64'), { maxOutputLength: maxBytes });
  } catch {
    throw new NoEvidence('its evidence cannot be unpacked');
  }
}

/** Omits `verified` and `server_verification`: they are Venice's own claims about its evidence. */
const veniceSchema = z.object({
  model: z.string().optional(),
  intel_quote: hexSchema,
  signing_key: hexSchema.optional(),
  signing_public_key: hexSchema.optional(),
  nvidia_payload: z.unknown().optional(),
});

/** Venice: `GET /tee/attestation`. */
async function askVenice(question: EvidenceQuestion): Promise<ShownEvidence> {
  const query = { model: question.upstreamModel, nonce: question.nonce };
  const answer = await ask(question, `/tee/attestation${queryOf(query)}`, veniceSchema);
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

const nearSchema = z.object({
  gateway_attestation: dstackReportSchema.optional(),
  model_attestations: z.array(dstackReportSchema).max(64).optional(),
});

/**
 * NEAR AI (nearai/cloud-api, `GET /v1/attestation/report`). For `tee`, returns the machine that ends our TLS
 * connection: the gateway's or the model's own. For `e2ee`, returns a machine of the model.
 */
async function askNear(question: EvidenceQuestion): Promise<ShownEvidence> {
  const { nonce, upstreamModel, privacyClass } = question;
  const isTee = privacyClass === 'tee';
  const query = { model: upstreamModel, signing_algo: signingAlgorithm, nonce, include_tls_fingerprint: String(isTee) };
  const answer = await ask(question, `/attestation/report${queryOf(query)}`, z.union([dstackReportSchema, nearSchema]));
  const report = 'intel_quote' in answer ? answer : chosenMachine(answer, question);
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

function chosenMachine(
  { gateway_attestation: gateway, model_attestations: models = [] }: z.infer<typeof nearSchema>,
  { privacyClass, upstreamModel }: EvidenceQuestion,
): DstackReport | undefined {
  if (privacyClass === 'tee' && gateway !== undefined) return gateway;
  return models.find((model) => model.model_name === undefined || model.model_name === upstreamModel);
}

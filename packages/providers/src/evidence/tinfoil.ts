import { gunzipSync } from 'node:zlib';
import { z } from 'zod';
import { ask, type EvidenceQuestion, NoEvidence, type ShownEvidence } from './evidence-question.ts';

const answerSchema = z.object({ format: z.string(), body: z.string().max(131_072) });
const formats: ReadonlyMap<string, 'tdx' | 'sev_snp'> = new Map([
  ['https://tinfoil.sh/predicate/tdx-guest/v2', 'tdx'],
  ['https://tinfoil.sh/predicate/sev-snp-guest/v2', 'sev_snp'],
]);
const maxBytes = 65_536;

/** Tinfoil: fetches evidence that was made once, from its well-known path. */
export async function askTinfoil(question: EvidenceQuestion): Promise<ShownEvidence> {
  const { format, body } = await ask(question, '/.well-known/tinfoil-attestation', answerSchema, { atRoot: true });
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

import { askChutes } from './chutes.ts';
import type { EvidenceQuestion, ShownEvidence } from './evidence-question.ts';
import { askNear } from './near.ts';
import { askPhala } from './phala.ts';
import { askTinfoil } from './tinfoil.ts';
import { askVenice } from './venice.ts';

/** The functions that fetch an enclave's evidence, by provider family. They do not verify it. Each throws `NoEvidence`. */
export const evidenceFamilies = {
  near: askNear,
  phala: askPhala,
  venice: askVenice,
  tinfoil: askTinfoil,
  chutes: askChutes,
} satisfies Readonly<Record<string, (question: EvidenceQuestion) => Promise<ShownEvidence>>>;

import * as z from 'zod';
import type { VerificationTime } from '../moment.ts';
import type { GpuStanding, NvidiaEvidence, NvidiaVerification } from '../nvidia/verify-nvidia.ts';
import { jsonOf } from '../refusal.ts';
import type { GpuEvidence } from './provider-evidence.ts';

/** The findings about the provider's GPUs. They never change the verdict. */
export interface ProviderGpu {
  readonly standing: GpuStanding;
  /** Why the standing is not higher. */
  readonly reason?: string;
  readonly models: readonly string[];
}

export type VerifyNvidia = (
  evidence: NvidiaEvidence,
  nonce: string,
  time: VerificationTime,
) => Promise<NvidiaVerification>;

const maximumText = 4_194_304;
const oneGpu = z.object({
  certificate: z.string().max(262_144),
  evidence: z.string().max(262_144),
  nonce: z.string().max(256).optional(),
});
const gpuList = z.array(oneGpu).min(1).max(16);
/** NEAR AI, Phala and Venice wrap the list and name the nonce once. Chutes sends only the list. */
const payloadSchema = z.union([
  z.object({ nonce: z.string().max(256), evidence_list: gpuList }),
  gpuList.transform((evidence_list) => ({ nonce: undefined, evidence_list })),
]);

const refuted = (reason: string): ProviderGpu => ({ standing: 'refuted', reason, models: [] });

/**
 * Checks the evidence of GPUs for `nonce` (64 lower-case hex digits): the verifier's own, never the one in the
 * evidence. Malformed evidence is refuted. Tokens and their keys come with the document, so only tokens under NVIDIA's
 * own chain identify models.
 */
export async function checkGpu(
  gpu: GpuEvidence | undefined,
  { nonce, time, verifyNvidia }: { nonce: string | undefined; time: VerificationTime; verifyNvidia: VerifyNvidia },
): Promise<ProviderGpu> {
  if (gpu?.payload === undefined && gpu?.tokens === undefined) return { standing: 'none', models: [] };
  if (nonce === undefined) {
    return { standing: 'none', reason: 'it is not known for which nonce it has to be', models: [] };
  }
  if (gpu.payload !== undefined) {
    const problem = problemOf(gpu.payload, nonce);
    if (problem !== undefined) return refuted(problem);
  }
  if (gpu.tokens === undefined) {
    return { standing: 'none', reason: 'NVIDIA was not asked about the evidence', models: [] };
  }
  const { standing, checks, gpus } = await verifyNvidia({ tokens: gpu.tokens, keySet: gpu.key_set }, nonce, time);
  const models = standing === 'token_checked' ? gpus.map(({ model }) => model) : [];
  const [reason] = checks.flatMap((check) => (check.outcome === 'passed' ? [] : [check.reason]));
  return { standing, ...(reason !== undefined && { reason }), models };
}

function problemOf(payload: unknown, nonce: string): string | undefined {
  const parsed = payloadSchema.safeParse(typeof payload === 'string' ? payloadIn(payload) : payload);
  if (!parsed.success) return 'the evidence of the GPUs is malformed';
  const named = [parsed.data.nonce, ...parsed.data.evidence_list.map((one) => one.nonce)];
  const other = named.some((text) => text !== undefined && text.toLowerCase() !== nonce);
  return other ? 'the evidence of the GPUs is for another nonce' : undefined;
}

const payloadIn = (text: string): unknown => (text.length > maximumText ? undefined : jsonOf(text));

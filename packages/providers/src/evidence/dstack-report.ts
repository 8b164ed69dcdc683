import * as z from 'zod';
import { hexSchema, infoSchema, type ShownMachine } from './evidence-question.ts';

/** A report of NEAR AI's inference proxy or of dstack-vllm-proxy. The results of their own checks are left out. */
export const dstackReportSchema = z.object({
  model_name: z.string().optional(),
  signing_algo: z.enum(['ecdsa', 'ed25519']).optional(),
  signing_address: hexSchema,
  signing_public_key: hexSchema.optional(),
  intel_quote: hexSchema,
  event_log: z.unknown().optional(),
  info: infoSchema.optional().catch(undefined),
  nvidia_payload: z.unknown().optional(),
  tls_cert_fingerprint: hexSchema.nullish(),
});
export type DstackReport = z.infer<typeof dstackReportSchema>;

export const signingAlgorithm = 'ed25519';

export const machineOf = ({ intel_quote: quote, event_log: eventLog, info }: DstackReport): ShownMachine => ({
  teeType: 'tdx',
  quote: Buffer.from(quote, 'hex'),
  ...(eventLog == null ? {} : { eventLog }),
  ...(info === undefined ? {} : { appCompose: info }),
});

export const signingOf = (report: DstackReport): Record<string, unknown> => ({
  signing_algo: report.signing_algo ?? signingAlgorithm,
  signing_address: report.signing_address,
  ...(report.signing_public_key === undefined ? {} : { signing_public_key: report.signing_public_key }),
  ...gpuOf(report.nvidia_payload),
});

export const gpuOf = (payload: unknown): Record<string, unknown> => (payload == null ? {} : { gpu: { payload } });

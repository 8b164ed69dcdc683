import * as z from 'zod';
import { evidenceBytes } from './bytes.ts';
import type { SnpEvidence } from './snp/verify-snp.ts';

/** Base64 of at most so many bytes. */
export const base64 = (bytes: number) => z.string().max(Math.ceil(bytes / 3) * 4);
export const appCompose = z.string().max(1_048_576).optional();

/** A TDX machine, as every evidence document shows it. */
export const tdxMachineSchema = z
  .object({
    tee_type: z.literal('tdx'),
    quote: base64(65_536),
    /** Has the shape of `tdxCollateralSchema`. */
    collateral: z.unknown().optional(),
    event_log: z.unknown().optional(),
    app_compose: appCompose,
  })
  .meta({ title: 'TdxMachine' });

/** A SEV-SNP machine, as every evidence document shows it. */
export const snpMachineSchema = z
  .object({
    tee_type: z.literal('sev_snp'),
    report: base64(1184),
    endorsement_key: base64(16_384),
    intermediate: base64(16_384),
    revocation_list: base64(4_194_304).optional(),
  })
  .meta({ title: 'SnpMachine' });

/** The bytes of a SEV-SNP machine's evidence. */
export const snpEvidenceOf = (shown: z.infer<typeof snpMachineSchema>) =>
  ({
    report: evidenceBytes(shown.report),
    endorsementKey: evidenceBytes(shown.endorsement_key),
    intermediate: evidenceBytes(shown.intermediate),
    revocationList: shown.revocation_list === undefined ? undefined : evidenceBytes(shown.revocation_list),
  }) satisfies SnpEvidence;

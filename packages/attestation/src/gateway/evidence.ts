import * as z from 'zod';

const base64 = (bytes: number) => z.string().max(Math.ceil(bytes / 3) * 4);
const machineConfig = z.string().max(65_536).optional();
const appCompose = z.string().max(1_048_576).optional();

const tdxEvidenceSchema = z.object({
  tee_type: z.literal('tdx'),
  quote: base64(65_536),
  /** Of the shape of `tdxCollateralSchema`. */
  collateral: z.unknown().optional(),
  event_log: z.unknown().optional(),
  app_compose: appCompose,
  machine_config: machineConfig,
});
export type GatewayTdxEvidence = z.infer<typeof tdxEvidenceSchema>;

const snpEvidenceSchema = z.object({
  tee_type: z.literal('sev_snp'),
  report: base64(1184),
  endorsement_key: base64(16_384),
  intermediate: base64(16_384),
  revocation_list: base64(4_194_304).optional(),
  app_compose: appCompose,
  machine_config: machineConfig,
});
export type GatewaySnpEvidence = z.infer<typeof snpEvidenceSchema>;

/** A type of its own, so that no field of it can be handed to a verifier of hardware. */
const simulatedEvidenceSchema = z.object({
  tee_type: z.literal('simulated'),
  simulated: z.literal(true),
  simulated_evidence: base64(256),
});

/**
 * What the gateway's image says it was built from. A claim: hardware measures images, not repositories. `gateway.provenance`
 * compares the digest with what was measured.
 */
export const provenanceSchema = z.object({
  /** Where the source is. */
  repository: z.url({ protocol: /^https$/ }).max(512),
  commit: z
    .string()
    .regex(/^[0-9a-f]{40}(?:[0-9a-f]{24})?$/, 'must be a full commit id: 40 or 64 lower-case hex digits'),
  image_digest: z.string().regex(/^sha256:[0-9a-f]{64}$/, 'must be `sha256:` and 64 lower-case hex digits'),
});
export type Provenance = z.infer<typeof provenanceSchema>;

/**
 * The answer of `GET /gateway/attestation` (interface 4.2): the key set, and evidence whose report data is the digest of the
 * statement about it. The statement itself is not in it: whoever verifies builds it from their own nonce and origin. Bytes
 * are base64 (RFC 4648, padded).
 */
export const gatewayEvidenceSchema = z.object({
  version: z.literal('sotto.gateway.evidence.v1'),
  key_set: z.record(z.string(), z.unknown()),
  evidence: z.discriminatedUnion('tee_type', [tdxEvidenceSchema, snpEvidenceSchema, simulatedEvidenceSchema]),
  provenance: provenanceSchema.optional(),
});
export type GatewayEvidence = z.infer<typeof gatewayEvidenceSchema>;

import * as z from 'zod';
import { appCompose, base64, snpMachineSchema, tdxMachineSchema } from '../hardware-evidence.ts';
import { channelProofSchema } from '../statement/channel-tree.ts';
import { commitSchema } from '../text-schemas.ts';

const machineConfig = z.string().max(65_536).optional();

const tdxEvidenceSchema = tdxMachineSchema
  .extend({ machine_config: machineConfig })
  .meta({ title: 'TdxGatewayEvidence' });
export type GatewayTdxEvidence = z.infer<typeof tdxEvidenceSchema>;

const snpEvidenceSchema = snpMachineSchema
  .extend({ app_compose: appCompose, machine_config: machineConfig })
  .meta({ title: 'SnpGatewayEvidence' });
export type GatewaySnpEvidence = z.infer<typeof snpEvidenceSchema>;

/** A separate type, so that none of its fields can reach a verifier of hardware. */
const simulatedEvidenceSchema = z
  .object({
    tee_type: z.literal('simulated'),
    simulated: z.literal(true),
    simulated_evidence: base64(256),
  })
  .meta({ title: 'SimulatedGatewayEvidence' });

/**
 * The source that the gateway's image claims to be built from. It is a claim, because hardware measures images, not
 * repositories. The check `gateway.provenance` compares the digest with the measured one.
 */
export const provenanceSchema = z.object({
  /** Where the source is published. */
  repository: z.url({ protocol: /^https$/ }).max(512),
  commit: commitSchema,
  image_digest: z.string().regex(/^sha256:[0-9a-f]{64}$/, 'must be `sha256:` and 64 lower-case hex digits'),
});
export type Provenance = z.infer<typeof provenanceSchema>;

/**
 * The answer of `GET /gateway/attestation`: the key set, and evidence whose report data is the digest of a statement
 * about it. It omits the statement, because each verifier builds that from its own nonce and origin. Bytes are base64
 * (RFC 4648, padded).
 */
export const gatewayEvidenceSchema = z.object({
  version: z.literal('sotto.gateway.evidence.v1'),
  key_set: z.record(z.string(), z.unknown()),
  evidence: z.discriminatedUnion('tee_type', [tdxEvidenceSchema, snpEvidenceSchema, simulatedEvidenceSchema]),
  provenance: provenanceSchema.optional(),
  /** The place of the client's connection among those that this evidence binds. Absent: it binds a nonce and keys only. */
  channel: channelProofSchema.optional(),
});
export type GatewayEvidence = z.infer<typeof gatewayEvidenceSchema>;

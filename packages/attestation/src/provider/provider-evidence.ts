import * as z from 'zod';
import { base64, snpMachineSchema, tdxMachineSchema } from '../hardware-evidence.ts';

const hex = (bytes: number) => z.string().regex(new RegExp(`^[0-9a-f]{${2 * bytes}}$`));
/** Well-formed Unicode, because canonical JSON cannot contain anything else. */
const name = z
  .string()
  .min(1)
  .max(512)
  .refine((text) => text.isWellFormed());

const machineSchema = z.discriminatedUnion('tee_type', [tdxMachineSchema, snpMachineSchema]);
export type MachineEvidence = z.infer<typeof machineSchema>;

/**
 * GPU evidence as the provider returns it, and the answer of NVIDIA's service if it was asked. This schema does not
 * read either.
 */
const gpuSchema = z
  .object({
    payload: z.unknown().optional(),
    tokens: z.unknown().optional(),
    key_set: z.unknown().optional(),
  })
  .meta({ title: 'GpuEvidence' });
export type GpuEvidence = z.infer<typeof gpuSchema>;

/** A signing key as NEAR AI, dstack-vllm-proxy and Venice show it. Hex without `0x`, lower case. */
const signingKey = {
  signing_algo: z.enum(['ecdsa', 'ed25519']),
  /** The 20 bytes of an Ethereum address, or the 32 bytes of an Ed25519 key. */
  signing_address: z.union([hex(20), hex(32)]),
  signing_public_key: z.union([hex(32), hex(64), hex(65)]).optional(),
};

const nearSchema = z
  .object({
    machine: tdxMachineSchema,
    model_name: name.optional(),
    ...signingKey,
    /** Present if the report data also binds the TLS key. */
    tls_spki_sha256: hex(32).optional(),
    gpu: gpuSchema.optional(),
  })
  .meta({ title: 'NearEvidence' });
export type NearEvidence = z.infer<typeof nearSchema>;

const vllmProxySchema = z
  .object({
    protocol: z.literal('vllm-proxy'),
    machine: tdxMachineSchema,
    ...signingKey,
    gpu: gpuSchema.optional(),
  })
  .meta({ title: 'VllmProxyEvidence' });
const aciSchema = z
  .object({
    protocol: z.literal('aci'),
    machine: tdxMachineSchema,
    /** The workload key set as received: its digest is in the report data. */
    key_set: z.record(z.string(), z.unknown()),
  })
  .meta({ title: 'AciEvidence' });
const phalaSchema = z.discriminatedUnion('protocol', [vllmProxySchema, aciSchema]);
export type PhalaEvidence = z.infer<typeof phalaSchema>;

const veniceSchema = z
  .object({
    machine: tdxMachineSchema,
    model_name: name.optional(),
    signing_public_key: z.union([hex(64), hex(65)]),
    gpu: gpuSchema.optional(),
  })
  .meta({ title: 'VeniceEvidence' });
export type VeniceEvidence = z.infer<typeof veniceSchema>;

const tinfoilSchema = z.object({ machine: machineSchema }).meta({ title: 'TinfoilEvidence' });

const chutesSchema = z
  .object({
    machine: tdxMachineSchema,
    chute_id: name,
    instance_id: name,
    /** The text of the instance's ML-KEM key, byte for byte: the report data covers the text. */
    e2e_pubkey: z.string().max(2048),
    /** The instance's TLS certificate, DER. */
    certificate: base64(16_384).optional(),
    /** One single-use nonce of the instance, and when it expires (Unix ms). For an end-to-end-encrypted request. */
    e2e_nonce: z.string().min(8).max(256).optional(),
    e2e_nonce_expires_at: z.int().min(0).optional(),
    gpu: gpuSchema.optional(),
  })
  .meta({ title: 'ChutesEvidence' });
export type ChutesEvidence = z.infer<typeof chutesSchema>;

const route = {
  version: z.literal('sotto.provider.evidence.v1'),
  /** The provider's public id in the catalog. */
  provider: name,
  model: name,
  upstream_model: name,
  privacy_class: z.enum(['tee', 'e2ee']),
  /** The nonce that was sent to the provider: 64 lower-case hex digits. */
  nonce: hex(32),
  obtained_at: z.iso.datetime(),
};

/**
 * Evidence of a provider's enclave as one document (hop 2): its route and the provider's evidence, in one form for all
 * families. Bytes are base64 (RFC 4648, padded) or hex. It omits the provider's own claims about its evidence:
 * verifiers use the quote, their own nonce and their own pins.
 */
export const providerEvidenceSchema = z.discriminatedUnion('family', [
  z.object({ ...route, family: z.literal('near'), evidence: nearSchema }).meta({ title: 'NearProviderEvidence' }),
  z.object({ ...route, family: z.literal('phala'), evidence: phalaSchema }).meta({ title: 'PhalaProviderEvidence' }),
  z.object({ ...route, family: z.literal('venice'), evidence: veniceSchema }).meta({ title: 'VeniceProviderEvidence' }),
  z
    .object({ ...route, family: z.literal('tinfoil'), evidence: tinfoilSchema })
    .meta({ title: 'TinfoilProviderEvidence' }),
  z.object({ ...route, family: z.literal('chutes'), evidence: chutesSchema }).meta({ title: 'ChutesProviderEvidence' }),
]);
export type ProviderEvidence = z.infer<typeof providerEvidenceSchema>;
export type ProviderFamily = ProviderEvidence['family'];
export const providerFamilies = [
  'near',
  'phala',
  'venice',
  'tinfoil',
  'chutes',
] as const satisfies readonly ProviderFamily[];

import * as z from 'zod';

const base64 = (bytes: number) => z.string().max(Math.ceil(bytes / 3) * 4);
const hex = (bytes: number) => z.string().regex(new RegExp(`^[0-9a-f]{${2 * bytes}}$`));
const loneSurrogate = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;
/** Unicode: names go into canonical JSON, which holds nothing else. */
const name = z
  .string()
  .min(1)
  .max(512)
  .refine((text) => !loneSurrogate.test(text));

const tdxMachineSchema = z.object({
  tee_type: z.literal('tdx'),
  quote: base64(65_536),
  /** Of the shape of `tdxCollateralSchema`. */
  collateral: z.unknown().optional(),
  event_log: z.unknown().optional(),
  app_compose: z.string().max(1_048_576).optional(),
});

const snpMachineSchema = z.object({
  tee_type: z.literal('sev_snp'),
  report: base64(1184),
  endorsement_key: base64(16_384),
  intermediate: base64(16_384),
  revocation_list: base64(4_194_304).optional(),
});

const machineSchema = z.discriminatedUnion('tee_type', [tdxMachineSchema, snpMachineSchema]);
export type MachineEvidence = z.infer<typeof machineSchema>;

/** GPUs, as the provider shows them, and what NVIDIA's service said of them where it was asked. None of it is read here. */
const gpuSchema = z.object({
  payload: z.unknown().optional(),
  tokens: z.unknown().optional(),
  key_set: z.unknown().optional(),
});
export type GpuEvidence = z.infer<typeof gpuSchema>;

/** A signing key as NEAR AI, dstack-vllm-proxy and Venice show it. Hex without `0x`, lower case. */
const signingKey = {
  signing_algo: z.enum(['ecdsa', 'ed25519']),
  /** 20 bytes of an Ethereum address, or the 32 bytes of an Ed25519 key. */
  signing_address: z.union([hex(20), hex(32)]),
  signing_public_key: z.union([hex(32), hex(64), hex(65)]).optional(),
};

const nearSchema = z.object({
  machine: tdxMachineSchema,
  model_name: name.optional(),
  ...signingKey,
  /** Where the report data binds the TLS key, too. */
  tls_spki_sha256: hex(32).optional(),
  gpu: gpuSchema.optional(),
});
export type NearEvidence = z.infer<typeof nearSchema>;

const vllmProxySchema = z.object({
  protocol: z.literal('vllm-proxy'),
  machine: tdxMachineSchema,
  ...signingKey,
  gpu: gpuSchema.optional(),
});
const aciSchema = z.object({
  protocol: z.literal('aci'),
  machine: tdxMachineSchema,
  /** The workload key set, as it was received: its digest is in the report data. */
  key_set: z.record(z.string(), z.unknown()),
});
const phalaSchema = z.discriminatedUnion('protocol', [vllmProxySchema, aciSchema]);
export type PhalaEvidence = z.infer<typeof phalaSchema>;

const veniceSchema = z.object({
  machine: tdxMachineSchema,
  model_name: name.optional(),
  signing_public_key: z.union([hex(64), hex(65)]),
  gpu: gpuSchema.optional(),
});
export type VeniceEvidence = z.infer<typeof veniceSchema>;

const tinfoilSchema = z.object({ machine: machineSchema });

const chutesSchema = z.object({
  machine: tdxMachineSchema,
  chute_id: name,
  instance_id: name,
  /** The text of the instance's ML-KEM key, byte for byte: the report data is of the text. */
  e2e_pubkey: z.string().max(2048),
  /** The instance's TLS certificate, DER. */
  certificate: base64(16_384).optional(),
  /** One single-use nonce of the instance's, and when it ends (Unix ms): for an end-to-end-encrypted request. */
  e2e_nonce: z.string().min(8).max(256).optional(),
  e2e_nonce_expires_at: z.int().min(0).optional(),
  gpu: gpuSchema.optional(),
});
export type ChutesEvidence = z.infer<typeof chutesSchema>;

const route = {
  version: z.literal('sotto.provider.evidence.v1'),
  /** The provider's public id in the catalog. */
  provider: name,
  model: name,
  upstream_model: name,
  privacy_class: z.enum(['tee', 'e2ee']),
  /** The nonce that the provider was asked with: 64 lower-case hex digits. */
  nonce: hex(32),
  obtained_at: z.iso.datetime(),
};

/**
 * Evidence of a provider's enclave as one document (hop 2, interface 4.2): the route that it is of, and what the provider
 * showed, in one form for all families. Bytes are base64 (RFC 4648, padded) or hex. The provider's own word on its
 * evidence is left out: whoever verifies does so from the quote, their own nonce and their own pins.
 */
export const providerEvidenceSchema = z.discriminatedUnion('family', [
  z.object({ ...route, family: z.literal('near'), evidence: nearSchema }),
  z.object({ ...route, family: z.literal('phala'), evidence: phalaSchema }),
  z.object({ ...route, family: z.literal('venice'), evidence: veniceSchema }),
  z.object({ ...route, family: z.literal('tinfoil'), evidence: tinfoilSchema }),
  z.object({ ...route, family: z.literal('chutes'), evidence: chutesSchema }),
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

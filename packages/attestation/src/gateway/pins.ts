import * as z from 'zod';
import { minimumTcbSchema } from '../snp/minimum-tcb.ts';

const hex = (bytes: number) =>
  z.string().regex(new RegExp(`^[0-9a-f]{${2 * bytes}}$`), `must be ${2 * bytes} lower-case hex digits`);
/** One TDX image: the firmware and boot registers, and what runs, by RTMR3 itself or by dstack's compose hash. */
const tdxMeasurement = z
  .strictObject({
    name: z.string().max(128).optional(),
    mr_td: hex(48),
    rtmr0: hex(48),
    rtmr1: hex(48),
    rtmr2: hex(48),
    rtmr3: hex(48).optional(),
    compose_hash: hex(32).optional(),
    mr_config_id: hex(48).optional(),
  })
  .refine((pin) => pin.rtmr3 !== undefined || pin.compose_hash !== undefined, {
    error: 'must say what runs: rtmr3 or compose_hash',
  });

/** One SEV-SNP image: the launch measurement, and what configures it, by HOST_DATA or by dstack's compose hash. */
const snpMeasurement = z
  .strictObject({
    name: z.string().max(128).optional(),
    measurement: hex(48),
    host_data: hex(32).optional(),
    compose_hash: hex(32).optional(),
  })
  .refine((pin) => pin.host_data !== undefined || pin.compose_hash !== undefined, {
    error: 'must say what runs: host_data or compose_hash',
  });

/**
 * What a client accepts, shipped with it and never taken from the server that is being checked. Measurements are sets: new
 * hardware and new releases add entries. Hex is lower case.
 */
export const gatewayPinsSchema = z.strictObject({
  tdx: z
    .strictObject({
      measurements: z.array(tdxMeasurement).min(1),
      /** The oldest evaluation of Intel's that collateral may be of. */
      minimum_evaluation_number: z.int().min(1),
      accepted_advisories: z.array(z.string()).optional(),
      /** If given, only these processors (PPID) are accepted: a leaked key of another one is then of no use. */
      platforms: z.array(hex(16)).optional(),
    })
    .optional(),
  sev_snp: z
    .strictObject({
      measurements: z.array(snpMeasurement).min(1),
      minimum_tcb: minimumTcbSchema,
      vmpl: z.int().min(0).max(3).optional(),
      signers: z
        .array(z.enum(['vcek', 'vlek']))
        .min(1)
        .optional(),
      /** If given, only these chips (CHIP_ID) are accepted. */
      platforms: z.array(hex(64)).optional(),
    })
    .optional(),
  /**
   * If given, only these provider registries are accepted (`provider_registry_digest` of the key set). Whoever could point the
   * broker to another file could add a provider of their own.
   */
  provider_registries: z
    .array(z.string().regex(/^sha256:[0-9a-f]{64}$/, 'must be `sha256:` and 64 lower-case hex digits'))
    .min(1)
    .optional(),
  /** Asks that the image which the gateway claims to run is one that its hardware measured. */
  require_provenance: z.boolean().optional(),
});
export type GatewayPins = z.infer<typeof gatewayPinsSchema>;

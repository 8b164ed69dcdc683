import * as z from 'zod';
import { toHex } from '../bytes.ts';
import type { DstackIdentity } from '../dstack/identity.ts';
import {
  keyProviderForm,
  keyProviderTakes,
  measuredIdentity,
  openKeyName,
  openKeyProblem,
} from '../dstack/pinned-identity.ts';
import { Refusal, Unmade } from '../refusal.ts';
import { signerOf } from '../snp/endorsement.ts';
import { minimumTcbSchema, type SnpReport } from '../snp/report.ts';
import type { PckPlatform } from '../tdx/pck-extension.ts';
import type { TdReport } from '../tdx/quote.ts';
import { timeSchema } from '../text-schemas.ts';

const hex = (bytes: number) =>
  z.string().regex(new RegExp(`^[0-9a-f]{${2 * bytes}}$`), `must be ${2 * bytes} lower-case hex digits`);
/** The identity of a dstack machine. A compose hash needs the others: the key of the machine's disk follows from them. */
const dstackIdentity = {
  compose_hash: hex(32).optional(),
  app_id: hex(20).optional(),
  key_provider: z.string().regex(keyProviderForm, `must be ${keyProviderTakes}`).optional(),
};

function requireKeys(pin: Readonly<Record<string, unknown>>, context: z.RefinementCtx): void {
  const open = pin.compose_hash === undefined ? undefined : openKeyName((name) => pin[name] !== undefined);
  if (open !== undefined) context.addIssue({ code: 'custom', message: openKeyProblem(open) });
}

/** What any pin says besides the values that a machine must have. */
const aboutPin = {
  name: z.string().max(128).optional(),
  /** The version of the release that the pin comes from. `sotto pins add` writes it. */
  release: z.string().max(128).optional(),
  /** From then on, the pin accepts no machine. */
  expires_at: timeSchema.optional(),
};

/** One TDX image: the firmware and boot registers, and the workload by RTMR3 or by dstack's identity. */
const tdxMeasurement = z
  .strictObject({
    ...aboutPin,
    mr_td: hex(48),
    rtmr0: hex(48),
    rtmr1: hex(48),
    rtmr2: hex(48),
    rtmr3: hex(48).optional(),
    ...dstackIdentity,
    mr_config_id: hex(48).optional(),
  })
  .refine((pin) => pin.rtmr3 !== undefined || pin.compose_hash !== undefined, {
    error: 'must say what runs: rtmr3 or compose_hash',
  })
  .superRefine((pin, context) => (pin.rtmr3 === undefined ? requireKeys(pin, context) : undefined));

/** One SEV-SNP image: the launch measurement, and its configuration by HOST_DATA or by dstack's identity. */
const snpMeasurement = z
  .strictObject({
    ...aboutPin,
    measurement: hex(48),
    host_data: hex(32).optional(),
    ...dstackIdentity,
  })
  .refine((pin) => pin.host_data !== undefined || pin.compose_hash !== undefined, {
    error: 'must say what runs: host_data or compose_hash',
  })
  .superRefine((pin, context) => (pin.host_data === undefined ? requireKeys(pin, context) : undefined));

/** The makers of hardware. */
export const hardwareVendors = ['intel', 'amd'] as const;
export type HardwareVendor = (typeof hardwareVendors)[number];

export const vendorByTee = { tdx: 'intel', sev_snp: 'amd' } as const satisfies Record<string, HardwareVendor>;

/**
 * The machines that a client accepts. They ship with the client and never come from the server that it checks.
 * Measurements are sets: new hardware and new releases add entries. Hex is lower case.
 */
export const gatewayPinsSchema = z.strictObject({
  /** If given, only hardware of these vendors is accepted. Without its name here, a vendor's machines stay pinned but are refused. */
  vendors: z
    .array(z.enum(hardwareVendors, { error: `must be one of ${hardwareVendors.join(', ')}` }))
    .min(1)
    .optional(),
  tdx: z
    .strictObject({
      measurements: z.array(tdxMeasurement).min(1),
      /** The oldest evaluation by Intel that collateral may have. */
      minimum_evaluation_number: z.int().min(1),
      accepted_advisories: z.array(z.string()).optional(),
      /** If given, only these processors (PPID) are accepted. Then a leaked key of another processor is useless. */
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
      /** If given, only these chips (CHIP_ID) are accepted, and only by their own keys (VCEK). */
      platforms: z.array(hex(64)).optional(),
    })
    .optional(),
  /**
   * If given, only these provider registries are accepted (`provider_registry_digest` of the key set). Otherwise an
   * attacker who can point the broker to another file can add their own provider.
   */
  provider_registries: z
    .array(z.string().regex(/^sha256:[0-9a-f]{64}$/, 'must be `sha256:` and 64 lower-case hex digits'))
    .min(1)
    .optional(),
  /** Requires that the hardware measured the image which the gateway claims to run. */
  require_provenance: z.boolean().optional(),
  /**
   * Whether evidence must be bound to the very connection that carries content. Default: where the broker's key set says
   * that it can be. `false` does not ask for it.
   */
  channel: z.boolean().optional(),
});
export type GatewayPins = z.infer<typeof gatewayPinsSchema>;

/** The pin that a machine matched: how it is named, where it comes from, and when it ends. */
export interface MatchedPin {
  readonly name: string | undefined;
  readonly release: string | undefined;
  /** ISO 8601. From then on, the pin accepts no machine. */
  readonly expiresAt: string | undefined;
}

export function requireVendor(vendor: HardwareVendor, { vendors }: GatewayPins): void {
  if (vendors === undefined) throw new Unmade('the pins choose no vendors');
  if (!vendors.includes(vendor)) {
    throw new Refusal(`the hardware is by ${vendor}, and the pins accept only ${vendors.join(', ')}`);
  }
}

/** Refuses a TDX machine that is not pinned. The reason shows its measurements. */
export function matchTdx(report: TdReport, identity: DstackIdentity | undefined, question: PinQuestion): MatchedPin {
  const { tdx } = question.pins;
  if (tdx === undefined) throw new Unmade('no TDX measurements are pinned');
  const [rtmr0, rtmr1, rtmr2, rtmr3] = report.rtmrs.map(toHex);
  const measured = { mr_td: toHex(report.mrTd), rtmr0, rtmr1, rtmr2, rtmr3, mr_config_id: toHex(report.mrConfigId) };
  return requirePinned({ ...measured, ...measuredIdentity(identity) }, tdx.measurements, question.now);
}

/** Refuses a SEV-SNP machine that is not pinned. The reason shows its measurements. */
export function matchSnp(report: SnpReport, identity: DstackIdentity | undefined, question: PinQuestion): MatchedPin {
  const { sev_snp } = question.pins;
  if (sev_snp === undefined) throw new Unmade('no SEV-SNP measurements are pinned');
  const measured = { measurement: toHex(report.measurement), host_data: toHex(report.hostData) };
  return requirePinned({ ...measured, ...measuredIdentity(identity) }, sev_snp.measurements, question.now);
}

interface PinQuestion {
  readonly pins: GatewayPins;
  readonly now: Date;
}

type Pin = { readonly [field in keyof typeof aboutPin]?: string | undefined };

/** One pin must match in every value that it names, and must not have expired. */
function requirePinned(
  measured: Readonly<Record<string, string | undefined>>,
  pins: readonly Pin[],
  now: Date,
): MatchedPin {
  const agrees = (pin: Pin) =>
    Object.entries(pin).every(
      ([field, value]) => Object.hasOwn(aboutPin, field) || value === undefined || measured[field] === value,
    );
  const agreed = pins.filter(agrees);
  const isCurrent = ({ expires_at }: Pin) => expires_at === undefined || now.getTime() < Date.parse(expires_at);
  const { name, release, expires_at: expiresAt } = agreed.find(isCurrent) ?? refuse(agreed, measured);
  return { name, release, expiresAt };
}

function refuse(agreed: readonly Pin[], measured: Readonly<Record<string, string | undefined>>): never {
  const [expired] = agreed;
  if (expired !== undefined) throw new Refusal(`the pin of this machine expired at ${expired.expires_at}`);
  const shown = Object.entries(measured).map(([field, value]) => `${field} ${value ?? 'unknown'}`);
  throw new Refusal(`the machine is none that is pinned: ${shown.join(', ')}`);
}

export function requireProcessor(platform: PckPlatform | undefined, { tdx }: GatewayPins): void {
  if (tdx?.platforms === undefined) throw new Unmade('no processors are pinned');
  if (platform === undefined || !tdx.platforms.includes(platform.ppid)) {
    throw new Refusal(`the processor is none that is pinned: ${platform?.ppid ?? 'unknown'}`);
  }
}

/** Only a chip's own key proves its id. Who has a hoster's key, which all its chips share, writes any id into a report. */
export function requireChip({ chipId, signerInfo }: SnpReport, { sev_snp }: GatewayPins): void {
  if (sev_snp?.platforms === undefined) throw new Unmade('no chips are pinned');
  if (signerOf(signerInfo) !== 'vcek') throw new Refusal('chips are pinned, and no key of a chip signed the report');
  if (!sev_snp.platforms.includes(toHex(chipId)))
    throw new Refusal(`the chip is none that is pinned: ${toHex(chipId)}`);
}

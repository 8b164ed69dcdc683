import * as z from 'zod';
import { toHex } from '../bytes.ts';
import type { DstackIdentity } from '../dstack/identity.ts';
import { Refusal, Unmade } from '../refusal.ts';
import { minimumTcbSchema, type SnpReport } from '../snp/report.ts';
import type { TdReport } from '../tdx/quote.ts';

/** The length in bytes of each value that a measurement may name. */
const tdxNames = {
  mr_td: 48,
  rtmr0: 48,
  rtmr1: 48,
  rtmr2: 48,
  rtmr3: 48,
  mr_config_id: 48,
  compose_hash: 32,
  os_image_hash: 32,
  app_id: 20,
} as const;
const snpNames = { measurement: 48, host_data: 32 } as const;
const bytesOf: ReadonlyMap<string, number> = new Map(Object.entries({ ...tdxNames, ...snpNames }));

type Measurement = ReadonlyMap<string, string>;

/** Reads `name=hex,name=hex`, or returns what is wrong with it. */
function readMeasurement(text: string): Measurement | string {
  const named = new Map<string, string>();
  for (const pair of text.split(',')) {
    const [name = '', value = '', ...rest] = pair.split('=');
    const bytes = bytesOf.get(name);
    if (bytes === undefined) return `\`${name.slice(0, 32)}\` is none of ${[...bytesOf.keys()].join(', ')}`;
    if (rest.length > 0 || value.length !== 2 * bytes || !/^[0-9a-f]+$/.test(value)) {
      return `\`${name}\` must be ${2 * bytes} lower-case hex digits`;
    }
    if (named.has(name)) return `\`${name}\` comes twice`;
    named.set(name, value);
  }
  if (named.has('measurement')) {
    const foreign = [...named.keys()].find((name) => !Object.hasOwn(snpNames, name));
    return foreign === undefined ? named : `\`measurement\` is of SEV-SNP, \`${foreign}\` is of TDX`;
  }
  const missing = ['mr_td', 'rtmr1', 'rtmr2'].find((name) => !named.has(name));
  if (missing !== undefined) return `\`${missing}\` is missing: without it the machine may have booted anything`;
  if (!named.has('rtmr3') && !named.has('compose_hash')) return 'it must say what runs: `rtmr3` or `compose_hash`';
  return named;
}

/**
 * One accepted machine: comma-separated `name=hex`. TDX: `mr_td`, `rtmr1`, `rtmr2`, and the workload by `rtmr3` or
 * dstack's `compose_hash`. Optional: `rtmr0`, `mr_config_id`, `os_image_hash`, `app_id`. SEV-SNP: `measurement`, and
 * `host_data`.
 */
export const measurementSchema = z
  .string()
  .max(2048)
  .superRefine((text, context) => {
    const read = readMeasurement(text);
    if (typeof read === 'string') context.addIssue({ code: 'custom', message: read });
  });

/** The accepted machines of one provider, of which any is sufficient, and the oldest versions of their parts. */
export const providerPinsSchema = z.strictObject({
  measurements: z.array(measurementSchema).max(1000).optional(),
  minimum_evaluation_number: z.int().min(1).optional(),
  accepted_advisories: z.array(z.string()).optional(),
  minimum_tcb: minimumTcbSchema.optional(),
});
export type ProviderPins = z.infer<typeof providerPinsSchema>;

/** The measured values of a machine, by the names of `measurementSchema`. */
export type Measured = Readonly<Record<string, string | undefined>>;

export function measuredTdx(report: TdReport, identity: DstackIdentity | undefined): Measured {
  const [rtmr0, rtmr1, rtmr2, rtmr3] = report.rtmrs.map(toHex);
  return {
    mr_td: toHex(report.mrTd),
    rtmr0,
    rtmr1,
    rtmr2,
    rtmr3,
    mr_config_id: toHex(report.mrConfigId),
    compose_hash: identity?.composeHash,
    os_image_hash: identity?.osImageHash,
    app_id: identity?.appId,
  };
}

export function measuredSnp({ measurement, hostData }: SnpReport): Measured {
  return { measurement: toHex(measurement), host_data: toHex(hostData) };
}

/**
 * Refuses a machine that is not pinned. Without pins, the check is skipped. Either way, the reason shows the machine's
 * measurements in the form of a pin.
 */
export function requirePinned(measured: Measured, { measurements }: ProviderPins): void {
  const shown = Object.entries(measured)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${value}`)
    .join(',');
  if (measurements === undefined || measurements.length === 0) {
    throw new Unmade(`no measurements are pinned; the machine's are ${shown}`);
  }
  const agrees = (text: string): boolean => {
    const pin = readMeasurement(text);
    return typeof pin !== 'string' && [...pin].every(([name, value]) => measured[name] === value);
  };
  if (!measurements.some(agrees)) throw new Refusal(`the machine is none that is pinned: ${shown}`);
}
